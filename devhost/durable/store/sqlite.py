"""The store in one SQLite file: WAL, a writer thread with group commit, a reader thread beside it.

Several processes may have the file open and write it, in turn: it stands for the storage account of an app.
"""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

from devhost.durable.crash import crash_points
from devhost.durable.errors import StaleStepError, StoreUnreadableError, StoreUnwritableError
from devhost.durable.records import Orchestration, Read, Step, Target, TargetKind
from devhost.durable.store import rows, schema
from devhost.durable.store.reader import SqliteReader
from devhost.durable.store.writer import Writer

FILE = "durable.db"
_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    # Safe against a killed process; a power cut may take the last commits, never the file.
    "PRAGMA synchronous = NORMAL",
    "PRAGMA secure_delete = ON",
)
_INSERT_MESSAGE = (
    "INSERT INTO messages (kind, target, execution_id, is_asked, sent, due, body) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_THE_RECORDS = "SELECT execution_id FROM orchestrations WHERE instance_id = messages.target"
# The starts of other executions than the record's, and calls: their senders wait for what becomes of them.
_STILL_ASKED = {
    TargetKind.ENTITY: "is_asked",
    TargetKind.ORCHESTRATION: f"is_asked AND execution_id IS NOT ({_THE_RECORDS})",
}
_ETAG_OF = {
    TargetKind.ENTITY: "SELECT etag FROM entities WHERE entity_id = ?",
    TargetKind.ORCHESTRATION: "SELECT etag FROM orchestrations WHERE instance_id = ?",
}


class SqliteStore(SqliteReader):
    """Keeps everything in `durable.db` in the given folder, which is made if it is not there."""

    def __init__(self, folder: Path, busy_timeout_ms: int = 5000) -> None:
        super().__init__(folder / FILE, self._connect_checked)
        self._busy_timeout_ms = busy_timeout_ms
        self._writer = Writer(self._path, _apply)

    def open(self) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            super().open()
            self._writer.start(self._connect())
        except OSError as error:
            raise StoreUnwritableError(self._path.parent, error.strerror or error) from error
        except sqlite3.OperationalError as error:
            raise StoreUnwritableError(self._path, error) from error
        except sqlite3.DatabaseError as error:
            raise StoreUnreadableError(self._path, error) from error

    def commit(self, step: Step) -> asyncio.Future[None]:
        return self._writer.commit(step)

    async def close(self) -> None:
        await asyncio.to_thread(self._writer.close)
        await super().close()

    def _connect(self) -> sqlite3.Connection:
        # Opened on the caller's thread and used on another, by one thread at a time.
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        connection.execute(f"PRAGMA busy_timeout = {self._busy_timeout_ms}")
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        return connection

    def _connect_checked(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None)
        connection.execute(f"PRAGMA busy_timeout = {self._busy_timeout_ms}")
        try:
            schema.upgrade(connection, self._path)
        finally:
            connection.close()
        return self._connect()


def _apply(connection: sqlite3.Connection, step: Step) -> None:
    """Make the step's changes; raises `StaleStepError` when what it was decided on is no longer so."""
    crash_points.reached("inside-commit")
    if step.read is not None:
        _compare(connection, step.read)
    for seq in step.consumed:
        if connection.execute("DELETE FROM messages WHERE seq = ?", (seq,)).rowcount != 1:
            raise StaleStepError(f"message #{seq} waits no longer")
    if step.silenced is not None:
        _drop_messages(connection, step.silenced)
    if step.superseded is not None:
        connection.execute(
            "DELETE FROM messages WHERE kind = ? AND target = ? AND execution_id = ?",
            (step.superseded.target.kind.value, step.superseded.target.id, step.superseded.execution_id),
        )
    for target in step.forgotten:
        _forget(connection, target)
    if step.entity is not None:
        values = rows.write_entity(step.entity, step.etag)
        connection.execute(f"REPLACE INTO entities ({rows.ENTITY_COLUMNS}) VALUES (?, ?, ?, ?, ?)", values)
    if step.orchestration is not None:
        _write_orchestration(connection, step, step.orchestration)
    connection.executemany(_INSERT_MESSAGE, [rows.write_message(message, step.at) for message in step.produced])


def _compare(connection: sqlite3.Connection, read: Read) -> None:
    found = connection.execute(_ETAG_OF[read.target.kind], (read.target.id,)).fetchone()
    if (found[0] if found else None) != read.etag:
        raise StaleStepError(f"{read.target.id} was changed meanwhile")


def _write_orchestration(connection: sqlite3.Connection, step: Step, instance: Orchestration) -> None:
    instance_id = instance.instance_id
    connection.execute(
        f"REPLACE INTO orchestrations ({rows.ORCHESTRATION_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows.write_orchestration(instance, step.etag),
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
    connection.execute(
        f"DELETE FROM messages WHERE kind = ? AND target = ? AND NOT ({_STILL_ASKED[target.kind]})",
        (target.kind.value, target.id),
    )


def _forget(connection: sqlite3.Connection, target: Target) -> None:
    _drop_messages(connection, target)
    if target.kind is TargetKind.ENTITY:
        connection.execute("DELETE FROM entities WHERE entity_id = ?", (target.id,))
    else:
        connection.execute("DELETE FROM orchestrations WHERE instance_id = ?", (target.id,))
        connection.execute("DELETE FROM history WHERE instance_id = ?", (target.id,))
