"""The health of an app: that it runs, takes runs, can use its log, and shares one store with its other instances."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hosting.core.cells import Cells
from hosting.core.thread_log import ThreadLog
from hosting.errors import HostingError
from hosting.feature import Entity, Feature
from hosting.features.health.http import HealthHandlers
from hosting.features.health.shared_store import ENTITY, MARK, SharedStore, StoresDifferError
from hosting.http.request import Bound
from hosting.plan import Plan


class HealthFeature(Feature):
    """The health of one app, which is asked without a key."""

    name = "health"
    absent = "This app has no health check."

    def __init__(
        self,
        cells: Cells,
        log: ThreadLog,
        admits: Sequence[Callable[[], None]],
        plan: Plan,
        *,
        is_on: bool,
        lists_agents: bool,
    ) -> None:
        """One of `admits` raises while no run is taken. `lists_agents`: its answer names the agents."""
        self._store = SharedStore(cells, log.clocks)
        self._handlers = HealthHandlers(plan, log.readiness, self._store, admits, lists_agents=lists_agents)
        self._is_on = is_on

    @classmethod
    def errors(cls) -> Sequence[type[HostingError]]:
        """Return its refusals."""
        return (StoresDifferError,)

    @property
    def is_on(self) -> bool:
        """Whether the app was made with it."""
        return self._is_on

    def routes(self) -> Sequence[Bound]:
        """Return the routes of liveness and of readiness."""
        return self._handlers.bound()

    def durable(self) -> Sequence[Entity]:
        """Return the entity of the task hub that keeps which stores its instances have."""
        return (Entity(ENTITY, MARK, self._store.record),)
