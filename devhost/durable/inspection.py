"""A task hub as readable text: what there is, what waits, what each instance waits for, and each step as it is kept.

Reads and changes nothing, so it works on a running engine, and beside one on the file that a host has open. The app's
own values are shown as their lengths, but for the reason of a failure, which is what a reader comes for.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    Message,
    Operation,
    Orchestration,
    Outgoing,
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


async def _describe_one(source: StoreReader, instance_id: str, now: datetime) -> list[str]:
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


async def _waits_for(source: StoreReader, instance: Orchestration) -> str:
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


def message_line(message: Message) -> str:
    """Return the message's seq, its target, what it says, and when it is due."""
    return f"#{message.seq} {outgoing_line(message)}"


def outgoing_line(message: Message | Outgoing) -> str:
    """Return the target, what the message says, and when it is due."""
    due = f" due {format_utc(message.due)}" if message.due else ""
    body = _BODIES[type(message.body)](message.body)
    return f"to {message.target.kind.value} {message.target.id}: {body}{due}"


def _operation(body: Operation) -> str:
    return f"{'signal' if body.is_signal else f'call from {body.caller_id}'} {body.name} ({body.id})"


def _event(body: EventMessage) -> str:
    return f"{type(body.event).__name__}{_details(body.event)}"


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


_BODIES: Mapping[type[Body], Callable[[Any], str]] = {
    EventMessage: _event,
    Operation: _operation,
    Rewind: lambda body: "rewind",
    ActivityTask: lambda body: f"run {body.name} for {body.caller_id} (id {body.task_id})",
}


def open_work(history: Sequence[events.Event]) -> list[str]:
    """Return a phrase for each request that has not ended, in the order of asking (host contract 3.4).

    External events are not among them: a wait for one leaves no event in the history.
    """
    waiting: dict[object, str] = {}
    for event in history:
        change = _CHANGES.get(type(event))
        if change is not None:
            change(waiting, event)
    return list(waiting.values())


def _task(waiting: dict[object, str], event: events.TaskScheduled) -> None:
    waiting[event.event_id] = f"activity {event.name} (id {event.event_id})"


def _child(waiting: dict[object, str], event: events.ChildCreated) -> None:
    waiting[event.event_id] = f"sub-orchestration {event.name} {event.instance_id} (id {event.event_id})"


def _timer(waiting: dict[object, str], event: events.TimerCreated) -> None:
    waiting[event.event_id] = f"timer until {format_utc(event.fire_at)} (id {event.event_id})"


def _message(waiting: dict[object, str], event: events.EventSent) -> None:
    request = json.loads(event.input)
    if not request.get("signal"):
        waiting[request["id"]] = f"operation {request['op']} of {event.instance_id} (id {event.event_id})"


def _end(waiting: dict[object, str], event: events.TaskCompleted) -> None:
    waiting.pop(event.task_id, None)


def _fire(waiting: dict[object, str], event: events.TimerFired) -> None:
    waiting.pop(event.timer_id, None)


def _reply(waiting: dict[object, str], event: events.EventRaised) -> None:
    waiting.pop(event.name, None)


_CHANGES: Mapping[type[events.Event], Callable[[dict[object, str], Any], None]] = {
    events.TaskScheduled: _task,
    events.ChildCreated: _child,
    events.TimerCreated: _timer,
    events.EventSent: _message,
    events.TaskCompleted: _end,
    events.TaskFailed: _end,
    events.ChildCompleted: _end,
    events.ChildFailed: _end,
    events.TimerFired: _fire,
    events.EventRaised: _reply,
}


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
