"""The store with what was used last kept in memory; the one way by which the engine reads and changes anything.

What memory holds comes from committed steps alone, in the order of the commits, so it never differs from the file. A
read fills nothing: it may have begun before a commit that ended before it.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Sequence

from devhost.durable.cache import RecentlyUsed
from devhost.durable.crash import crash_points
from devhost.durable.events import Event
from devhost.durable.records import (
    Entity,
    EntityId,
    Message,
    Orchestration,
    Outgoing,
    Status,
    Step,
    Target,
    entity_target,
    orchestration_target,
)
from devhost.durable.store.contract import InstanceFilter, Store, StoredOrchestration

_ENTITY_CHARACTERS = 64_000_000
_ORCHESTRATION_EVENTS = 200_000
_RECORD_WEIGHT = 500


class Ledger:
    """Reads through memory, and commits steps; `deliver` gets each message that a commit made durable."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._deliver: Callable[[Message], None] = lambda message: None
        self._seqs = itertools.count(1)
        self._orchestrations: RecentlyUsed[Target, StoredOrchestration] = RecentlyUsed(_ORCHESTRATION_EVENTS)
        self._entities: RecentlyUsed[Target, Entity] = RecentlyUsed(_ENTITY_CHARACTERS)

    def open(self, deliver: Callable[[Message], None]) -> None:
        """Open the store and deliver everything that was under way when it was last closed, or when its process died.

        Raises what `Store.open` raises.
        """
        self._store.open()
        self._deliver = deliver
        pending = self._store.pending()
        self._seqs = itertools.count(pending[-1].seq + 1 if pending else 1)
        for message in pending:
            deliver(message)

    async def close(self) -> None:
        await self._store.close()

    def address(self, outgoing: Iterable[Outgoing]) -> tuple[Message, ...]:
        """Return the messages with their places in the order of sending; commit them before others are addressed."""
        return tuple(Message(next(self._seqs), sent.target, sent.body, sent.due) for sent in outgoing)

    async def commit(self, step: Step, past: tuple[Event, ...] = ()) -> None:
        """Return when the step is durable and its messages are on their way.

        `past` is the history that the step's events follow. A caller who goes away meanwhile undoes nothing.
        """
        crash_points.reached("before-commit")
        published: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def publish(kept: asyncio.Future[None]) -> None:
            error = kept.exception()
            if error is not None:
                published.set_exception(error)
                return
            self._publish(step, past)
            published.set_result(None)

        # Not the store's own future: the caller must not go on before memory has what the store has.
        self._store.commit(step).add_done_callback(publish)
        await asyncio.shield(published)
        crash_points.reached("after-commit")

    async def messages(self, target: Target | None, limit: int) -> Sequence[Message]:
        """Return the first messages that no committed step has consumed; those for one target when it is given."""
        return await self._store.messages(target, limit)

    async def orchestration(self, instance_id: str) -> StoredOrchestration | None:
        """Return the instance with its history, or None."""
        held = self._orchestrations.get(orchestration_target(instance_id))
        return held or await self._store.orchestration(instance_id)

    async def statuses(self, instance_ids: Iterable[str]) -> dict[str, Status]:
        """Return the status of each of these instances that there is."""
        found = [await self.orchestration(instance_id) for instance_id in instance_ids]
        return {stored.instance.instance_id: stored.instance.status for stored in found if stored is not None}

    async def entity(self, entity_id: EntityId) -> Entity | None:
        """Return the entity's record, or None when there never was one."""
        return self._entities.get(entity_target(entity_id)) or await self._store.entity(entity_id)

    async def list_orchestrations(
        self, wanted: InstanceFilter, first_id: str = "", limit: int | None = None
    ) -> Sequence[Orchestration]:
        return await self._store.list_orchestrations(wanted, first_id, limit)

    async def list_entities(self, prefix: str, first_id: str = "", limit: int | None = None) -> Sequence[Entity]:
        return await self._store.list_entities(prefix, first_id, limit)

    def _publish(self, step: Step, past: tuple[Event, ...]) -> None:
        for target in step.forgotten:
            self._orchestrations.drop(target)
            self._entities.drop(target)
        if step.entity is not None:
            weight = _RECORD_WEIGHT + len(step.entity.state or "")
            self._entities.put(entity_target(step.entity.id), step.entity, weight)
        if step.orchestration is not None:
            self._hold(StoredOrchestration(step.orchestration, past + step.history.events))
        for message in step.produced:
            self._deliver(message)

    def _hold(self, stored: StoredOrchestration) -> None:
        target = orchestration_target(stored.instance.instance_id)
        if stored.instance.status.is_terminal:
            self._orchestrations.drop(target)
        else:
            self._orchestrations.put(target, stored, 1 + len(stored.history))
