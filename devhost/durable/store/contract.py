"""What the engine asks of a store. One suite of tests holds every implementation to it.

A store is a log of steps and nothing more: it decides nothing and knows no time. Several processes may use it at once,
as several hosts use one storage account: each is a client of the task hub, one of them works on it as well. So nothing
that one of them remembers is true for long: a step says what it was decided on, and is kept only if that still holds.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from devhost.durable.events import Event
from devhost.durable.records import Entity, EntityId, Inbox, Message, Orchestration, Status, Step, Target


@dataclass(frozen=True)
class StoredOrchestration:
    """An instance with its history, both as the last committed step left them."""

    instance: Orchestration
    history: tuple[Event, ...] = ()


@dataclass(frozen=True)
class InstanceFilter:
    """Which instances a list names; None and empty mean any. Bounds are inclusive."""

    prefix: str = ""
    statuses: frozenset[Status] = frozenset()
    created_from: datetime | None = None
    created_to: datetime | None = None


@dataclass(frozen=True)
class Arrival:
    """A message came for this target; it is for later when it has a time."""

    target: Target
    due: datetime | None


@dataclass(frozen=True)
class Arrivals:
    """For whom messages came, and the seq of the last one: the place to look from the next time."""

    last_seq: int
    of: tuple[Arrival, ...] = ()


class StoreReader(Protocol):
    """What can be looked at: each read is of one moment; a damaged file raises `StoreUnreadableError`."""

    async def messages(self, target: Target | None, limit: int) -> Sequence[Message]:
        """Return the first messages under way, in the order of `seq`; those for one target when it is given."""
        ...

    async def instance(self, instance_id: str) -> Orchestration | None:
        """Return the instance without its history, or None."""
        ...

    async def orchestration(self, instance_id: str) -> StoredOrchestration | None:
        """Return the instance and its history, or None."""
        ...

    async def entity(self, entity_id: EntityId) -> Entity | None:
        """Return the entity's record, or None when no batch of it was ever committed."""
        ...

    async def list_orchestrations(
        self, wanted: InstanceFilter, first_id: str, limit: int | None
    ) -> Sequence[Orchestration]:
        """Return the instances that the filter names, from `first_id` on, ordered by id, letter by letter."""
        ...

    async def list_entities(self, prefix: str, first_id: str, limit: int | None) -> Sequence[Entity]:
        """Return the entities whose `@name@key` begins with the prefix, from `first_id` on, ordered likewise."""
        ...


class Store(StoreReader, Protocol):
    """Keeps instances, entities and the messages under way."""

    def open(self) -> None:
        """Make the store ready, for this process beside others.

        Raises `StoreUnwritableError`, `StoreVersionError` or `StoreUnreadableError`; then nothing was changed.
        """
        ...

    def commit(self, step: Step) -> asyncio.Future[None]:
        """Keep all of the step or nothing of it; the future is done when it survives the death of this process.

        Steps of one process are kept in the order of the calls, and their futures are done in that order; several may
        become durable at once. Within a step: what it was decided on is compared, messages are consumed, those that
        have nobody to go to any more and the forgotten instances' are dropped (never what its sender waits for: a call
        of an entity, the start of another execution than the record's), records are replaced, and then messages are
        produced. The future of a step that was decided on what is no longer so fails with `StaleStepError`. A store
        that cannot write for now (disk full, file busy) waits and tries again: the future stays undone, and no step is
        lost. Any other failure is that step's alone. A future that fails says that nothing of its step was kept.
        """
        ...

    async def version_of_others(self) -> int:
        """Return a number that is another one once another process has written, and mostly only then."""
        ...

    async def arrivals(self, after_seq: int) -> Arrivals:
        """Return for whom messages behind that seq wait, whoever sent them; with 0 all that wait."""
        ...

    async def inbox(self, target: Target, now: datetime, limit: int) -> Inbox:
        """Return the first messages that wait for the target and are due, so many at most, and its record."""
        ...

    async def close(self) -> None:
        """Finish what was given to `commit` and let go of the store; closing twice changes nothing."""
        ...


_TimeT = TypeVar("_TimeT", str, datetime)  # a text of fixed width, or the moment itself
_MessageT = TypeVar("_MessageT")
_Timed = tuple[_TimeT, _MessageT]


def merge_by_time(
    sent: Sequence[_Timed[_TimeT, _MessageT]], delayed: Iterable[_Timed[_TimeT, _MessageT]]
) -> Iterator[_MessageT]:
    """Return the messages that were `sent` to be handled at once, those that were `delayed` in between by their times.

    Each comes with its time, when it was sent or when it was due. What was sent keeps its order, whatever the clock did
    meanwhile; a delayed one comes before the first that was sent behind its time, so that none waits for ever.
    """
    later = deque(delayed)
    for moment, message in sent:
        while later and later[0][0] < moment:
            yield later.popleft()[1]
        yield message
    for _, message in later:
        yield message
