"""What the engine asks of a store. One suite of tests holds every implementation to it.

A store is a log of steps and nothing more: it decides nothing, gives out no ids, and knows no time. One process uses it
at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from devhost.durable.events import Event
from devhost.durable.records import Entity, EntityId, Message, Orchestration, Status, Step, Target


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


class Store(Protocol):
    """Keeps instances, entities and the messages under way."""

    def open(self) -> None:
        """Make the store ready, and its alone to this process.

        Raises `StoreInUseError`, `StoreUnwritableError`, `StoreVersionError` or `StoreUnreadableError`; then nothing
        was changed.
        """
        ...

    def pending(self) -> list[Message]:
        """Return every message that was produced and not consumed, in the order of `seq`; asked once, after `open`."""
        ...

    def commit(self, step: Step) -> asyncio.Future[None]:
        """Keep all of the step or nothing of it; the future is done when it survives the death of this process.

        Steps are kept in the order of the calls, and their futures are done in that order; several may become durable
        at once. Within a step: messages are consumed, the silenced target's and the forgotten instances' are dropped,
        records are replaced, and then messages are produced. Consuming what is not there changes nothing. A store that
        cannot write for now (disk full, file busy) waits and tries again: the future stays undone, and no step is lost.
        A future that fails says that nothing of its step was kept.
        """
        ...

    async def messages(self, target: Target | None, limit: int) -> Sequence[Message]:
        """Return the first messages under way, in the order of `seq`; those for one target when it is given."""
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

    async def close(self) -> None:
        """Finish what was given to `commit` and let go of the store; closing twice changes nothing."""
        ...
