"""The routes of the app's health: that it runs, and that it admits runs and can use its log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from hosting.core.services import Services
from hosting.http import routes
from hosting.http.bodies import HealthyAgent
from hosting.http.replies import Reply, json_reply
from hosting.http.request import Bound, HttpRequest
from hosting.plan import AgentPlan


class HealthHandlers:
    """The handlers of the routes of health."""

    def __init__(self, services: Services, admits: Sequence[Callable[[], None]], *, lists_agents: bool) -> None:
        """Each of `admits` raises while the app admits no run. `lists_agents`: whoever asks learns the agents."""
        self._readiness, self._shared = services.log.readiness, services.shared_store
        self._admits = admits
        self._lists_agents = lists_agents

    def bound(self) -> Sequence[Bound]:
        """Return the routes with their handlers."""
        return Bound(routes.HEALTH, self._check), Bound(routes.READY, self._ready)

    async def _check(self, request: HttpRequest) -> Reply:
        return health_reply(request.plan.agents.values() if self._lists_agents else None)

    async def _ready(self, request: HttpRequest) -> Reply:
        for admit in self._admits:
            admit()
        await self._readiness.check()
        await self._shared.check(request.caller.client)
        return json_reply(200, {"status": "ready"})


def health_reply(agents: Iterable[AgentPlan] | None) -> Reply:
    """Return that the app runs, and its agents where they are given."""
    if agents is None:
        return json_reply(200, {"status": "healthy"})
    listed = [
        HealthyAgent(
            name=each.name,
            type=type(each.agent).__name__,
            http_endpoint_enabled=bool(each.options.http),
            mcp_tool_enabled=each.tool is not None,
        )
        for each in agents
    ]
    return json_reply(200, {"status": "healthy", "agents": listed, "agent_count": len(listed)})
