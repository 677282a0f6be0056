"""A task hub as readable text: what there is, what waits, and what each instance waits for.

Reads and changes nothing, so it works on a running engine, and beside one on the file that a host has open. The app's
own values are shown as their lengths, but for the reason of a failure, which is what a reader comes for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

from devhost.durable import events
from devhost.durable.openwork import open_work
from devhost.durable.phrases import event_line, length, message_line
from devhost.durable.records import (
    Entity,
    EntityId,
    Message,
    Orchestration,
    Status,
    Target,
    entity_target,
    orchestration_target,
)
from devhost.durable.store.contract import InstanceFilter, StoredOrchestration
from devhost.durable.store.reader import reader_beside
from devhost.durable.timestamps import format_utc

MOST_LINES = 200
_LONGEST_REASON = 300


class Readable(Protocol):
    """The reading half of a store."""

    async def messages(self, target: Target | None, limit: int) -> Sequence[Message]: ...

    async def orchestration(self, instance_id: str) -> StoredOrchestration | None: ...

    async def entity(self, entity_id: EntityId) -> Entity | None: ...

    async def list_orchestrations(
        self, wanted: InstanceFilter, first_id: str, limit: int | None
    ) -> Sequence[Orchestration]: ...

    async def list_entities(self, prefix: str, first_id: str, limit: int | None) -> Sequence[Entity]: ...


async def describe(source: Readable, instance_id: str | None, now: datetime) -> list[str]:
    """Return lines about one instance or entity (`@name@key`), or about all when no id is given.

    Of each kind the first `MOST_LINES` are told, and that there are more. An unknown id is told in a line, too.
    """
    return await (_describe_hub(source, now) if instance_id is None else _describe_one(source, instance_id, now))


async def describe_folder(folder: Path, instance_id: str | None, now: datetime) -> list[str]:
    """Return the same lines about the file in a folder, whether a host has it open or not.

    Raises `StoreUnreachableError`, `StoreUnreadableError` and `StoreVersionError`, each a sentence.
    """
    reader = reader_beside(folder)
    reader.open()
    try:
        return await describe(reader, instance_id, now)
    finally:
        await reader.close()


async def _describe_hub(source: Readable, now: datetime) -> list[str]:
    limit = MOST_LINES + 1
    instances = await source.list_orchestrations(InstanceFilter(), "", limit)
    live = [instance for instance in instances[:MOST_LINES] if not instance.status.is_terminal]
    waiting = {instance.instance_id: await _waits_for(source, instance) for instance in live}
    entities = await source.list_entities("@", "", limit)
    messages = await source.messages(None, limit)
    return [
        *_section("Orchestrations", [_orchestration_line(one, waiting.get(one.instance_id)) for one in instances]),
        *_section("Entities", [_entity_line(entity) for entity in entities]),
        *_section("Messages to be handled", [message_line(one) for one in messages if not _is_later(one, now)]),
        *_section("Timers", [message_line(one) for one in messages if _is_later(one, now)]),
    ]


async def _describe_one(source: Readable, instance_id: str, now: datetime) -> list[str]:
    stored = await source.orchestration(instance_id)
    if stored is not None:
        messages = await source.messages(orchestration_target(instance_id), MOST_LINES + 1)
        return [
            *_orchestration_facts(stored),
            *_section("Messages to be handled", [message_line(one) for one in messages if not _is_later(one, now)]),
            *_section("Timers", [message_line(one) for one in messages if _is_later(one, now)]),
            *_section("History", [event_line(number, event) for number, event in enumerate(stored.history)], None),
        ]
    entity_id = _parse_entity_id(instance_id)
    entity = await source.entity(entity_id) if entity_id else None
    messages = await source.messages(entity_target(entity_id), MOST_LINES + 1) if entity_id else ()
    if entity is None and not messages:
        return [f"There is no instance or entity {instance_id}."]
    head = [_entity_line(entity)] if entity else [f"{instance_id}  has not run yet"]
    return [*head, *_section("Messages to be handled", [message_line(one) for one in messages])]


def _section(title: str, lines: Sequence[str], most: int | None = MOST_LINES) -> Iterator[str]:
    yield f"{title}: {'none' if not lines else ''}".rstrip()
    for line in lines[:most]:
        yield f"  {line}"
    if most is not None and len(lines) > most:
        yield "  ... and more"


async def _waits_for(source: Readable, instance: Orchestration) -> str:
    stored = await source.orchestration(instance.instance_id)
    return _waiting_phrase(instance, stored.history if stored else ())


def _waiting_phrase(instance: Orchestration, history: Sequence[events.Event]) -> str:
    if instance.status is Status.SUSPENDED:
        return "suspended: nothing it decides is carried out until it is resumed"
    if instance.status is Status.PENDING:
        return "waits for its first episode"
    return "waits for " + (", ".join(open_work(history)) or "an external event, or for its next episode")


def _orchestration_line(instance: Orchestration, waits_for: str | None) -> str:
    line = f"{instance.instance_id}  {instance.name}  {instance.status.value}  {format_utc(instance.updated_at)}"
    return line + (f"  {waits_for}" if waits_for else _reason(instance))


def _reason(instance: Orchestration) -> str:
    if instance.status is not Status.FAILED or instance.output is None:
        return ""
    return f"  {instance.output[:_LONGEST_REASON]}"


def _orchestration_facts(stored: StoredOrchestration) -> Iterator[str]:
    instance = stored.instance
    yield _orchestration_line(instance, None)
    if not instance.status.is_terminal:
        yield _waiting_phrase(instance, stored.history)
    yield f"execution {instance.execution_id}, created {format_utc(instance.created_at)}"
    if instance.parent is not None:
        yield f"child of {instance.parent.name} {instance.parent.instance_id} (id {instance.parent.task_id})"
    lengths = (("input", instance.input), ("output", instance.output), ("custom status", instance.custom_status))
    yield ", ".join(f"{name} {length(value)}" for name, value in lengths)


def _entity_line(entity: Entity) -> str:
    state = f"state {length(entity.state)}" if entity.exists else "does not exist any more"
    return f"{entity.id}  {state}  {format_utc(entity.updated_at)}"


def _is_later(message: Message, now: datetime) -> bool:
    return message.due is not None and message.due > now


def _parse_entity_id(text: str) -> EntityId | None:
    try:
        return EntityId.parse(text)
    except ValueError:
        return None
