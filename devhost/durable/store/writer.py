"""One thread that writes, several steps to a transaction.

A commit costs the same for one step as for fifty, so the thread takes all that queued up while it wrote. Each step has
a savepoint of its own: one that cannot be kept fails alone. Nothing is reported before it is durable, and what the file
cannot take now, because its disk is full or another process holds it, is tried again until it can.

What was deleted still stands in the write-ahead log until that is emptied, which a reader of an old moment prevents. So
emptying it is work of its own: tried after the commit, never waited for, and tried again until it succeeded. A process
that is killed before that leaves it to the others, who know nothing of the deletion: whoever has nothing to write for a
while empties the log, whatever it holds.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

from devhost.durable.errors import StaleStepError, StoreUnreachableError
from devhost.durable.records import Step

logger = logging.getLogger(__name__)

_MOST_STEPS_AT_ONCE = 200
_SHORTEST_STALL_SECONDS = 0.05
_LONGEST_STALL_SECONDS = 2.0

_Job = tuple[Step, "asyncio.Future[None]"]
_Outcome = tuple["asyncio.Future[None]", Exception | None]


class Writer:
    """Applies steps in order through `apply`, on a thread of its own; `apply` runs inside the transaction."""

    def __init__(self, path: Path, apply: Callable[[sqlite3.Connection, Step], None]) -> None:
        self._path = path
        self._log = path.with_name(f"{path.name}-wal")
        self._apply = apply
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._is_closing = threading.Event()
        self._end = threading.Lock()  # between the last step that is queued and the end of the queue
        self._has_deleted = True  # a process that was killed may have left deleted texts in the log
        self._pause_seconds = _SHORTEST_STALL_SECONDS

    def start(self, connection: sqlite3.Connection) -> None:
        """Begin to write over this connection, which is the thread's from now on."""
        self._thread = threading.Thread(
            target=self._write_until_closed, args=(connection,), name="durable-writer", daemon=True
        )
        self._thread.start()

    def commit(self, step: Step) -> asyncio.Future[None]:
        """Queue the step; the future is done, on this loop, once it is durable, and fails once the writer is closed."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._end:
            if self._is_closing.is_set():
                done.set_exception(StoreUnreachableError(f"{self._path} is closed: this host stops. Ask another one."))
            else:
                self._jobs.put((step, done))
        return done

    def close(self) -> None:
        """Write what is queued, then end the thread. Blocks; a write that stalls now is given up."""
        if self._thread is None:
            return
        with self._end:
            if not self._is_closing.is_set():
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
                self._has_deleted = self._has_deleted or self._holds_log()
            if self._has_deleted:
                self._empty_log(connection)
        connection.close()

    def _next_group(self) -> tuple[list[_Job], bool]:
        """Return the next job with those that wait behind it, and whether the end came after them.

        There is none when none came for a while.
        """
        group: list[_Job] = []
        while len(group) < _MOST_STEPS_AT_ONCE:
            try:
                job = self._jobs.get_nowait() if group else self._jobs.get(timeout=self._idle_seconds())
            except queue.Empty:
                break
            if job is None:
                return group, True
            group.append(job)
        return group, False

    def _idle_seconds(self) -> float:
        return self._pause_seconds if self._has_deleted else _LONGEST_STALL_SECONDS

    def _holds_log(self) -> bool:
        try:
            return self._log.stat().st_size > 0
        except OSError:
            return False

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
        self._has_deleted = self._has_deleted or any(step.deletes for step in kept)
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

    def _empty_log(self, connection: sqlite3.Connection) -> None:
        """Move the write-ahead log into the file and cut it; while a reader needs it, leave it for a later time."""
        (timeout_ms,) = connection.execute("PRAGMA busy_timeout").fetchone()
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            (is_busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error as error:
            logger.warning("Deleted texts are still in the write-ahead log of %s: %s", self._path, error)
            is_busy = True
        finally:
            connection.execute(f"PRAGMA busy_timeout = {timeout_ms}")
        self._has_deleted = bool(is_busy)
        longer = min(2 * self._pause_seconds, _LONGEST_STALL_SECONDS)
        self._pause_seconds = longer if is_busy else _SHORTEST_STALL_SECONDS


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
