"""The run log in one SQLite file: the default on one machine, for any number of processes.

Theory. SQLite is the lock between processes: WAL, BEGIN IMMEDIATE and a busy time-out. Inside a process one thread owns
the connection and takes whatever is queued as one transaction (group commit), so that a burst of runs costs one commit
and never the event loop. `synchronous=NORMAL` loses nothing when a process is killed; FULL is a setting for power cuts.
Source: turn.md, Records 12.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from hosting.errors import ConfigurationError, RunLogUnavailableError
from hosting.events import Accepted, Event, decode, encode
from hosting.ports import Found, Opened
from hosting.run_record import RunRecord, fold
from hosting.runlog.writer import WriterThread

SCHEMA_VERSION = 1
BUSY_SECONDS = 30.0
_WAL_RETRY_SECONDS = 0.01
_SCHEMA = """
CREATE TABLE event (run_id TEXT NOT NULL, position INTEGER NOT NULL, body BLOB NOT NULL,
                    PRIMARY KEY (run_id, position)) WITHOUT ROWID;
CREATE TABLE receipt (receipt TEXT NOT NULL PRIMARY KEY, run_id TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
"""
_INSERT = "INSERT INTO event (run_id, position, body) VALUES (?, ?, ?)"
_APPEND = (
    "INSERT INTO event (run_id, position, body) "
    "SELECT ?1, ?2 + 1, ?3 WHERE (SELECT max(position) FROM event WHERE run_id = ?1) = ?2"
)
_READ = "SELECT body FROM event WHERE run_id = ? ORDER BY position"

T = TypeVar("T")


class SqliteStore:
    """A `RunLogStore` in the file at `path`; the file and its folder are made at the first use."""

    def __init__(self, path: Path, synchronous: str = "NORMAL", busy_seconds: float = BUSY_SECONDS) -> None:
        self._writer = WriterThread(lambda: connect(path, synchronous, busy_seconds), name="run-log")

    async def open(self, accepted: Accepted, receipt: str | None = None) -> Opened | Found:
        """See `RunLogStore.open`: receipt and first event in one transaction."""
        body = encode(accepted)
        return await self._do(lambda connection: _open(connection, accepted, body, receipt))

    async def append(self, run_id: str, event: Event, after: int) -> bool:
        """See `RunLogStore.append`: one conditional INSERT."""
        body = encode(event)
        return await self._do(lambda connection: connection.execute(_APPEND, (run_id, after, body)).rowcount == 1)

    async def read(self, run_id: str) -> RunRecord | None:
        """See `RunLogStore.read`."""
        return await self._do(lambda connection: _read(connection, run_id))

    async def close(self) -> None:
        """See `RunLogStore.close`."""
        await self._writer.close()

    async def _do(self, step: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return await self._writer.submit(step)
        except (sqlite3.Error, OSError, ConfigurationError) as error:
            raise RunLogUnavailableError(
                "The run log cannot be reached. Try again; what was started goes on."
            ) from error


def refuse_newer(path: Path) -> None:
    """Raise `ConfigurationError` when the file at `path` was written by a newer version; a file that is not there, or
    cannot be read now, is found at the first use."""
    if not path.is_file():
        return
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=0)
    except sqlite3.Error:
        return
    with contextlib.closing(connection), contextlib.suppress(sqlite3.Error):
        _refuse_version(connection.execute("PRAGMA user_version").fetchone()[0], path)


def connect(path: Path, synchronous: str, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Return a connection to the run log at `path`, making it or refusing one that a newer version wrote."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
    try:
        _use_wal(connection, busy_seconds)
        connection.execute(f"PRAGMA synchronous={synchronous}")
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute("BEGIN IMMEDIATE")
        _make_or_refuse(connection, path)
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


def _use_wal(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Two processes that make the file at once meet here, and SQLite's busy time-out does not cover this switch."""
    end = time.monotonic() + busy_seconds
    while not _switched_to_wal(connection) and time.monotonic() < end:
        time.sleep(_WAL_RETRY_SECONDS)


def _switched_to_wal(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("PRAGMA journal_mode=WAL")
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise
        return False
    return True


def _make_or_refuse(connection: sqlite3.Connection, path: Path) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    _refuse_version(version, path)
    if version == 0:
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")


def _refuse_version(version: int, path: Path) -> None:
    if version > SCHEMA_VERSION:
        raise ConfigurationError(
            f"The run log {path} has version {version}; this app reads up to {SCHEMA_VERSION}. "
            "Run the version that wrote it, or set AGENT_RUN_LOG to another file."
        )


def _open(connection: sqlite3.Connection, accepted: Accepted, body: bytes, receipt: str | None) -> Opened | Found:
    run_id = accepted.run_id
    if receipt is not None:
        row = connection.execute("SELECT run_id FROM receipt WHERE receipt = ?", (receipt,)).fetchone()
        run_id = row[0] if row else run_id
    existing = _read(connection, run_id)
    if existing is not None:
        return Found(existing)
    connection.execute(_INSERT, (run_id, 1, body))
    if receipt is not None:
        connection.execute("INSERT OR REPLACE INTO receipt VALUES (?, ?, ?)", (receipt, run_id, accepted.at))
    return Opened(RunRecord(accepted=accepted, signalled_at=accepted.at))


def _read(connection: sqlite3.Connection, run_id: str) -> RunRecord | None:
    return fold(decode(row[0]) for row in connection.execute(_READ, (run_id,)))
