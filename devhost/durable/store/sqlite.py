"""The store in one SQLite file: WAL, group commit, reads beside it (`reader`).

Several processes may have the file open and write it, in turn: it stands for the storage account of an app.

A commit costs the same for one step as for fifty, so all that was given at once is one. The event loop commits, since
that takes less time than waking a thread; what the file cannot take now, because its disk is full or another process
holds it, a thread tries again until it can, and meanwhile takes all that comes, to keep the order. Each step has a
savepoint of its own: one that cannot be kept fails alone. Nothing is reported before it is durable.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

from devhost.durable.crash import crash_points
from devhost.durable.events import write_event
from devhost.durable.records import Orchestration, Read, Step, Target, TargetKind
from devhost.durable.store import tables
from devhost.durable.store.erasing import OWE, Eraser
from devhost.durable.store.reader import SqliteReader
from devhost.durable.texts import compact
from devhost.errors import (
    StaleStepError,
    StoreRemovedError,
    StoreUnreachableError,
    StoreUnreadableError,
    StoreUnwritableError,
)
from devhost.own_files import close_file_to_others, make_own_file, make_own_folder

logger = logging.getLogger(__name__)

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
_MOST_STEPS_AT_ONCE = 200
_SHORTEST_STALL_SECONDS = 0.05
_LONGEST_STALL_SECONDS = 2.0

_Job = tuple[Step, "asyncio.Future[None]"]
_Outcome = tuple["asyncio.Future[None]", Exception | None]


class SqliteStore(SqliteReader):
    """Keeps everything in `durable.db` in the given folder, which is made if it is not there."""

    def __init__(self, folder: Path, busy_timeout_ms: int = 5000) -> None:
        super().__init__(folder / tables.FILE, self._connect_checked)
        self._busy_timeout_ms = busy_timeout_ms
        self._writer = Writer(self._path, _apply)
        self._identity: tuple[int, int] | None = None

    def open(self) -> None:
        try:
            make_own_folder(self._path.parent)
            make_own_file(self._path)
            self._identity = _identity_of(self._path)
            for suffix in ("-wal", "-shm"):  # new ones take the mode of their file
                close_file_to_others(self._path.with_name(tables.FILE + suffix))
            super().open()
            self._writer.start(self._connect(), self._opened(self._here))
        except OSError as error:
            raise StoreUnwritableError(self._path.parent, error.strerror or error) from error
        except sqlite3.OperationalError as error:
            raise StoreUnwritableError(self._path, error) from error
        except sqlite3.DatabaseError as error:
            raise StoreUnreadableError(self._path, error) from error

    def commit(self, step: Step) -> asyncio.Future[None]:
        if _identity_of(self._path) != self._identity:
            refused: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            refused.set_exception(StoreRemovedError(self._path))
            return refused
        return self._writer.commit(step)

    def _opened(self, connection: sqlite3.Connection | None) -> sqlite3.Connection:
        # An open file outlives its name: reads and writes would go on, and be lost.
        if _identity_of(self._path) != self._identity:
            raise StoreRemovedError(self._path)
        return super()._opened(connection)

    async def close(self) -> None:
        self._writer.commit_waiting()
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
            tables.upgrade(connection, self._path)
        finally:
            connection.close()
        return self._connect()


def _identity_of(path: Path) -> tuple[int, int] | None:
    """Return what distinguishes the file from another one of its name; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


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
        _forget(connection, target, spares_messages=step.spares_messages)
    if step.deletes:
        connection.execute(OWE)
    if step.entity is not None:
        values = tables.write_entity(step.entity, step.etag)
        connection.execute(f"REPLACE INTO entities ({tables.ENTITY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", values)
    if step.orchestration is not None:
        _write_orchestration(connection, step, step.orchestration)
    connection.executemany(_INSERT_MESSAGE, [tables.write_message(message, step.at) for message in step.produced])


def _compare(connection: sqlite3.Connection, read: Read) -> None:
    found = connection.execute(_ETAG_OF[read.target.kind], (read.target.id,)).fetchone()
    if (found[0] if found else None) != read.etag:
        raise StaleStepError(f"{read.target.id} was changed meanwhile")


def _write_orchestration(connection: sqlite3.Connection, step: Step, instance: Orchestration) -> None:
    instance_id = instance.instance_id
    connection.execute(
        f"REPLACE INTO orchestrations ({tables.ORCHESTRATION_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        tables.write_orchestration(instance, step.etag),
    )
    if step.history.is_new:
        connection.execute("DELETE FROM history WHERE instance_id = ?", (instance_id,))
    last = "SELECT coalesce(max(position) + 1, 0) FROM history WHERE instance_id = ?"
    (length,) = connection.execute(last, (instance_id,)).fetchone()
    texts = [compact(write_event(event)) for event in step.history.events]
    connection.executemany(
        "INSERT INTO history VALUES (?, ?, ?)", [(instance_id, length + at, text) for at, text in enumerate(texts)]
    )


def _drop_messages(connection: sqlite3.Connection, target: Target) -> None:
    connection.execute(
        f"DELETE FROM messages WHERE kind = ? AND target = ? AND NOT ({_STILL_ASKED[target.kind]})",
        (target.kind.value, target.id),
    )


def _forget(connection: sqlite3.Connection, target: Target, *, spares_messages: bool) -> None:
    if not spares_messages:
        _drop_messages(connection, target)
    if target.kind is TargetKind.ENTITY:
        connection.execute("DELETE FROM entities WHERE entity_id = ?", (target.id,))
    else:
        connection.execute("DELETE FROM orchestrations WHERE instance_id = ?", (target.id,))
        connection.execute("DELETE FROM history WHERE instance_id = ?", (target.id,))


class Writer:
    """Applies steps in order through `apply`, on the loop or on its thread; `apply` runs inside the transaction."""

    def __init__(self, path: Path, apply: Callable[[sqlite3.Connection, Step], None]) -> None:
        self._path = path
        self._apply = apply
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._here: sqlite3.Connection | None = None
        self._waiting: list[_Job] = []
        self._handed_over = 0
        self._is_closing = threading.Event()
        self._end = threading.Lock()  # between the last step that is queued and the end of the queue
        self._eraser = Eraser(path)

    def start(self, connection: sqlite3.Connection, here: sqlite3.Connection) -> None:
        """Begin to write over the connection, which is the thread's from now on, and over `here`, which is the loop's.

        The loop's waits for nobody, and leaves it to the thread to move the write-ahead log into the file.
        """
        here.execute("PRAGMA busy_timeout = 0")
        here.execute("PRAGMA wal_autocheckpoint = 0")
        self._here = here
        self._thread = threading.Thread(
            target=self._write_until_closed, args=(connection,), name="durable-writer", daemon=True
        )
        self._thread.start()

    def commit(self, step: Step) -> asyncio.Future[None]:
        """Take the step; the future is done, on this loop, once it is durable, and fails once the writer is closed."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self.commit_waiting)
        self._waiting.append((step, done))
        return done

    def commit_waiting(self) -> None:
        """Commit what was given since the last time, or hand it over to the thread."""
        group, self._waiting = self._waiting, []
        if not group:
            return
        if self._here is None or self._handed_over or any(step.deletes for step, _ in group):
            self._hand_over(group)
            return
        try:
            outcomes = self._write(self._here, group)
        except Exception:  # the thread says what it is
            self._hand_over(group)
        else:
            _settle(outcomes)

    def _hand_over(self, group: list[_Job]) -> None:
        with self._end:
            if self._is_closing.is_set():
                closed = StoreUnreachableError(f"{self._path} is closed: this host stops. Ask another one.")
                _settle([(done, closed) for _, done in group])
                return
            for job in group:
                self._handed_over += 1
                job[1].add_done_callback(self._has_come_back)
                self._jobs.put(job)

    def _has_come_back(self, done: asyncio.Future[None]) -> None:
        self._handed_over -= 1

    def close(self) -> None:
        """Write what is queued, then end the thread. Blocks; a write that stalls now is given up."""
        if self._thread is None:
            return
        with self._end:
            if not self._is_closing.is_set():
                self._here = None
                self._is_closing.set()
                self._jobs.put(None)
        self._thread.join()

    def _write_until_closed(self, connection: sqlite3.Connection) -> None:
        is_last = False
        while not is_last:
            group, is_last = self._next_group()
            if group:
                _report(self._write_group(connection, group))
            elif not is_last:
                self._eraser.look()
            self._eraser.erase(connection, is_last=is_last)
        connection.close()

    def _next_group(self) -> tuple[list[_Job], bool]:
        """Return the next job with those that wait behind it, and whether the end came after them.

        There is none when none came for a while.
        """
        group: list[_Job] = []
        idle_seconds = self._eraser.seconds_to_wait()
        while len(group) < _MOST_STEPS_AT_ONCE:
            try:
                job = self._jobs.get_nowait() if group else self._jobs.get(timeout=idle_seconds)
            except queue.Empty:
                break
            if job is None:
                return group, True
            group.append(job)
        return group, False

    def _write_group(self, connection: sqlite3.Connection, group: list[_Job]) -> list[_Outcome]:
        stall_seconds = _SHORTEST_STALL_SECONDS
        while True:
            try:
                return self._write(connection, group)
            except Exception as error:
                if self._is_closing.is_set() or not isinstance(error, sqlite3.OperationalError):
                    logger.error("%d steps were not written, their work is done again: %s", len(group), error)
                    return [(done, error) for _, done in group]
                logger.warning("Durable work is stalled, %s cannot be written: %s", self._path, error)
            self._is_closing.wait(stall_seconds)
            stall_seconds = min(2 * stall_seconds, _LONGEST_STALL_SECONDS)

    def _write(self, connection: sqlite3.Connection, group: list[_Job]) -> list[_Outcome]:
        """Return what became of each step, once that is durable; raises what the file as a whole refuses."""
        connection.execute("BEGIN IMMEDIATE")
        try:
            outcomes = [(done, self._apply_alone(connection, step)) for step, done in group]
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        kept = [step for (step, _), (_, error) in zip(group, outcomes, strict=True) if error is None]
        if any(step.deletes for step in kept):
            self._eraser.is_due = True
        return outcomes

    def _apply_alone(self, connection: sqlite3.Connection, step: Step) -> Exception | None:
        """Return why the step cannot be kept, None when it was applied."""
        connection.execute("SAVEPOINT step")
        try:
            self._apply(connection, step)
        except sqlite3.OperationalError:
            raise
        except Exception as error:
            connection.execute("ROLLBACK TO step")
            connection.execute("RELEASE step")
            if not isinstance(error, StaleStepError):
                logger.error("A step cannot be kept in %s: %s", self._path, type(error).__name__)
            return error
        connection.execute("RELEASE step")
        return None


def _report(outcomes: list[_Outcome]) -> None:
    loop = outcomes[0][0].get_loop()
    if not loop.is_closed():
        loop.call_soon_threadsafe(_settle, outcomes)


def _settle(outcomes: list[_Outcome]) -> None:
    for future, error in outcomes:
        if future.cancelled():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
