"""Records to and from their rows in the SQLite file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from devhost.durable.compact import compact
from devhost.durable.events import Event, ExecutionStarted, Parent
from devhost.durable.eventwire import read_event, write_event
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
    Target,
    TargetKind,
)

Row = tuple[Any, ...]
ORCHESTRATION_COLUMNS = (
    "instance_id, name, execution_id, status, input, output, custom_status, parent, is_continued, "
    "created_at, updated_at, etag"
)
MESSAGE_COLUMNS = "seq, kind, target, due, body"
ENTITY_COLUMNS = "entity_id, is_there, state, updated_at, etag"


def write_time(moment: datetime) -> str:
    """Return the moment as text of a fixed width, which sorts as time does."""
    # Not strftime, whose years before 1000 have fewer digits on Linux.
    return moment.astimezone(timezone.utc).replace(tzinfo=None).isoformat(timespec="microseconds")


def write_orchestration(instance: Orchestration, etag: str) -> Row:
    """Return the values of `ORCHESTRATION_COLUMNS`."""
    return (
        instance.instance_id,
        instance.name,
        instance.execution_id,
        instance.status.value,
        instance.input,
        instance.output,
        instance.custom_status,
        compact(asdict(instance.parent)) if instance.parent else None,
        instance.is_continued,
        write_time(instance.created_at),
        write_time(instance.updated_at),
        etag,
    )


def read_orchestration(row: Row) -> Orchestration:
    """Return the record that `write_orchestration` wrote."""
    instance_id, name, execution_id, status, given, output, custom, parent, is_continued, created, updated, etag = row
    return Orchestration(
        instance_id=instance_id,
        name=name,
        execution_id=execution_id,
        status=Status(status),
        input=given,
        created_at=_read_time(created),
        updated_at=_read_time(updated),
        output=output,
        custom_status=custom,
        parent=Parent(**json.loads(parent)) if parent else None,
        is_continued=bool(is_continued),
        etag=etag,
    )


def write_entity(entity: Entity, etag: str) -> Row:
    """Return the values of `ENTITY_COLUMNS`."""
    return (str(entity.id), entity.exists, entity.state, write_time(entity.updated_at), etag)


def read_entity(row: Row) -> Entity:
    """Return the record that `write_entity` wrote."""
    entity_id, is_there, state, updated, etag = row
    return Entity(EntityId.parse(entity_id), bool(is_there), state, _read_time(updated), etag)


def write_message(message: Outgoing, at: datetime) -> Row:
    """Return the values of a message's columns but the seq, which is the file's to give."""
    due = write_time(message.due) if message.due else None
    execution_id = message.body.execution_id if isinstance(message.body, EventMessage) else None
    target = message.target
    return (
        target.kind.value,
        target.id,
        execution_id,
        _is_asked(message.body),
        write_time(at),
        due,
        _write_body(message.body),
    )


def _is_asked(body: Body) -> bool:
    """Tell whether somebody may wait for what becomes of the message: it begins an execution, or calls an operation."""
    if isinstance(body, Operation):
        return not body.is_signal
    return isinstance(body, EventMessage) and isinstance(body.event, ExecutionStarted)


def read_message(row: Row) -> Message:
    """Return the message of a row of `MESSAGE_COLUMNS`."""
    seq, kind, target, due, body = row
    target_kind = TargetKind(kind)
    return Message(seq, Target(target_kind, target), _READ_BODY[target_kind](json.loads(body)), read_due(due))


def read_due(text: str | None) -> datetime | None:
    """Return when a message is due, None for one that always was."""
    return _read_time(text) if text else None


def write_history_event(event: Event) -> str:
    return compact(write_event(event))


def read_history_event(text: str) -> Event:
    return read_event(json.loads(text))


def _read_time(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


def _write_body(body: Body) -> str:
    if isinstance(body, EventMessage):
        carried = [write_event(event) for event in body.carried]
        return compact({"event": write_event(body.event), "execution_id": body.execution_id, "carried": carried})
    if isinstance(body, Rewind):
        return compact({"rewind": body.reason})
    # Not asdict: it copies recursively, and this is on the path of every signal.
    return compact(body.__dict__)


def _read_told(wire: Mapping[str, Any]) -> EventMessage | Rewind:
    if "rewind" in wire:
        return Rewind(wire["rewind"])
    carried = tuple(read_event(event) for event in wire["carried"])
    return EventMessage(read_event(wire["event"]), wire["execution_id"], carried)


_READ_BODY: Mapping[TargetKind, Callable[[Mapping[str, Any]], Body]] = {
    TargetKind.ORCHESTRATION: _read_told,
    TargetKind.ENTITY: lambda wire: Operation(**wire),
    TargetKind.ACTIVITY: lambda wire: ActivityTask(**wire),
}
