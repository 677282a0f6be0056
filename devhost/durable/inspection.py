"""A task hub as readable text: what there is, what waits, what each instance waits for, and each step as it is kept.

Reads and changes nothing, so it works on a running engine, and beside one on the file that a host has open. The app's
own values are shown as their lengths, but for the reason of a failure, which is what a reader comes for.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from devhost.durable import events
from devhost.durable.records import (
    ActivityTask,
    Body,
    Entity,
    EntityId,
    EventMessage,
    LockRequest,
    Message,
    Operation,
    Orchestration,
    Outgoing,
    Release,
    Rewind,
    Status,
    Step,
    Target,
    entity_target,
    orchestration_target,
)
from devhost.durable.store.contract import InstanceFilter, StoredOrchestration, StoreReader
from devhost.durable.store.reader import reader_beside
from devhost.durable.texts import format_utc

logger = logging.getLogger(__name__)

MOST_LINES = 200
_LONGEST_REASON = 300
_HIDDEN = frozenset({"timestamp", "event_id", "parent", "generation", "details"})
_PAYLOADS = frozenset({"input", "result"})


async def describe(source: StoreReader, instance_id: str | None, now: datetime) -> list[str]:
    """Return lines about one instance or entity (`@name@key`), or about all when no id is given.

    Of each kind the first `MOST_LINES` are listed, with a line when there are more. An unknown id is one line, too.
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


async def _describe_hub(source: StoreReader, now: datetime) -> list[str]:
    limit = MOST_LINES + 1
    instances = await source.list_orchestrations(InstanceFilter(), "", limit)
    waiting: dict[str, str] = {}
    for instance in instances[:MOST_LINES]:
        if not instance.status.is_terminal:
            stored = await source.orchestration(instance.instance_id)
            waiting[instance.instance_id] = _waiting_phrase(instance, stored.history if stored else ())
    entities = await source.list_entities("@", "", limit)
    messages = await source.messages(None, limit)
    return [
        *_section("Orchestrations", [_orchestration_line(one, waiting.get(one.instance_id)) for one in instances]),
        *_section("Entities", [_entity_line(entity) for entity in entities]),
        *_waiting_messages(messages, now),
    ]


async def _describe_one(source: StoreReader, instance_id: str, now: datetime) -> list[str]:
    stored = await source.orchestration(instance_id)
    if stored is not None:
        messages = await source.messages(orchestration_target(instance_id), MOST_LINES + 1)
        return [
            *_orchestration_facts(stored),
            *_waiting_messages(messages, now),
            *_section("History", [event_line(number, event) for number, event in enumerate(stored.history)], None),
        ]
    entity_id = _parse_entity_id(instance_id)
    entity = await source.entity(entity_id) if entity_id else None
    messages = await source.messages(entity_target(entity_id), MOST_LINES + 1) if entity_id else ()
    if entity is None and not messages:
        return [f"There is no instance or entity {instance_id}."]
    head = [_entity_line(entity)] if entity else [f"{instance_id}  has not run yet"]
    return [*head, *_section("Messages to be handled", [message_line(one) for one in messages])]


def _waiting_messages(messages: Sequence[Message], now: datetime) -> Iterator[str]:
    now_due = [message_line(one) for one in messages if one.due is None or one.due <= now]
    later = [message_line(one) for one in messages if one.due is not None and one.due > now]
    yield from _section("Messages to be handled", now_due)
    yield from _section("Timers", later)


def _section(title: str, lines: Sequence[str], most: int | None = MOST_LINES) -> Iterator[str]:
    yield f"{title}: {'none' if not lines else ''}".rstrip()
    for line in lines[:most]:
        yield f"  {line}"
    if most is not None and len(lines) > most:
        yield "  ... and more"


def _waiting_phrase(instance: Orchestration, history: Sequence[events.Event]) -> str:
    if instance.status is Status.SUSPENDED:
        return "suspended: nothing it decides is carried out until it is resumed"
    if instance.status is Status.PENDING:
        return "waits for its first episode"
    return "waits for " + (", ".join(open_work(history)) or "an external event, or for its next episode")


def _orchestration_line(instance: Orchestration, waits_for: str | None) -> str:
    line = f"{instance.instance_id}  {instance.name}  {instance.status.value}  {format_utc(instance.updated_at)}"
    if instance.status is Status.FAILED and instance.output is not None:
        return f"{line}  {instance.output[:_LONGEST_REASON]}"
    return f"{line}  {waits_for}" if waits_for else line


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
    locked = f"  locked by {entity.lock.holder_id}" if entity.lock is not None else ""
    return f"{entity.id}  {state}  {format_utc(entity.updated_at)}{locked}"


def _parse_entity_id(text: str) -> EntityId | None:
    try:
        return EntityId.parse(text)
    except ValueError:
        return None


def message_line(message: Message) -> str:
    """Return the message's seq, its target, what it says, and when it is due."""
    return f"#{message.seq} {outgoing_line(message)}"


def outgoing_line(message: Message | Outgoing) -> str:
    """Return the target, what the message says, and when it is due."""
    due = f" due {format_utc(message.due)}" if message.due else ""
    return f"to {message.target.kind.value} {message.target.id}: {_phrase(message.body)}{due}"


def _phrase(body: Body) -> str:
    match body:
        case EventMessage(event):
            return f"{type(event).__name__}{_details(event)}"
        case Operation():
            return f"{'signal' if body.is_signal else f'call from {body.caller_id}'} {body.name} ({body.id})"
        case LockRequest():
            return f"lock for {body.caller_id} ({body.id})"
        case Release():
            return f"unlock ({body.section_id})"
        case ActivityTask():
            return f"run {body.name} for {body.caller_id} (id {body.task_id})"
        case Rewind():
            return "rewind"


def event_line(number: int, event: events.Event) -> str:
    """Return the place in the history, the time and the facts."""
    return f"{number:>4}  {format_utc(event.timestamp):<28}  {type(event).__name__}{_details(event)}"


def _details(event: events.Event) -> str:
    """Return the ids and names of an event, and the lengths of the app's values."""
    shown = {name: value for name, value in vars(event).items() if name not in _HIDDEN and value is not None}
    if event.event_id >= 0:
        shown["id"] = event.event_id
    return "".join(f" {name}={_shown(name, value)}" for name, value in shown.items())


def _shown(name: str, value: object) -> object:
    if name in _PAYLOADS:
        return length(str(value))
    return format_utc(value) if isinstance(value, datetime) else value


def length(text: str | None) -> str:
    """Return how much text there is, in place of the text."""
    return "none" if text is None else f"{len(text)} characters"


def open_work(history: Sequence[events.Event]) -> list[str]:
    """Return a phrase for each request that has not ended, in the order of asking.

    External events are not among them: a wait for one leaves no event in the history.
    """
    waiting: dict[object, str] = {}
    for event in history:
        match event:
            case events.TaskScheduled():
                waiting[event.event_id] = f"activity {event.name} (id {event.event_id})"
            case events.ChildCreated():
                waiting[event.event_id] = f"sub-orchestration {event.name} {event.instance_id} (id {event.event_id})"
            case events.TimerCreated():
                waiting[event.event_id] = f"timer until {format_utc(event.fire_at)} (id {event.event_id})"
            case events.EventSent() if event.instance_id.startswith("@") and event.name == "op":
                request = json.loads(event.input)
                if not request.get("signal"):
                    waiting[request["id"]] = f"{_request_phrase(request, event.instance_id)} (id {event.event_id})"
            case events.Completed() | events.Failed():
                waiting.pop(event.task_id, None)
            case events.TimerFired():
                waiting.pop(event.timer_id, None)
            case events.EventRaised():
                waiting.pop(event.name, None)
    return list(waiting.values())


def _request_phrase(request: Mapping[str, Any], entity_id: str) -> str:
    if "lockset" in request:
        return "the locks of " + ", ".join(f"@{each['name']}@{each['key']}" for each in request["lockset"])
    return f"operation {request['op']} of {entity_id}"


def log_step(target: Target, taken: Sequence[Message], step: Step) -> None:
    """Log a step that is durable."""
    if not logger.isEnabledFor(logging.DEBUG):
        return
    status = f" is {step.orchestration.status.value}" if step.orchestration is not None else ""
    logger.debug("%s %s%s", target.kind.value, target.id, status)
    for message in taken:
        logger.debug("  took %s", message_line(message))
    for outgoing in step.produced:
        logger.debug("  sent %s", outgoing_line(outgoing))
