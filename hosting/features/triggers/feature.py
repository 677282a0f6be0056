"""Functions of the user's own that begin runs: what they call, and what makes messages of their deliveries."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from hosting.core.services import Services
from hosting.feature import Feature
from hosting.http.verbs import PausesRuns
from hosting.plan import Plan

if TYPE_CHECKING:
    from hosting.features.triggers.client import AppClient
    from hosting.features.triggers.trigger import AgentTrigger, TriggerOptions


class TriggersFeature(Feature):
    """The client of one app's functions."""

    name = "triggers"

    def __init__(self, services: Services, plan: Plan, pausing: PausesRuns) -> None:
        self._services, self._plan, self._pausing = services, plan, pausing

    @cached_property
    def client(self) -> AppClient:
        """The client that functions of the user's own call."""
        from hosting.features.triggers.client import AppClient

        return AppClient(self._services, self._plan, self._pausing)

    def trigger(self, agent: str, options: TriggerOptions) -> AgentTrigger:
        """Return what a function's deliveries begin; raises `ConfigurationError`."""
        from hosting.features.triggers.trigger import AgentTrigger

        return AgentTrigger(self._services, self.client, agent, options)
