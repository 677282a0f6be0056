"""Reading the SQLite file, from a thread of its own; also while another process writes it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from devhost.durable.errors import StoreUnreadableError
from devhost.durable.records import Entity, EntityId, Message, Orchestration, Target
from devhost.durable.store import rows, schema
from devhost.durable.store.contract import InstanceFilter, StoredOrchestration

_COLUMNS = rows.ORCHESTRATION_COLUMNS
_MESSAGES = "SELECT seq, kind, target, due, body FROM messages"
_Found = TypeVar("_Found")


class SqliteReader:
    """What a file holds: the reading half of a store."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        """`connect` opens the file for one user at a time, on whatever thread it is (`check_same_thread=False`)."""
        self._connect_reader = connect
        self._reader: sqlite3.Connection | None = None
        self._read_thread = ThreadPoolExecutor(1, thread_name_prefix="durable-reader")

    def open(self) -> None:
        """Open the connection; raises what `connect` raises."""
        self._reader = self._connect_reader()

    def pending(self) -> list[Message]:
        # On the caller's thread: asked once, before any other read.
        return [rows.read_message(row) for row in self._connection().execute(f"{_MESSAGES} ORDER BY seq")]

    async def messages(self, target: Target | None, limit: int) -> Sequence[Message]:
        where, values = (
            ("", ()) if target is None else ("WHERE kind = ? AND target = ?", (target.kind.value, target.id))
        )
        query = f"{_MESSAGES} {where} ORDER BY seq LIMIT ?"
        found = await self._read(lambda connection: connection.execute(query, (*values, limit)).fetchall())
        return [rows.read_message(row) for row in found]

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
        """Finish what is being read, then let go; closing twice changes nothing."""
        self._read_thread.shutdown()
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _connection(self) -> sqlite3.Connection:
        if self._reader is None:
            raise RuntimeError("the store is not open")
        return self._reader

    async def _read(self, read: Callable[[sqlite3.Connection], _Found]) -> _Found:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._read_thread, read, self._connection())


def reader_beside(folder: Path) -> SqliteReader:
    """Return a reader of the file in `folder`, which a host may be writing meanwhile; nothing in it is changed.

    Its `open` raises `StoreUnreadableError` when there is no file or none of the engine's, `StoreVersionError` for one
    of another version.
    """
    return SqliteReader(lambda: _connect_beside(folder / "durable.db"))


def _connect_beside(path: Path) -> sqlite3.Connection:
    if not path.exists():
        raise StoreUnreadableError(f"There is no durable state in {path.parent}: no host has run there since a reset.")
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
    )
    try:
        schema.check(connection, str(path))
    except sqlite3.OperationalError as error:
        connection.close()
        raise StoreUnreadableError(f"{path} cannot be read now ({error}). Try again.") from error
    except BaseException:
        connection.close()
        raise
    return connection


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
