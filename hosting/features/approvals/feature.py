"""The approvals of an app: tool calls, and questions of workflows, that wait for a person's answer.

The thread itself says what waits and refuses what comes meanwhile (`core.thread`). This is how a person reads and
answers it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hosting.core.agent.hosted_agent import HostedAgent
from hosting.core.held_runs import HeldRuns
from hosting.core.runs import Runs
from hosting.core.thread_log import ThreadLog
from hosting.feature import Feature
from hosting.features.approvals.approvals import Approvals
from hosting.features.approvals.http import ApprovalHandlers
from hosting.http.request import Bound
from hosting.http.runs import Starting


class ApprovalsFeature(Feature):
    """The approvals of one app."""

    name = "approvals"

    def __init__(
        self,
        log: ThreadLog,
        runs: Runs,
        holders: HeldRuns,
        agents: Mapping[str, HostedAgent],
        starting: Starting,
        *,
        most_bytes: int,
    ) -> None:
        """The body of an answer has `most_bytes` at most."""
        self.approvals = Approvals(log, runs, holders, agents)
        self._handlers = ApprovalHandlers(self.approvals, runs, starting, most_bytes)

    def routes(self) -> Sequence[Bound]:
        """Return the routes of a thread's approvals."""
        return self._handlers.bound()
