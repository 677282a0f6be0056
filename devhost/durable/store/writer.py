"""One thread that writes, several steps to a transaction.

A commit costs the same for one step as for fifty, so the thread takes all that queued up while it wrote. Nothing is
reported before it is durable, and what cannot be written now is tried again until it can.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable

from devhost.durable.records import Step

logger = logging.getLogger(__name__)

_MOST_STEPS_AT_ONCE = 200
_SHORTEST_STALL_SECONDS = 0.05
_LONGEST_STALL_SECONDS = 2.0

_Job = tuple[Step, "asyncio.Future[None]"]


class Writer:
    """Applies steps in order through `apply`, on a thread and a connection of its own.

    `connect` is called on the thread; `apply` runs inside the transaction.
    """

    def __init__(
        self, connect: Callable[[], sqlite3.Connection], apply: Callable[[sqlite3.Connection, Step], None]
    ) -> None:
        self._connect = connect
        self._apply = apply
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._write_until_closed, name="durable-writer", daemon=True)
        self._is_closed = False

    def start(self) -> None:
        self._thread.start()

    def commit(self, step: Step) -> asyncio.Future[None]:
        """Queue the step; the future is done, on this loop, once it is durable."""
        self._loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = self._loop.create_future()
        self._jobs.put((step, done))
        return done

    def close(self) -> None:
        """Write what is queued, then end the thread. Blocks; a write that stalls now is given up."""
        if not self._is_closed and self._thread.is_alive():
            self._is_closed = True
            self._jobs.put(None)
            self._thread.join()

    def _write_until_closed(self) -> None:
        connection = self._connect()
        is_last = False
        while not is_last and (job := self._jobs.get()) is not None:
            group, is_last = self._gather(job)
            self._write_group(connection, group)
        connection.close()

    def _gather(self, first: _Job) -> tuple[list[_Job], bool]:
        """Return the first job with those that wait behind it, and whether the end came after them."""
        group = [first]
        while len(group) < _MOST_STEPS_AT_ONCE:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                return group, True
            group.append(job)
        return group, False

    def _write_group(self, connection: sqlite3.Connection, group: list[_Job]) -> None:
        steps = [step for step, _ in group]
        stall_seconds = _SHORTEST_STALL_SECONDS
        while (error := self._try_to_write(connection, steps)) is not None:
            if self._is_closed or not isinstance(error, sqlite3.OperationalError):
                logger.error("%d steps were not written, their work will be done again: %s", len(steps), error)
                break
            logger.warning("Durable work is stalled, the file cannot be written: %s", error)
            time.sleep(stall_seconds)
            stall_seconds = min(2 * stall_seconds, _LONGEST_STALL_SECONDS)
        self._report([done for _, done in group], error)

    def _try_to_write(self, connection: sqlite3.Connection, steps: list[Step]) -> sqlite3.Error | None:
        try:
            self._write(connection, steps)
        except sqlite3.Error as error:
            return error
        return None

    def _write(self, connection: sqlite3.Connection, steps: list[Step]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            for step in steps:
                self._apply(connection, step)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        if any(step.deletes for step in steps):
            # Deleted pages are overwritten, but the write-ahead log still has them as they were.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _report(self, futures: list[asyncio.Future[None]], error: sqlite3.Error | None) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(_settle, futures, error)


def _settle(futures: list[asyncio.Future[None]], error: sqlite3.Error | None) -> None:
    for future in futures:
        if future.cancelled():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
