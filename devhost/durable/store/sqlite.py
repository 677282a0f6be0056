"""The store in one SQLite file: WAL, a writer thread with group commit, a reader thread beside it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from devhost.durable.crash import crash_points
from devhost.durable.records import Entity, EntityId, Message, Orchestration, Step, Target, TargetKind
from devhost.durable.store import rows, schema
from devhost.durable.store.contract import InstanceFilter, StoredOrchestration
from devhost.durable.store.lock import FolderLock
from devhost.durable.store.writer import Writer

_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    # Safe against a killed process; a power cut may take the last commits, never the file.
    "PRAGMA synchronous = NORMAL",
    "PRAGMA secure_delete = ON",
)
_COLUMNS = rows.ORCHESTRATION_COLUMNS
_Found = TypeVar("_Found")


class SqliteStore:
    """Keeps everything in `durable.db` in the given folder, which is made if it is not there."""

    def __init__(self, folder: Path, busy_timeout_ms: int = 5000) -> None:
        self._path = folder / "durable.db"
        self._busy_timeout_ms = busy_timeout_ms
        self._lock = FolderLock(folder)
        self._reader: sqlite3.Connection | None = None
        self._read_thread = ThreadPoolExecutor(1, thread_name_prefix="durable-reader")
        self._writer = Writer(self._connect, _apply)

    def open(self) -> None:
        self._lock.take()
        try:
            connection = self._connect_checked()
        except BaseException:
            self._lock.release()
            raise
        self._reader = connection
        self._writer.start()

    def pending(self) -> list[Message]:
        found = self._connection().execute("SELECT seq, kind, target, due, body FROM messages ORDER BY seq")
        return [rows.read_message(row) for row in found]

    def commit(self, step: Step) -> asyncio.Future[None]:
        return self._writer.commit(step)

    async def orchestration(self, instance_id: str) -> StoredOrchestration | None:
        return await self._read(lambda connection: _read_orchestration(connection, instance_id))

    async def entity(self, entity_id: EntityId) -> Entity | None:
        return await self._read(lambda connection: _read_entity(connection, entity_id))

    async def list_orchestrations(
        self, wanted: InstanceFilter, first_id: str, limit: int | None
    ) -> Sequence[Orchestration]:
        query, values = _list_query(wanted, first_id, limit)
        found = await self._read(lambda connection: connection.execute(query, values).fetchall())
        return [rows.read_orchestration(row) for row in found]

    async def list_entities(self, prefix: str, first_id: str, limit: int | None) -> Sequence[Entity]:
        query = (
            "SELECT entity_id, is_there, state, updated_at FROM entities "
            "WHERE entity_id >= ? AND substr(entity_id, 1, ?) = ? ORDER BY entity_id LIMIT ?"
        )
        values = (max(first_id, prefix), len(prefix), prefix, -1 if limit is None else limit)
        found = await self._read(lambda connection: connection.execute(query, values).fetchall())
        return [rows.read_entity(row) for row in found]

    async def close(self) -> None:
        await asyncio.to_thread(self._writer.close)
        self._read_thread.shutdown()
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        self._lock.release()

    def _connect(self) -> sqlite3.Connection:
        # The reader is opened on the caller's thread and used on its own, by one thread at a time.
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        connection.execute(f"PRAGMA busy_timeout = {self._busy_timeout_ms}")
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        return connection

    def _connect_checked(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None)
        try:
            schema.upgrade(connection, str(self._path))
        finally:
            connection.close()
        return self._connect()

    def _connection(self) -> sqlite3.Connection:
        if self._reader is None:
            raise RuntimeError("the store is not open")
        return self._reader

    async def _read(self, read: Callable[[sqlite3.Connection], _Found]) -> _Found:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._read_thread, read, self._connection())


def _apply(connection: sqlite3.Connection, step: Step) -> None:
    crash_points.reached("inside-commit")
    connection.executemany("DELETE FROM messages WHERE seq = ?", [(seq,) for seq in step.consumed])
    if step.silenced is not None:
        _drop_messages(connection, step.silenced)
    for target in step.forgotten:
        _forget(connection, target)
    if step.entity is not None:
        connection.execute("REPLACE INTO entities VALUES (?, ?, ?, ?)", rows.write_entity(step.entity))
    if step.orchestration is not None:
        _write_orchestration(connection, step, step.orchestration)
    connection.executemany(
        "INSERT INTO messages VALUES (?, ?, ?, ?, ?)", [rows.write_message(message) for message in step.produced]
    )


def _write_orchestration(connection: sqlite3.Connection, step: Step, instance: Orchestration) -> None:
    instance_id = instance.instance_id
    connection.execute(
        f"REPLACE INTO orchestrations ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows.write_orchestration(instance),
    )
    if step.history.is_new:
        connection.execute("DELETE FROM history WHERE instance_id = ?", (instance_id,))
    last = "SELECT coalesce(max(position) + 1, 0) FROM history WHERE instance_id = ?"
    (length,) = connection.execute(last, (instance_id,)).fetchone()
    texts = [rows.write_history_event(event) for event in step.history.events]
    connection.executemany(
        "INSERT INTO history VALUES (?, ?, ?)", [(instance_id, length + at, text) for at, text in enumerate(texts)]
    )


def _drop_messages(connection: sqlite3.Connection, target: Target) -> None:
    connection.execute("DELETE FROM messages WHERE kind = ? AND target = ?", (target.kind.value, target.id))


def _forget(connection: sqlite3.Connection, target: Target) -> None:
    _drop_messages(connection, target)
    if target.kind is TargetKind.ENTITY:
        connection.execute("DELETE FROM entities WHERE entity_id = ?", (target.id,))
    else:
        connection.execute("DELETE FROM orchestrations WHERE instance_id = ?", (target.id,))
        connection.execute("DELETE FROM history WHERE instance_id = ?", (target.id,))


def _read_orchestration(connection: sqlite3.Connection, instance_id: str) -> StoredOrchestration | None:
    # One transaction: the history must be the one that the record was committed with.
    connection.execute("BEGIN")
    try:
        row = connection.execute(
            f"SELECT {_COLUMNS} FROM orchestrations WHERE instance_id = ?", (instance_id,)
        ).fetchone()
        texts = connection.execute(
            "SELECT event FROM history WHERE instance_id = ? ORDER BY position", (instance_id,)
        ).fetchall()
    finally:
        connection.execute("COMMIT")
    if row is None:
        return None
    return StoredOrchestration(rows.read_orchestration(row), tuple(rows.read_history_event(text) for (text,) in texts))


def _read_entity(connection: sqlite3.Connection, entity_id: EntityId) -> Entity | None:
    row = connection.execute(
        "SELECT entity_id, is_there, state, updated_at FROM entities WHERE entity_id = ?", (str(entity_id),)
    ).fetchone()
    return rows.read_entity(row) if row else None


def _list_query(wanted: InstanceFilter, first_id: str, limit: int | None) -> tuple[str, list[Any]]:
    conditions = ["instance_id >= ?", "substr(instance_id, 1, ?) = ?"]
    values: list[Any] = [max(first_id, wanted.prefix), len(wanted.prefix), wanted.prefix]
    if wanted.statuses:
        conditions.append(f"status IN ({', '.join('?' * len(wanted.statuses))})")
        values += [status.value for status in wanted.statuses]
    if wanted.created_from is not None:
        conditions.append("created_at >= ?")
        values.append(rows.write_time(wanted.created_from))
    if wanted.created_to is not None:
        conditions.append("created_at <= ?")
        values.append(rows.write_time(wanted.created_to))
    query = f"SELECT {_COLUMNS} FROM orchestrations WHERE {' AND '.join(conditions)} ORDER BY instance_id LIMIT ?"
    return query, [*values, -1 if limit is None else limit]
