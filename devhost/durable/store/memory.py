"""The store without a file: for tests, and for hosts that need not remember."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from devhost.durable.records import (
    Entity,
    EntityId,
    Message,
    Orchestration,
    Step,
    Target,
    TargetKind,
)
from devhost.durable.store.contract import InstanceFilter, StoredOrchestration


class MemoryStore:
    """Keeps everything in dictionaries. Opened again, it has what was committed: a restart in miniature."""

    def __init__(self) -> None:
        self._orchestrations: dict[str, StoredOrchestration] = {}
        self._entities: dict[str, Entity] = {}
        self._messages: dict[int, Message] = {}

    def open(self) -> None:
        """Be ready; there is nothing to lock."""

    def pending(self) -> list[Message]:
        return sorted(self._messages.values(), key=lambda message: message.seq)

    def commit(self, step: Step) -> asyncio.Future[None]:
        for seq in step.consumed:
            self._messages.pop(seq, None)
        for target in (*step.forgotten, *((step.silenced,) if step.silenced else ())):
            self._drop_messages(target)
        for target in step.forgotten:
            self._forget(target)
        self._replace_records(step)
        self._messages |= {message.seq: message for message in step.produced}
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    async def messages(self, target: Target | None, limit: int) -> Sequence[Message]:
        return [message for message in self.pending() if target in (None, message.target)][:limit]

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

    def _replace_records(self, step: Step) -> None:
        if step.entity is not None:
            self._entities[str(step.entity.id)] = step.entity
        if step.orchestration is not None:
            instance = step.orchestration
            known = self._orchestrations.get(instance.instance_id)
            past = () if known is None or step.history.is_new else known.history
            self._orchestrations[instance.instance_id] = StoredOrchestration(instance, past + step.history.events)

    def _drop_messages(self, target: Target) -> None:
        for seq in [seq for seq, message in self._messages.items() if message.target == target]:
            del self._messages[seq]

    def _forget(self, target: Target) -> None:
        if target.kind is TargetKind.ORCHESTRATION:
            self._orchestrations.pop(target.id, None)
        if target.kind is TargetKind.ENTITY:
            self._entities.pop(target.id, None)


def _is_wanted(instance: Orchestration, wanted: InstanceFilter) -> bool:
    return (
        instance.instance_id.startswith(wanted.prefix)
        and (not wanted.statuses or instance.status in wanted.statuses)
        and (wanted.created_from is None or instance.created_at >= wanted.created_from)
        and (wanted.created_to is None or instance.created_at <= wanted.created_to)
    )
