"""The one way by which the engine changes anything: steps, kept or stale, and a hint for each message they sent.

The store is the truth, which other processes change too. What memory holds is a cache of histories, each valid only
while the store's record has the etag that it was read or written under: reading a record is cheap, a history is not.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

from devhost.durable.clock import Clock
from devhost.durable.crash import crash_points
from devhost.durable.events import Event
from devhost.durable.records import Inbox, Orchestration, Status, Step, Target
from devhost.durable.store.contract import Store, StoredOrchestration
from devhost.errors import StaleStepError

logger = logging.getLogger(__name__)

_HISTORY_BYTES = 64_000_000
_EVENT_BYTES = 500  # an event without its texts, with the objects that hold it
_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")

Deliver = Callable[[Target, "datetime | None"], None]
"""Takes the target that a message was sent to, and when it is due (None: now)."""


class RecentlyUsed(Generic[_Key, _Value]):
    """Holds values by key and lets go of those used longest ago when all together weigh too much."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._weight = 0
        self._entries: OrderedDict[_Key, tuple[_Value, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: _Key) -> _Value | None:
        """Return the value, which counts as used now, or None."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: _Key, value: _Value, weight: int) -> None:
        """Hold the value; one that is heavier than everything allowed is not held."""
        self.drop(key)
        self._entries[key] = (value, weight)
        self._weight += weight
        while self._weight > self._capacity:
            _, (_, lost) = self._entries.popitem(last=False)
            self._weight -= lost

    def drop(self, key: _Key) -> None:
        """Let go of the value; nothing when it is not held."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._weight -= entry[1]


@dataclass(frozen=True)
class _Held:
    """A history as the step of that etag left it, and about how many bytes it takes."""

    etag: str
    events: tuple[Event, ...]
    size_bytes: int


class Ledger:
    """Commits steps and reads histories; calls `deliver` for each message that its commits made durable."""

    def __init__(self, store: Store, clock: Clock, deliver: Deliver) -> None:
        self.store = store
        self._clock = clock
        self._deliver = deliver
        self._histories: RecentlyUsed[str, _Held] = RecentlyUsed(_HISTORY_BYTES)

    async def commit(self, step: Step, past: tuple[Event, ...] = ()) -> bool:
        """Return True once the step is durable and its messages are on their way.

        False says that nothing of it was kept: what it was decided on is no longer so, and whoever decided looks again.
        Raises whatever else `Store.commit` fails with. `past` is the history that the step's events follow. A caller
        who goes away meanwhile undoes nothing.
        """
        crash_points.reached("before-commit")
        published: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        sent = replace(step, at=self._clock.now())

        def publish(kept: asyncio.Future[None]) -> None:
            error = kept.exception()
            if isinstance(error, StaleStepError):
                logger.debug("A step is decided anew: %s", error)
                published.set_result(False)
            elif error is not None:
                published.set_exception(error)
            else:
                self._publish(sent, past)
                published.set_result(True)

        # Not the store's own future: the caller must not go on before the worker has its hints.
        self.store.commit(sent).add_done_callback(publish)
        is_kept = await asyncio.shield(published)
        if is_kept:
            crash_points.reached("after-commit")
        return is_kept

    async def inbox(self, target: Target, limit: int) -> Inbox:
        """Return what waits for the target and is due, so many messages at most."""
        return await self.store.inbox(target, self._clock.now(), limit)

    async def with_history(self, instance: Orchestration) -> StoredOrchestration | None:
        """Return the instance with its history, as it is or as it has become since; None when it is gone."""
        held = self._histories.get(instance.instance_id)
        if held is not None and held.etag == instance.etag:
            return StoredOrchestration(instance, held.events)
        return await self.store.orchestration(instance.instance_id)

    async def statuses(self, instance_ids: Iterable[str]) -> dict[str, Status]:
        """Return the status of each of these instances that there is."""
        found: Sequence[Orchestration | None] = [await self.store.instance(one) for one in instance_ids]
        return {instance.instance_id: instance.status for instance in found if instance is not None}

    def _publish(self, step: Step, past: tuple[Event, ...]) -> None:
        for target in step.forgotten:
            self._histories.drop(target.id)
        if step.orchestration is not None:
            self._hold(step.orchestration, step, past)
        for outgoing in step.produced:
            self._deliver(outgoing.target, outgoing.due)

    def _hold(self, instance: Orchestration, step: Step, past: tuple[Event, ...]) -> None:
        known = self._histories.get(instance.instance_id)
        self._histories.drop(instance.instance_id)
        if instance.status.is_terminal:
            return
        # A history grows event by event: only what is new is weighed.
        past_bytes = known.size_bytes if known is not None and known.events is past else _bytes_of(past)
        size_bytes = past_bytes + _bytes_of(step.history.events)
        held = _Held(step.etag, past + step.history.events, size_bytes)
        self._histories.put(instance.instance_id, held, size_bytes)


def _bytes_of(events: Iterable[Event]) -> int:
    return sum(_EVENT_BYTES + sum(map(sys.getsizeof, vars(event).values())) for event in events)
