"""The store in one SQLite file: WAL, a writer thread with group commit, a reader thread beside it."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

from devhost.durable.crash import crash_points
from devhost.durable.errors import StoreUnwritableError
from devhost.durable.records import Orchestration, Step, Target, TargetKind
from devhost.durable.store import rows, schema
from devhost.durable.store.lock import FolderLock
from devhost.durable.store.reader import SqliteReader
from devhost.durable.store.writer import Writer

_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    # Safe against a killed process; a power cut may take the last commits, never the file.
    "PRAGMA synchronous = NORMAL",
    "PRAGMA secure_delete = ON",
)
_COLUMNS = rows.ORCHESTRATION_COLUMNS


class SqliteStore(SqliteReader):
    """Keeps everything in `durable.db` in the given folder, which is made if it is not there."""

    def __init__(self, folder: Path, busy_timeout_ms: int = 5000) -> None:
        super().__init__(self._connect_checked)
        self._path = folder / "durable.db"
        self._busy_timeout_ms = busy_timeout_ms
        self._lock = FolderLock(folder)
        self._writer = Writer(self._connect, _apply)

    def open(self) -> None:
        self._lock.take()
        try:
            super().open()
        except sqlite3.OperationalError as error:
            self._lock.release()
            raise StoreUnwritableError(self._path, error) from error
        except BaseException:
            self._lock.release()
            raise
        self._writer.start()

    def commit(self, step: Step) -> asyncio.Future[None]:
        return self._writer.commit(step)

    async def close(self) -> None:
        await asyncio.to_thread(self._writer.close)
        await super().close()
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
        connection.execute(f"PRAGMA busy_timeout = {self._busy_timeout_ms}")
        try:
            schema.upgrade(connection, str(self._path))
        finally:
            connection.close()
        return self._connect()


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
