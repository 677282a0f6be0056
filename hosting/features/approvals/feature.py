"""The approvals of an app: tool calls, and questions of workflows, that wait for a person's answer.

The thread itself says what waits and refuses what comes meanwhile (`core.thread`). This is how a person reads and
answers it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hosting.core.hooks import AgentHooks, ThreadData
from hosting.core.services import Services
from hosting.feature import EntityOperation, Feature, Orchestration
from hosting.features.approvals.approvals import Approvals
from hosting.features.approvals.deadlines import Deadlines
from hosting.features.approvals.http import ApprovalHandlers
from hosting.features.approvals.standing import StandingApprovals, takes_standing
from hosting.http.request import Bound
from hosting.http.runs import Starting
from hosting.plan import AgentPlan


class ApprovalsFeature(Feature):
    """The approvals of one app."""

    name = "approvals"
    page = Path(__file__).with_name("ui")

    def __init__(self, approvals: Approvals, services: Services, most_bytes: int) -> None:
        """The body of an answer has `most_bytes` at most."""
        self._deadlines = Deadlines(services.log, services.stores, approvals)
        self._handlers = ApprovalHandlers(approvals, services.runs, Starting(services), most_bytes)
        self._standing = StandingApprovals(services.log, services.threads, services.holders)

    def rules_of(self, agent: AgentPlan) -> Mapping[str, Any]:
        """Return whether a person may approve later calls of a tool too."""
        return {"standing_approvals": takes_standing(agent.agent)}

    def hooks(self, agent: AgentPlan) -> AgentHooks:
        """Return what has questions answered by their defaults in time."""
        return AgentHooks(on_end=[self._deadlines.signals])

    def durable(self) -> Sequence[Orchestration | EntityOperation]:
        """Return the clock of such questions."""
        return self._deadlines.durable()

    def thread_data(self) -> ThreadData:
        """Return the records of those clocks."""
        return self._deadlines.thread_data()

    def routes(self) -> Sequence[Bound]:
        """Return the routes of a thread's approvals."""
        return *self._handlers.bound(), *self._standing.bound()
