"""The routes that say whether the app runs, and whether it takes runs (docs/reference/http-routes.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from hosting.core.stores.connection import StoreReadiness
from hosting.errors import AgentsBlockedError, EngineUnavailableError, LogUnavailableError, ShuttingDownError
from hosting.features.health.shared_store import SharedStore, StoresDifferError
from hosting.http.replies import Reply, json_reply
from hosting.http.request import Bound, HttpRequest
from hosting.http.route import Place, Route, ok
from hosting.plan import Plan


class HealthyAgent(TypedDict):
    """An agent, as `agent-framework-azurefunctions` lists it."""

    name: str
    type: str
    http_endpoint_enabled: bool
    mcp_tool_enabled: bool


class Health(TypedDict):
    """The app is running; its agents are listed if `health_lists_agents` is set."""

    status: Literal["healthy"]
    agents: NotRequired[list[HealthyAgent]]
    agent_count: NotRequired[int]


class Readiness(TypedDict):
    """The app takes runs and can use its log."""

    status: Literal["ready"]


_HEALTH = Place("health").below("health")
HEALTH = Route("check", "GET", _HEALTH, "Check that the app runs", ok(Health), is_anonymous=True, is_for_all=True)
READY = Route(
    "ready",
    "GET",
    _HEALTH.below("ready"),
    "Check that the app takes runs and can use its log",
    ok(Readiness),
    (LogUnavailableError, ShuttingDownError, AgentsBlockedError, EngineUnavailableError, StoresDifferError),
    is_anonymous=True,
    is_for_all=True,
)


class HealthHandlers:
    """The handlers of both routes."""

    def __init__(
        self,
        plan: Plan,
        readiness: StoreReadiness,
        store: SharedStore,
        admits: Sequence[Callable[[], None]],
        *,
        lists_agents: bool,
    ) -> None:
        """One of `admits` raises while no run is taken. `lists_agents`: `GET health` names them, to whoever asks."""
        self._plan = plan
        self._readiness = readiness
        self._store = store
        self._admits = admits
        self._lists_agents = lists_agents

    def bound(self) -> Sequence[Bound]:
        """Return the routes with their handlers."""
        return (Bound(HEALTH, self._health), Bound(READY, self._ready))

    async def _health(self, request: HttpRequest) -> Reply:
        body: Health = {"status": "healthy"}
        if self._lists_agents:
            body["agents"] = [
                HealthyAgent(
                    name=agent.name,
                    type=type(agent.agent).__name__,
                    http_endpoint_enabled=bool(agent.options.http),
                    mcp_tool_enabled=agent.tool is not None,
                )
                for agent in self._plan.listed
            ]
            body["agent_count"] = len(body["agents"])
        return json_reply(200, body)

    async def _ready(self, request: HttpRequest) -> Reply:
        for admit in self._admits:
            admit()
        await self._readiness.check()
        await self._store.check(request.caller.client)
        body: Readiness = {"status": "ready"}
        return json_reply(200, body)
