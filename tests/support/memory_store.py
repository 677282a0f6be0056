"""The store without a file: the small double of the engine's tests, held to the contract by the suite of all stores."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from devhost.durable.events import ExecutionStarted
from devhost.durable.records import (
    Entity,
    EntityId,
    EventMessage,
    Inbox,
    LockRequest,
    Message,
    Operation,
    Orchestration,
    Outgoing,
    Read,
    Step,
    Superseded,
    Target,
    TargetKind,
)
from devhost.durable.store.contract import Arrival, Arrivals, InstanceFilter, StoredOrchestration, merge_by_time
from devhost.errors import StaleStepError


class MemoryStore:
    """Keeps everything in dictionaries. Opened again, it has what was committed: a restart in miniature."""

    def __init__(self) -> None:
        self._orchestrations: dict[str, StoredOrchestration] = {}
        self._entities: dict[str, Entity] = {}
        self._messages: dict[int, tuple[Message, datetime]] = {}
        self._seqs = itertools.count(1)

    def open(self) -> None:
        """Be ready; there is nothing to make."""

    def commit(self, step: Step) -> asyncio.Future[None]:
        done = asyncio.get_running_loop().create_future()
        if (refusal := self._refuse(step)) is not None:
            done.set_exception(StaleStepError(refusal))
            return done
        for seq in step.consumed:
            del self._messages[seq]
        self._drop_messages(step)
        for target in step.forgotten:
            self._forget(target)
        self._replace_records(step)
        for outgoing in step.produced:
            self._send(outgoing, step.at)
        done.set_result(None)
        return done

    async def version_of_others(self) -> int:
        return 0

    async def arrivals(self, after_seq: int) -> Arrivals:
        found = [message for message in self._all() if message.seq > after_seq]
        return Arrivals(
            found[-1].seq if found else after_seq, tuple(Arrival(message.target, message.due) for message in found)
        )

    async def inbox(self, target: Target, now: datetime, limit: int) -> Inbox:
        waiting = [(sent, message) for message, sent in self._messages.values() if message.target == target]
        delayed = [(message.due, message) for _, message in waiting if message.due is not None and message.due <= now]
        later = [message.due for _, message in waiting if message.due is not None and message.due > now]
        at_once = [(sent, message) for sent, message in waiting if message.due is None]
        found = tuple(merge_by_time(at_once, sorted(delayed, key=lambda pair: pair[0])))
        return Inbox(found[:limit], len(found) <= limit, min(later, default=None), self._record(target))

    async def messages(self, target: Target | None, limit: int) -> Sequence[Message]:
        return [message for message in self._all() if target in (None, message.target)][:limit]

    async def instance(self, instance_id: str) -> Orchestration | None:
        stored = self._orchestrations.get(instance_id)
        return stored.instance if stored else None

    async def orchestration(self, instance_id: str) -> StoredOrchestration | None:
        return self._orchestrations.get(instance_id)

    async def entity(self, entity_id: EntityId) -> Entity | None:
        return self._entities.get(str(entity_id))

    async def list_orchestrations(
        self, wanted: InstanceFilter, first_id: str, limit: int | None
    ) -> Sequence[Orchestration]:
        found = [self._orchestrations[key].instance for key in sorted(self._orchestrations) if key >= first_id]
        return [instance for instance in found if _is_wanted(instance, wanted)][:limit]

    async def list_entities(self, prefix: str, first_id: str, limit: int | None) -> Sequence[Entity]:
        found = [key for key in sorted(self._entities) if key >= first_id and key.startswith(prefix)]
        return [self._entities[key] for key in found[:limit]]

    async def close(self) -> None:
        """Let go; what was committed stays for the next `open`."""

    def _all(self) -> list[Message]:
        return sorted((message for message, _ in self._messages.values()), key=lambda message: message.seq)

    def _refuse(self, step: Step) -> str | None:
        if step.read is not None and Read.of(step.read.target, self._record(step.read.target)) != step.read:
            return f"{step.read.target.id} was changed meanwhile"
        gone = [seq for seq in step.consumed if seq not in self._messages]
        return f"message #{gone[0]} waits no longer" if gone else None

    def _record(self, target: Target) -> Orchestration | Entity | None:
        if target.kind is TargetKind.ENTITY:
            return self._entities.get(target.id)
        stored = self._orchestrations.get(target.id)
        return stored.instance if stored and target.kind is TargetKind.ORCHESTRATION else None

    def _send(self, outgoing: Outgoing, at: datetime) -> None:
        seq = next(self._seqs)
        self._messages[seq] = (Message(seq, outgoing.target, outgoing.body, outgoing.due), at)

    def _replace_records(self, step: Step) -> None:
        if step.entity is not None:
            self._entities[str(step.entity.id)] = replace(step.entity, etag=step.etag)
        if step.orchestration is not None:
            instance = replace(step.orchestration, etag=step.etag)
            known = self._orchestrations.get(instance.instance_id)
            past = () if known is None or step.history.is_new else known.history
            self._orchestrations[instance.instance_id] = StoredOrchestration(instance, past + step.history.events)

    def _drop_messages(self, step: Step) -> None:
        dropped = {step.silenced} if step.spares_messages else {*step.forgotten, step.silenced}
        for seq, (message, _) in list(self._messages.items()):
            if (message.target in dropped and not self._is_still_asked(message)) or _is_for(message, step.superseded):
                del self._messages[seq]

    def _is_still_asked(self, message: Message) -> bool:
        """Tell whether its sender waits for the message: a call, or the start of another execution than is there."""
        if isinstance(message.body, Operation):
            return not message.body.is_signal
        if isinstance(message.body, LockRequest):
            return True
        stored = self._orchestrations.get(message.target.id)
        return (
            isinstance(message.body, EventMessage)
            and isinstance(message.body.event, ExecutionStarted)
            and (stored is None or message.body.execution_id != stored.instance.execution_id)
        )

    def _forget(self, target: Target) -> None:
        if target.kind is TargetKind.ORCHESTRATION:
            self._orchestrations.pop(target.id, None)
        if target.kind is TargetKind.ENTITY:
            self._entities.pop(target.id, None)


def _is_for(message: Message, superseded: Superseded | None) -> bool:
    return (
        superseded is not None
        and message.target == superseded.target
        and isinstance(message.body, EventMessage)
        and message.body.execution_id == superseded.execution_id
    )


def _is_wanted(instance: Orchestration, wanted: InstanceFilter) -> bool:
    return (
        instance.instance_id.startswith(wanted.prefix)
        and (not wanted.statuses or instance.status in wanted.statuses)
        and (wanted.created_from is None or instance.created_at >= wanted.created_from)
        and (wanted.created_to is None or instance.created_at <= wanted.created_to)
    )
