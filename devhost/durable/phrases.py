"""Messages and history events as one readable line each: ids, names and times, and of the app's values the lengths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from devhost.durable import events
from devhost.durable.records import ActivityTask, Body, EventMessage, Message, Operation, Outgoing, Rewind
from devhost.durable.timestamps import format_utc

_HIDDEN = frozenset({"timestamp", "event_id", "parent", "generation", "details"})
_PAYLOADS = frozenset({"input", "result"})


def message_line(message: Message) -> str:
    """Return the message's seq, who is told what, and when at the earliest."""
    return f"#{message.seq} {outgoing_line(message)}"


def outgoing_line(message: Message | Outgoing) -> str:
    """Return who is told what, and when at the earliest."""
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
