"""The one way by which the engine changes anything: steps, and whom to tell of what they sent.

The store is the truth, which other processes change too. What memory holds is a cache of histories, each valid only
while the store's record has the etag that it was read or written under: reading a record is cheap, a history is not.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from devhost.durable.cache import RecentlyUsed
from devhost.durable.clock import Clock
from devhost.durable.crash import crash_points
from devhost.durable.events import Event
from devhost.durable.records import Inbox, Orchestration, Status, Step, Target
from devhost.durable.store.contract import Store, StoredOrchestration

_HISTORY_BYTES = 64_000_000
_EVENT_BYTES = 500  # an event without its texts, with the objects that hold it

Deliver = Callable[[Target, "datetime | None"], None]
"""Takes the target that a message was sent to, and when it is due (None: now)."""


@dataclass(frozen=True)
class _Held:
    """A history as the step of that etag left it, and about how many bytes it takes."""

    etag: str
    events: tuple[Event, ...]
    size_bytes: int


class Ledger:
    """Commits steps and reads histories; `deliver` hears of each message that a commit of this process made durable."""

    def __init__(self, store: Store, clock: Clock, deliver: Deliver) -> None:
        self.store = store
        self._clock = clock
        self._deliver = deliver
        self._histories: RecentlyUsed[str, _Held] = RecentlyUsed(_HISTORY_BYTES)

    async def commit(self, step: Step, past: tuple[Event, ...] = ()) -> None:
        """Return when the step is durable and its messages are on their way; raises what `Store.commit` fails with.

        `past` is the history that the step's events follow. A caller who goes away meanwhile undoes nothing.
        """
        crash_points.reached("before-commit")
        published: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        sent = replace(step, at=self._clock.now())

        def publish(kept: asyncio.Future[None]) -> None:
            error = kept.exception()
            if error is not None:
                published.set_exception(error)
                return
            self._publish(sent, past)
            published.set_result(None)

        # Not the store's own future: the caller must not go on before the worker has heard.
        self.store.commit(sent).add_done_callback(publish)
        await asyncio.shield(published)
        crash_points.reached("after-commit")

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
