"""Reading the SQLite file, also while other processes write it.

One record, or what waits for one target, is read on the event loop: that takes less time than waking a thread. Lists
and histories are read on a thread of their own. No read leaves a transaction open: a reader of an old moment would keep
deleted texts in the write-ahead log.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from devhost.durable.events import read_event
from devhost.durable.records import Entity, EntityId, Inbox, Message, Orchestration, Target, TargetKind
from devhost.durable.store import tables
from devhost.durable.store.contract import Arrival, Arrivals, InstanceFilter, StoredOrchestration, merge_by_time
from devhost.durable.texts import plain_utc
from devhost.errors import StoreUnreachableError, StoreUnreadableError

_INSTANCE = f"SELECT {tables.ORCHESTRATION_COLUMNS} FROM orchestrations"
_ENTITY = f"SELECT {tables.ENTITY_COLUMNS} FROM entities"
_MESSAGES = f"SELECT {tables.MESSAGE_COLUMNS} FROM messages"
_FOR_TARGET = "FROM messages WHERE kind = ? AND target = ? AND due"
_SENT = f"SELECT sent, {tables.MESSAGE_COLUMNS} {_FOR_TARGET} IS NULL ORDER BY seq LIMIT ?"
_DELAYED = f"SELECT due, {tables.MESSAGE_COLUMNS} {_FOR_TARGET} <= ? ORDER BY due, seq LIMIT ?"
_NEXT_DUE = f"SELECT min(due) {_FOR_TARGET} > ?"
_ARRIVALS = "SELECT max(seq), kind, target, min(coalesce(due, '')) FROM messages WHERE seq > ? GROUP BY kind, target"
_Found = TypeVar("_Found")


class SqliteReader:
    """What a file holds: the reading half of a store."""

    def __init__(self, path: Path, connect: Callable[[], sqlite3.Connection]) -> None:
        """`connect` opens the file for one user at a time, on whatever thread it is (`check_same_thread=False`)."""
        self._path = path
        self._connect_reader = connect
        self._reader: sqlite3.Connection | None = None
        self._here: sqlite3.Connection | None = None
        self._read_thread = ThreadPoolExecutor(1, thread_name_prefix="durable-reader")

    def open(self) -> None:
        """Open the connections, the thread's and the loop's; raises what `connect` raises."""
        self._reader = self._connect_reader()
        self._here = self._connect_reader()

    async def version_of_others(self) -> int:
        return self._read_here(lambda connection: int(connection.execute("PRAGMA data_version").fetchone()[0]))

    async def arrivals(self, after_seq: int) -> Arrivals:
        return await self._read(lambda connection: _read_arrivals(connection, after_seq))

    async def inbox(self, target: Target, now: datetime, limit: int) -> Inbox:
        return self._read_here(lambda connection: _read_inbox(connection, target, now, limit))

    async def messages(self, target: Target | None, limit: int) -> Sequence[Message]:
        where, values = (
            ("", ()) if target is None else ("WHERE kind = ? AND target = ?", (target.kind.value, target.id))
        )
        query = f"{_MESSAGES} {where} ORDER BY seq LIMIT ?"
        return await self._read_all(query, (*values, limit), tables.read_message)

    async def instance(self, instance_id: str) -> Orchestration | None:
        return self._read_here(lambda connection: _read_instance(connection, instance_id))

    async def orchestration(self, instance_id: str) -> StoredOrchestration | None:
        return await self._read(lambda connection: _read_orchestration(connection, instance_id))

    async def entity(self, entity_id: EntityId) -> Entity | None:
        return self._read_here(lambda connection: _read_entity(connection, str(entity_id)))

    async def list_orchestrations(
        self, wanted: InstanceFilter, first_id: str, limit: int | None
    ) -> Sequence[Orchestration]:
        query, values = _list_query(wanted, first_id, limit)
        return await self._read_all(query, values, tables.read_orchestration)

    async def list_entities(self, prefix: str, first_id: str, limit: int | None) -> Sequence[Entity]:
        query = f"{_ENTITY} WHERE entity_id >= ? AND substr(entity_id, 1, ?) = ? ORDER BY entity_id LIMIT ?"
        values = (max(first_id, prefix), len(prefix), prefix, -1 if limit is None else limit)
        return await self._read_all(query, values, tables.read_entity)

    async def close(self) -> None:
        """Finish what is being read, then let go; closing twice changes nothing."""
        self._read_thread.shutdown()
        for opened in (self._reader, self._here):
            if opened is not None:
                opened.close()
        self._reader = self._here = None

    async def _read_all(
        self, query: str, values: Sequence[Any], read_row: Callable[[tables.Row], _Found]
    ) -> Sequence[_Found]:
        return await self._read(lambda connection: [read_row(row) for row in connection.execute(query, values)])

    async def _read(self, read: Callable[[sqlite3.Connection], _Found]) -> _Found:
        connection = self._opened(self._reader)
        with self._refused():
            return await asyncio.get_running_loop().run_in_executor(self._read_thread, read, connection)

    def _read_here(self, read: Callable[[sqlite3.Connection], _Found]) -> _Found:
        connection = self._opened(self._here)
        with self._refused():
            return read(connection)

    def _opened(self, connection: sqlite3.Connection | None) -> sqlite3.Connection:
        if connection is None:
            raise RuntimeError("the store is not open")
        return connection

    @contextmanager
    def _refused(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise StoreUnreachableError(f"{self._path} cannot be read now ({error}). Try again.") from error
        except (sqlite3.DatabaseError, ValueError, LookupError, TypeError) as error:
            # What the file holds is no database any more, or no record of ours.
            raise StoreUnreadableError(self._path, type(error).__name__) from error


def reader_beside(folder: Path) -> SqliteReader:
    """Return a reader of the file in `folder`, which hosts may be writing meanwhile; nothing in it is changed.

    Its `open` raises `StoreUnreachableError` when there is no file, `StoreUnreadableError` for none of the engine's,
    `StoreVersionError` for one of another version.
    """
    path = folder / tables.FILE
    return SqliteReader(path, lambda: _connect_beside(path))


def _connect_beside(path: Path) -> sqlite3.Connection:
    if not path.exists():
        raise StoreUnreachableError(f"There is no durable state in {path.parent}: no host has run there since a reset.")
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
    )
    try:
        tables.check(connection, path)
    except sqlite3.OperationalError as error:
        connection.close()
        raise StoreUnreachableError(f"{path} cannot be read now ({error}). Try again.") from error
    except BaseException:
        connection.close()
        raise
    return connection


def _read_arrivals(connection: sqlite3.Connection, after_seq: int) -> Arrivals:
    found = connection.execute(_ARRIVALS, (after_seq,)).fetchall()
    arrivals = (Arrival(Target(TargetKind(kind), target), tables.read_due(due)) for _, kind, target, due in found)
    return Arrivals(max((seq for seq, *_ in found), default=after_seq), tuple(arrivals))


def _read_inbox(connection: sqlite3.Connection, target: Target, now: datetime, limit: int) -> Inbox:
    who, moment = (target.kind.value, target.id), plain_utc(now)
    connection.execute("BEGIN")
    try:
        sent = connection.execute(_SENT, (*who, limit + 1)).fetchall()
        delayed = connection.execute(_DELAYED, (*who, moment, limit + 1)).fetchall()
        (next_due,) = connection.execute(_NEXT_DUE, (*who, moment)).fetchone()
        record = _READ_RECORD[target.kind](connection, target.id)
    finally:
        connection.execute("COMMIT")
    found = merge_by_time([(row[0], row[1:]) for row in sent], [(row[0], row[1:]) for row in delayed])
    messages = tuple(tables.read_message(row) for row in islice(found, limit))
    return Inbox(messages, len(sent) + len(delayed) <= limit, tables.read_due(next_due), record)


def _read_instance(connection: sqlite3.Connection, instance_id: str) -> Orchestration | None:
    row = connection.execute(f"{_INSTANCE} WHERE instance_id = ?", (instance_id,)).fetchone()
    return tables.read_orchestration(row) if row else None


def _read_entity(connection: sqlite3.Connection, entity_id: str) -> Entity | None:
    row = connection.execute(f"{_ENTITY} WHERE entity_id = ?", (entity_id,)).fetchone()
    return tables.read_entity(row) if row else None


_READ_RECORD: Mapping[TargetKind, Callable[[sqlite3.Connection, str], Orchestration | Entity | None]] = {
    TargetKind.ORCHESTRATION: _read_instance,
    TargetKind.ENTITY: _read_entity,
    TargetKind.ACTIVITY: lambda connection, target_id: None,
}


def _read_orchestration(connection: sqlite3.Connection, instance_id: str) -> StoredOrchestration | None:
    # One moment: the history must be the one that the record was committed with.
    connection.execute("BEGIN")
    try:
        instance = _read_instance(connection, instance_id)
        texts = connection.execute(
            "SELECT event FROM history WHERE instance_id = ? ORDER BY position", (instance_id,)
        ).fetchall()
    finally:
        connection.execute("COMMIT")
    if instance is None:
        return None
    return StoredOrchestration(instance, tuple(read_event(json.loads(text)) for (text,) in texts))


def _list_query(wanted: InstanceFilter, first_id: str, limit: int | None) -> tuple[str, list[Any]]:
    conditions = ["instance_id >= ?", "substr(instance_id, 1, ?) = ?"]
    values: list[Any] = [max(first_id, wanted.prefix), len(wanted.prefix), wanted.prefix]
    if wanted.statuses:
        conditions.append(f"status IN ({', '.join('?' * len(wanted.statuses))})")
        values += [status.value for status in wanted.statuses]
    if wanted.created_from is not None:
        conditions.append("created_at >= ?")
        values.append(plain_utc(wanted.created_from))
    if wanted.created_to is not None:
        conditions.append("created_at <= ?")
        values.append(plain_utc(wanted.created_to))
    query = f"{_INSTANCE} WHERE {' AND '.join(conditions)} ORDER BY instance_id LIMIT ?"
    return query, [*values, -1 if limit is None else limit]
