"""Whether all instances of an app share one store: a mark in each store, and the task hub's record of its users.

Theory. Instances find one another by the task hub, and threads by their log. Where a setting is forgotten, two
instances of one hub have two logs: one accepts a run, and the other, to which the hub brings it, cannot see it. So
each store gets a random id with the first look, by an append that one process wins; and an entity of the hub keeps
which stores its instances had, and when. An instance that is asked `health/ready` sends it the id of its store, twice a
minute at most, and the instance that carries this out adds the id of its own: so two instances are compared wherever
the hub has it run. It may be delivered again: a store that was seen twice was seen. No turn does anything for this.

Two stores are in use at once where the hub saw the first again after the second came, and both of late. So a store that
was erased or replaced while nothing ran is new and no fault, and an abandoned store is forgotten by itself. An id is
read from the store each time, and none is compared with an older one.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from hosting.core.cells import Cell, CellKind, Cells, Counted
from hosting.errors import InvalidFieldError, RequestError, StoreUnavailableError
from hosting.names import APP, is_id, new_id
from hosting.ports import AHEAD_SECONDS, Clocks, EntityClient

logger = logging.getLogger(__name__)

ENTITY, KEY, MARK = "agent-stores", "app", "mark"
MARK_SECONDS = 30.0
FRESH_SECONDS = 90.0
"""For so long a store counts as in use after it was seen."""

LOOK_SECONDS = 1.0
_MOST_STORES = 16
_WAITS = (0.1, 0.2, 0.4)
"""In seconds, between two looks for the outcome of a signal."""


class StoresDifferError(RequestError, code="stores_differ", status=503):
    """Instances of the app keep their threads in different stores; only `health/ready` reports it."""


class _Mark(Counted):
    """The mark of a store, which counts nothing."""

    id: str = ""


_MARK = Cell(CellKind.of_model("store", "mark", _Mark), "app", APP)


class Use(BaseModel):
    """When the hub saw a store: `since` it has been in use, and `at` the last time, in seconds since 1970."""

    model_config = ConfigDict(frozen=True)

    since: float
    at: float

    def is_fresh(self, now: float) -> bool:
        """Return whether it is in use now; one seen by a clock ahead is not."""
        return -AHEAD_SECONDS <= now - self.at < FRESH_SECONDS


class Uses(BaseModel):
    """The state of the hub's entity: the stores that were seen of late, by their ids."""

    model_config = ConfigDict(frozen=True)

    stores: Mapping[str, Use] = {}

    @classmethod
    def of(cls, text: str | None) -> Uses:
        """Return the content of a state; empty for none and for an unreadable one."""
        try:
            return cls() if text is None else cls.model_validate_json(text)
        except ValidationError:
            return cls()

    def seen(self, store: str, now: float) -> Uses:
        """Return the uses after one more, without those that are over."""
        uses = {name: use for name, use in self.stores.items() if use.is_fresh(now)}
        uses[store] = Use(since=min(uses[store].since, now) if store in uses else now, at=now)
        newest = sorted(uses.items(), key=lambda item: item[1].at)[-_MOST_STORES:]
        return Uses(stores=dict(newest))

    def age(self, store: str, now: float) -> float:
        """Return how many seconds ago the store was seen."""
        use = self.stores.get(store)
        return math.inf if use is None or now < use.at - AHEAD_SECONDS else now - use.at

    def has_another(self, store: str, now: float) -> bool:
        """Return whether another store is in use beside this one."""
        own = self.stores.get(store)
        others = [use for name, use in self.stores.items() if name != store and use.is_fresh(now)]
        return own is not None and any(use.at >= own.since for use in others)


class SharedStore:
    """The mark of this process's store, and the hub's record of others; for one event loop."""

    def __init__(self, cells: Cells, clocks: Clocks) -> None:
        self._cells = cells
        self._clocks = clocks
        self._looking = asyncio.Lock()
        self._looked_at = self._signalled_at = -math.inf
        self._has_another = False

    async def id(self) -> str:
        """Return the store's id, which is appended where there is none. Raises `LogUnavailableError`."""
        mark = await self._cells.change(_MARK, lambda mark: mark if mark.id else _Mark(id=new_id()))
        return mark.id

    async def check(self, client: EntityClient) -> None:
        """Raise `StoresDifferError` where an instance of the hub has another store, as far as that is known.

        Raises `LogUnavailableError` and `EngineUnavailableError`.
        """
        async with self._looking:
            if self._clocks.awake() - self._looked_at >= LOOK_SECONDS:
                self._has_another = await self._look(client)
                self._looked_at = self._clocks.awake()
        if self._has_another:
            raise StoresDifferError(
                "Instances of this app keep their threads in different stores, so one instance cannot see the runs of "
                "another. Give all of them the same AGENT_LOG, and the same storage account where it is 'tables'."
            )

    async def record(self, state: str | None, value: Any) -> str:
        """Return the next state of the hub's entity, which saw the sender's store, and that of this instance.

        Raises `InvalidFieldError` for a value that names no store.
        """
        store = value.get("store") if isinstance(value, dict) else None
        if not isinstance(store, str) or not is_id(store):
            raise InvalidFieldError(f"The operation {MARK!r} takes 'store'.")
        try:
            own = await self.id()
        except StoreUnavailableError:  # an outage, of which the log has a line
            own = store
        now = self._clocks.wall()
        uses = Uses.of(state).seen(store, now).seen(own, now)
        if uses.has_another(own, now):
            logger.error(
                "Instances of this app keep their threads in different stores. Give all of them the same AGENT_LOG."
            )
        return uses.model_dump_json()

    async def _look(self, client: EntityClient) -> bool:
        store, uses = await self.id(), await self._uses(client)
        age = uses.age(store, self._clocks.wall())
        if age >= MARK_SECONDS and self._clocks.awake() - self._signalled_at >= MARK_SECONDS:
            await client.signal(ENTITY, KEY, MARK, {"store": store})
            self._signalled_at = self._clocks.awake()
            for seconds in _WAITS:
                await asyncio.sleep(seconds)
                uses = await self._uses(client)
                if uses.age(store, self._clocks.wall()) < age:
                    break
        return uses.has_another(store, self._clocks.wall())

    async def _uses(self, client: EntityClient) -> Uses:
        return Uses.of(await client.read(ENTITY, KEY))
