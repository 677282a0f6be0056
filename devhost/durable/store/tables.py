"""The SQLite file's tables, their version, and records to and from their rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from devhost.durable.events import ExecutionStarted, Parent, read_event, write_event
from devhost.durable.records import (
    ActivityTask,
    Body,
    Entity,
    EntityId,
    EventMessage,
    Lock,
    LockRequest,
    Message,
    Operation,
    Orchestration,
    Outgoing,
    Release,
    Rewind,
    Status,
    Target,
    TargetKind,
)
from devhost.durable.texts import compact, plain_utc
from devhost.errors import StoreUnreadableError, StoreVersionError

FILE = "durable.db"
# Entry n brings a file of version n to version n + 1. Entries are never changed once released, only added.
_UPGRADES = (
    """
    CREATE TABLE orchestrations (
        instance_id TEXT PRIMARY KEY, name TEXT NOT NULL, execution_id TEXT NOT NULL, status TEXT NOT NULL,
        input TEXT, output TEXT, custom_status TEXT, parent TEXT, is_continued INTEGER NOT NULL,
        created_at TEXT NOT NULL, updated_at TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE history (
        instance_id TEXT NOT NULL, position INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (instance_id, position)
    ) WITHOUT ROWID;
    CREATE TABLE entities (
        entity_id TEXT PRIMARY KEY, is_there INTEGER NOT NULL, state TEXT, updated_at TEXT NOT NULL
    );
    CREATE TABLE messages (
        seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, target TEXT NOT NULL, due TEXT, body TEXT NOT NULL
    );
    CREATE INDEX messages_by_target ON messages (kind, target);
    """,
    # Several processes: seqs are the file's and never used twice, and records say which step wrote them. A message with
    # `is_asked` has a sender who waits for its outcome: the start of an execution, an operation that is called.
    """
    ALTER TABLE orchestrations ADD COLUMN etag TEXT NOT NULL DEFAULT '';
    ALTER TABLE entities ADD COLUMN etag TEXT NOT NULL DEFAULT '';
    ALTER TABLE messages RENAME TO messages_before;
    DROP INDEX messages_by_target;
    CREATE TABLE messages (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, target TEXT NOT NULL, execution_id TEXT,
        is_asked INTEGER NOT NULL, sent TEXT NOT NULL, due TEXT, body TEXT NOT NULL
    );
    INSERT INTO messages
        SELECT seq, kind, target, json_extract(body, '$.execution_id'),
            coalesce(json_extract(body, '$.event.EventType') = 0, 0)
            OR json_extract(body, '$.caller_id') IS NOT NULL AND kind = 'entity',
            '', due, body
        FROM messages_before;
    DROP TABLE messages_before;
    CREATE INDEX messages_by_target ON messages (kind, target, due);
    """,
    # How many steps have deleted, and how many of them the file was written anew after. What a file holds already may
    # have been deleted from it.
    """
    CREATE TABLE erasures (asked INTEGER NOT NULL, done INTEGER NOT NULL);
    INSERT INTO erasures SELECT EXISTS (SELECT 1 FROM sqlite_sequence), 0;
    """,
    # A status shows the version that the instance was started with.
    """
    ALTER TABLE orchestrations ADD COLUMN version TEXT;
    """,
    # An entity may be locked by an orchestration.
    """
    ALTER TABLE entities ADD COLUMN lock TEXT;
    """,
)
VERSION = len(_UPGRADES)

Row = tuple[Any, ...]
ORCHESTRATION_COLUMNS = (
    "instance_id, name, execution_id, status, input, output, custom_status, parent, is_continued, "
    "created_at, updated_at, version, etag"
)
MESSAGE_COLUMNS = "seq, kind, target, due, body"
ENTITY_COLUMNS = "entity_id, is_there, state, updated_at, lock, etag"


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
        plain_utc(instance.created_at),
        plain_utc(instance.updated_at),
        instance.version,
        etag,
    )


def read_orchestration(row: Row) -> Orchestration:
    """Return the record that `write_orchestration` wrote."""
    instance_id, name, execution_id, status, given, output, custom, parent, is_continued, *rest = row
    created, updated, version, etag = rest
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
        version=version,
        is_continued=bool(is_continued),
        etag=etag,
    )


def write_entity(entity: Entity, etag: str) -> Row:
    """Return the values of `ENTITY_COLUMNS`."""
    lock = compact(asdict(entity.lock)) if entity.lock else None
    return (str(entity.id), entity.exists, entity.state, plain_utc(entity.updated_at), lock, etag)


def read_entity(row: Row) -> Entity:
    """Return the record that `write_entity` wrote."""
    entity_id, is_there, state, updated, lock, etag = row
    held = Lock(**json.loads(lock)) if lock else None
    return Entity(EntityId.parse(entity_id), bool(is_there), state, _read_time(updated), held, etag)


def write_message(message: Outgoing, at: datetime) -> Row:
    """Return the values of a message's columns but the seq, which is the file's to give."""
    due = plain_utc(message.due) if message.due else None
    execution_id = message.body.execution_id if isinstance(message.body, EventMessage) else None
    target = message.target
    return (
        target.kind.value,
        target.id,
        execution_id,
        _is_asked(message.body),
        plain_utc(at),
        due,
        _write_body(message.body),
    )


def _is_asked(body: Body) -> bool:
    """Return whether somebody may wait for what becomes of the message: it begins an execution or calls."""
    if isinstance(body, Operation):
        return not body.is_signal
    if isinstance(body, LockRequest):
        return True
    return isinstance(body, EventMessage) and isinstance(body.event, ExecutionStarted)


def read_message(row: Row) -> Message:
    """Return the message of a row of `MESSAGE_COLUMNS`."""
    seq, kind, target, due, body = row
    target_kind = TargetKind(kind)
    return Message(seq, Target(target_kind, target), _READ_BODY[target_kind](json.loads(body)), read_due(due))


def read_due(text: str | None) -> datetime | None:
    """Return when a message is due, None for one that always was."""
    return _read_time(text) if text else None


def _read_time(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _write_body(body: Body) -> str:
    if isinstance(body, EventMessage):
        carried = [write_event(event) for event in body.carried]
        return compact({"event": write_event(body.event), "execution_id": body.execution_id, "carried": carried})
    if isinstance(body, Rewind):
        return compact({"rewind": body.reason})
    if isinstance(body, LockRequest):
        return compact({"lock": body.__dict__})
    if isinstance(body, Release):
        return compact({"release": body.section_id})
    # Not asdict: it copies recursively, and this is on the path of every signal.
    return compact(body.__dict__)


def _read_event_message(wire: Mapping[str, Any]) -> EventMessage | Rewind:
    if "rewind" in wire:
        return Rewind(wire["rewind"])
    carried = tuple(read_event(event) for event in wire["carried"])
    return EventMessage(read_event(wire["event"]), wire["execution_id"], carried)


def _read_entity_message(wire: Mapping[str, Any]) -> Operation | LockRequest | Release:
    if "release" in wire:
        return Release(wire["release"])
    if "lock" in wire:
        return LockRequest(**{**wire["lock"], "entity_ids": tuple(wire["lock"]["entity_ids"])})
    return Operation(**wire)


_READ_BODY: Mapping[TargetKind, Callable[[Mapping[str, Any]], Body]] = {
    TargetKind.ORCHESTRATION: _read_event_message,
    TargetKind.ENTITY: _read_entity_message,
    TargetKind.ACTIVITY: lambda wire: ActivityTask(**wire),
}


def upgrade(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the file to this version, each step in one transaction; other processes may try the same meanwhile.

    Raises `StoreVersionError` for a file of a newer host, `StoreUnreadableError` for one that is no such file.
    """
    while (found := _version(connection, path)) != VERSION:
        if found > VERSION:
            raise StoreVersionError(
                f"{path} has version {found}, and this local host knows versions up to {VERSION}. "
                "Use the newer host, or run `python -m devhost reset` to start with nothing."
            )
        connection.execute("BEGIN IMMEDIATE")
        # Looked at again now that nobody else can write: another process may have been first.
        if _version(connection, path) == found:
            for statement in _UPGRADES[found].split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {found + 1}")
        connection.execute("COMMIT")


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Return if the file has this version; raises `StoreVersionError` or `StoreUnreadableError` like `upgrade`."""
    found = _version(connection, path)
    if found != VERSION:
        raise StoreVersionError(
            f"{path} has version {found}, and this local host reads version {VERSION}. Start a host of this version "
            "in the folder once, or use the version that wrote it."
        )


def _version(connection: sqlite3.Connection, path: Path) -> int:
    try:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.OperationalError:
        # Busy or not to be opened: that says nothing about what the file is.
        raise
    except sqlite3.DatabaseError as error:
        raise StoreUnreadableError(path, error) from error
    return int(found)
