"""What clients ask of the engine: start, notify, stop, look at, forget. Outcomes are types; HTTP is elsewhere.

Whatever changes a live instance is a message to it; one that ends between check and delivery drops the message, as on
the real host. What a client writes itself (a start, a rewind, a purge) is kept only if the instance is still as it was
read. If not, a worker or another client, perhaps of another process, came first, and the client looks again.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from devhost.durable import events
from devhost.durable.clock import Clock
from devhost.durable.intake import new_orchestration
from devhost.durable.ledger import Ledger
from devhost.durable.records import (
    EntityId,
    EventMessage,
    History,
    Operation,
    Outgoing,
    Read,
    Release,
    Status,
    Step,
    entity_target,
    orchestration_target,
)
from devhost.durable.rewind import children_of, rewind
from devhost.durable.store.contract import InstanceFilter
from devhost.durable.unkind import KIND, Fault, Unkind


@dataclass(frozen=True)
class Accepted:
    """It is durable and will happen; `instance_id` names the instance that it is about."""

    instance_id: str


@dataclass(frozen=True)
class NotFound:
    """There is no such instance."""


@dataclass(frozen=True)
class WrongStatus:
    """The instance's status does not allow it."""

    status: Status


@dataclass(frozen=True)
class Purged:
    """So many instances were forgotten."""

    count: int


Outcome = Accepted | NotFound | WrongStatus


class TaskHub:
    """The instances and entities of one app, as its clients see them; any number of processes may hold one."""

    def __init__(
        self, ledger: Ledger, clock: Clock, default_version: str | None = None, *, unkind: Unkind = KIND
    ) -> None:
        self._ledger = ledger
        self._unkind = unkind
        self.store = ledger.store
        self._default_version = default_version
        self._clock = clock

    async def start(
        self,
        name: str,
        instance_id: str | None,
        given: str | None,
        version: str | None = None,
        due: datetime | None = None,
    ) -> Accepted | WrongStatus:
        """Begin an orchestration, once it is due; an ended instance of that id is replaced, a live one refuses.

        `given` is JSON text. Without a version, it is of the one that host.json names. Until it is due, the instance is
        pending: it takes in no event, and a termination ends it.
        """
        instance_id = instance_id or uuid.uuid4().hex
        return await self._start(name, instance_id, given, str(uuid.uuid4()), version=version, due=due)

    async def restart(self, instance_id: str, with_new_id: bool) -> Outcome:
        """Begin an instance of the same name and input, under a new id or, once it has ended, under its own."""
        old = await self.store.instance(instance_id)
        if old is None:
            return NotFound()
        new_id = uuid.uuid4().hex if with_new_id else instance_id
        # Null as a text is what the real host hands over when there was no input.
        given = "null" if old.input is None else old.input
        return await self._start(old.name, new_id, given, uuid.uuid4().hex, source=instance_id if with_new_id else None)

    async def raise_event(self, instance_id: str, name: str, given: str) -> Outcome:
        """Raise an event for a live instance; `given` is JSON text."""
        return await self._notify(
            instance_id, events.EventRaised(timestamp=self._clock.now(), name=name, input=given), _is_live
        )

    async def rewind(self, instance_id: str, reason: str | None) -> Outcome:
        """Make a failed instance run again from what had succeeded; its failed sub-orchestrations likewise."""
        while True:
            stored = await self.store.orchestration(instance_id)
            if stored is None:
                return NotFound()
            if stored.instance.status is not Status.FAILED:
                return WrongStatus(stored.instance.status)
            children = await self._ledger.statuses(children_of(stored.history))
            outcome = rewind(stored.instance, stored.history, reason, self._clock.now(), children)
            step = Step(
                orchestration=outcome.orchestration,
                history=outcome.history,
                produced=outcome.outgoing,
                read=Read.of(orchestration_target(instance_id), stored.instance),
            )
            if await self._ledger.commit(step):
                return Accepted(instance_id)

    async def terminate(self, instance_id: str, reason: str | None) -> Outcome:
        """End a live instance."""
        return await self._notify(
            instance_id, events.ExecutionTerminated(timestamp=self._clock.now(), input=reason), _is_live
        )

    async def suspend(self, instance_id: str, reason: str | None) -> Outcome:
        """Make a live instance pause that does not pause yet."""
        return await self._notify(
            instance_id,
            events.ExecutionSuspended(timestamp=self._clock.now(), reason=reason),
            lambda status: _is_live(status) and status is not Status.SUSPENDED,
        )

    async def resume(self, instance_id: str, reason: str | None) -> Outcome:
        """Make a paused instance go on."""
        return await self._notify(
            instance_id,
            events.ExecutionResumed(timestamp=self._clock.now(), reason=reason),
            lambda status: status is Status.SUSPENDED,
        )

    async def signal(
        self,
        entity_id: EntityId,
        operation: str,
        given: str | None,
        request_id: str | None = None,
        due: datetime | None = None,
    ) -> None:
        """Send an operation to an entity, to be delivered when it is due; `given` is JSON text.

        Returns when it is durable.
        """
        body = Operation(request_id or str(uuid.uuid4()), operation, given)
        await self._ledger.commit(Step(produced=(Outgoing(entity_target(entity_id), body, due),)))

    async def release_orphaned_locks(self) -> int:
        """Free the entities whose lock has an orchestration that is over or gone; return how many there were."""
        count = 0
        for entity in await self.store.list_entities("@", "", None):
            holder = await self.store.instance(entity.lock.holder_id) if entity.lock else None
            if entity.lock is None or (holder is not None and not holder.status.is_terminal):
                continue
            freed = Outgoing(entity_target(entity.id), Release(entity.lock.section_id))
            await self._ledger.commit(Step(produced=(freed,)))
            count += 1
        return count

    async def purge(self, instance_id: str) -> Purged | NotFound | WrongStatus:
        """Forget an instance that has ended."""
        target = orchestration_target(instance_id)
        while True:
            instance = await self.store.instance(instance_id)
            if instance is None:
                return NotFound()
            if not instance.status.is_terminal:
                return WrongStatus(instance.status)
            if await self._ledger.commit(Step(forgotten=(target,), read=Read.of(target, instance))):
                return Purged(1)

    async def purge_entity(self, entity_id: EntityId) -> Purged:
        """Forget an entity and what waits for it; a batch that runs meanwhile is not kept."""
        if await self.store.entity(entity_id) is None:
            return Purged(0)
        is_unkind = self._unkind.strikes(Fault.PURGED_WHILE_RUNNING, str(entity_id), entity_id.name)
        await self._ledger.commit(Step(forgotten=(entity_target(entity_id),), spares_messages=is_unkind))
        return Purged(1)

    async def purge_ended(self, wanted: InstanceFilter) -> Purged:
        """Forget the instances that the filter names and that have ended; entities and live instances stay."""
        found = await self.store.list_orchestrations(wanted, "", None)
        outcomes = [await self.purge(instance.instance_id) for instance in found if instance.status.is_terminal]
        return Purged(sum(outcome.count for outcome in outcomes if isinstance(outcome, Purged)))

    async def _start(
        self,
        name: str,
        instance_id: str,
        given: str | None,
        execution_id: str,
        *,
        version: str | None = None,
        source: str | None = None,
        due: datetime | None = None,
    ) -> Accepted | WrongStatus:
        target = orchestration_target(instance_id)
        while True:
            known = await self.store.instance(instance_id)
            if known is not None and not known.status.is_terminal:
                return WrongStatus(known.status)
            start = events.ExecutionStarted(
                timestamp=self._clock.now(),
                instance_id=instance_id,
                execution_id=execution_id,
                name=name,
                input=given,
                generation=0 if known is None else 1,
                version=version or self._default_version,
                source=source,
                scheduled_start=due,
            )
            outgoing = Outgoing(target, EventMessage(start, execution_id), due)
            step = Step(
                orchestration=new_orchestration(start),
                history=History(is_new=True),
                produced=(outgoing,),
                read=Read.of(target, known),
            )
            if await self._ledger.commit(step):
                return Accepted(instance_id)

    async def _notify(
        self,
        instance_id: str,
        event: events.Event,
        is_allowed: Callable[[Status], bool],
    ) -> Outcome:
        instance = await self.store.instance(instance_id)
        if instance is None:
            return NotFound()
        if not is_allowed(instance.status):
            return WrongStatus(instance.status)
        await self._ledger.commit(Step(produced=(Outgoing(orchestration_target(instance_id), EventMessage(event)),)))
        return Accepted(instance_id)


def _is_live(status: Status) -> bool:
    return not status.is_terminal
