"""A store's SQLite file in one process: steps that were given together are committed together.

Theory. A commit of some pages takes less time than waking a thread and being woken by it. So small steps are committed
on the event loop itself, over a connection that never waits. Whatever is in its way, another process or a long step of
this one, is left to a thread, which waits on a connection of its own. SQLite is the lock between the two. The thread
also moves the write-ahead log into the file, since that waits for the disk; so where every commit waits for the disk
(`synchronous` above NORMAL) the thread takes all steps.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from hosting.core.stores.connection import Outage
from hosting.core.stores.sqlite_file import BUSY_SECONDS, IS_RECLAIM_DUE, LEAST_RECLAIMED_BYTES, FileKind, reclaim
from hosting.errors import ConfigurationError, StoreUnavailableError

logger = logging.getLogger(__name__)

T = TypeVar("T")
_Job = tuple[Callable[[sqlite3.Connection], Any], "asyncio.Future[Any]", asyncio.AbstractEventLoop]
_Jobs = queue.SimpleQueue["_Job | None"]
_BATCH = 256
_COMMITS_HERE = 100
"""After so many commits of the loop one is the thread's, which finds the write-ahead log long enough to move it."""


class StoreFile:
    """The file at `path`, made with its folder at the first step; any number of processes may use it at once.

    Steps that are given at once are one transaction. A step's result is returned after its commit. When the database
    raises, the transaction is rolled back and every step of it fails, so no caller gets a result of a write that is not
    there. A step that raises by itself fails alone: the others are taken again, each in a transaction of its own.

    Every verb raises `unavailable` when the file cannot be opened, read or written, when another process holds it for
    longer than `busy_seconds`, and when it was removed or replaced since it was opened: a write into a file without a
    name is lost, and a new file would hide that.
    """

    def __init__(
        self,
        kind: FileKind,
        path: Path,
        unavailable: type[StoreUnavailableError],
        synchronous: str = "NORMAL",
        busy_seconds: float = BUSY_SECONDS,
        *,
        reclaimed_bytes: int = LEAST_RECLAIMED_BYTES,
    ) -> None:
        self._kind = kind
        self._path = path
        self._unavailable = unavailable
        self._synchronous = synchronous
        self._busy_seconds = busy_seconds
        self._reclaimed_bytes = reclaimed_bytes
        self._outage = Outage(f"The {kind.name} {path}", unavailable, sqlite3.Error, OSError, ConfigurationError)
        self._opened: tuple[int, int] | None = None
        self._on_loop = synchronous == "NORMAL"
        self._changing = threading.Lock()
        self._jobs: _Jobs | None = None
        self._thread: threading.Thread | None = None
        self._home: asyncio.AbstractEventLoop | None = None
        self._here: sqlite3.Connection | None = None
        self._waiting: list[_Job] = []
        self._commits_here = 0

    async def do(self, step: Callable[[sqlite3.Connection], T], *, is_small: bool = False) -> T:
        """Return the step's result, once it is committed; a small step touches some pages."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        job = (step, future, loop)
        if is_small and self._is_home(loop):
            if not self._waiting:
                loop.call_soon(self._commit_here)
            self._waiting.append(job)
        else:
            self._hand_over([job])
        with self._outage.guarded():
            result: T = await future
        return result

    async def read(self, step: Callable[[sqlite3.Connection], T]) -> T:
        """Return the result of one SELECT, on the loop if it can read without waiting for writers."""
        if self._is_home(asyncio.get_running_loop()):
            await asyncio.sleep(0)  # a reader that polls lets others come in between
            if (here := self._here) is not None:
                with self._outage.guarded():
                    try:
                        result = step(here)
                        self._refuse_removed()
                    except sqlite3.OperationalError:
                        return await self.do(step)
                    return result
        return await self.do(step)

    async def drop_and_shrink(self, step: Callable[[sqlite3.Connection], T]) -> T:
        """Take a step that empties payloads, and now and then free the space of all such steps."""

        def emptied(connection: sqlite3.Connection) -> tuple[T, bool]:
            return step(connection), connection.execute(IS_RECLAIM_DUE, (self._reclaimed_bytes,)).fetchone()[0]

        done, is_due = await self.do(emptied)
        if is_due:
            await asyncio.to_thread(reclaim, self._path, self._busy_seconds)
        return done

    async def erase(self, step: Callable[[sqlite3.Connection], T]) -> T:
        """Take a step that empties payloads, and leave their content in no file.

        Raises as the other verbs do also where a reader kept the write-ahead log from being emptied: the step is taken
        by then, and the bytes go with the next call, which must be made though its step finds nothing.
        """
        done = await self.drop_and_shrink(step)
        await self.scrub()
        return done

    async def scrub(self) -> None:
        """Leave the content of emptied or replaced payloads in no file; raises as `erase` does."""
        await self.do(lambda connection: None)  # opens the file, or finds that it was replaced
        with self._outage.guarded():
            is_removed = await asyncio.to_thread(self._kind.forget_overwritten, self._path, self._busy_seconds)
        if not is_removed:
            logger.warning("The %s is in use. The next commits overwrite deleted data.", self._kind.name)
            raise self._unavailable()

    async def try_to_scrub(self) -> None:
        """Do the same if no other transaction is in the way now."""
        with suppress(sqlite3.Error):
            await asyncio.to_thread(self._kind.forget_overwritten, self._path, 0.0)

    async def close(self) -> None:
        """Finish the queue, close the connections and end the thread; the next step opens them again."""
        with self._changing:
            jobs, thread = self._jobs, self._thread
            self._jobs = self._thread = self._here = None
        if jobs is not None and thread is not None:
            jobs.put(None)
            await asyncio.get_running_loop().run_in_executor(None, thread.join)

    def _is_home(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Return whether this is the only loop that commits: the first, or the next once that is closed."""
        if not self._on_loop:
            return False
        with self._changing:
            if self._home is None or self._home.is_closed():
                self._home, self._waiting = loop, []
            return self._home is loop

    def _commit_here(self) -> None:
        batch, self._waiting = self._waiting, []
        self._commits_here += 1
        connection = self._here
        if connection is None or self._commits_here % _COMMITS_HERE == 0:
            self._hand_over(batch)
            return
        try:
            try:
                outcomes = _commit(connection, batch)
            except Exception as error:
                if isinstance(error, sqlite3.Error) and "locked" not in str(error):
                    raise
                self._hand_over(batch)  # nothing of it was kept
                return
            self._refuse_removed()
        except Exception as error:
            outcomes = [error] * len(batch)
        _resolve([(future, outcome) for (_, future, _), outcome in zip(batch, outcomes, strict=True)])

    def _hand_over(self, batch: list[_Job]) -> None:
        """Give the steps to the thread; each thread has a queue of its own, so a closing one takes no late step."""
        with self._changing:
            if self._jobs is None:
                self._jobs = queue.SimpleQueue()
                self._thread = threading.Thread(
                    target=self._serve, args=(self._jobs,), name=self._kind.name, daemon=True
                )
                self._thread.start()
            for job in batch:
                self._jobs.put(job)

    def _serve(self, jobs: _Jobs) -> None:
        connection: sqlite3.Connection | None = None
        here: sqlite3.Connection | None = None
        while (batch := _take(jobs)) is not None:
            try:
                connection = connection or self._connect()
                outcomes = _commit_each(connection, batch)
                self._refuse_removed()
                here = here or self._connect_loop(jobs)
            except Exception as error:
                outcomes = [error] * len(batch)
            by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
            for (_, future, loop), outcome in zip(batch, outcomes, strict=True):
                by_loop.setdefault(loop, []).append((future, outcome))
            for loop, resolved in by_loop.items():
                if not loop.is_closed():
                    loop.call_soon_threadsafe(_resolve, resolved)
        for opened in (connection, here):
            if opened is not None:
                opened.close()

    def _connect(self) -> sqlite3.Connection:
        connection = self._kind.connect(self._path, self._synchronous, self._busy_seconds)
        try:
            status = os.stat(self._path)
        except OSError:
            connection.close()
            raise
        self._opened = status.st_dev, status.st_ino
        return connection

    def _connect_loop(self, jobs: _Jobs) -> sqlite3.Connection | None:
        """Return the loop's connection, opened once: it never waits and never moves the log."""
        if not self._on_loop:
            return None
        connection = self._connect()
        connection.execute("PRAGMA busy_timeout=0")
        connection.execute("PRAGMA wal_autocheckpoint=0")
        with self._changing:
            if self._jobs is jobs:
                self._here = connection
        return connection

    def _refuse_removed(self) -> None:
        try:
            status = os.stat(self._path)
            is_there = (status.st_dev, status.st_ino) == self._opened
        except FileNotFoundError:
            is_there = False
        if not is_there:
            raise OSError("it was removed or replaced while it was in use. Put it back, or start the app again")


def _take(jobs: _Jobs) -> list[_Job] | None:
    """Return the queued steps, at most a batch, once there is one; None at the end of the queue."""
    job = jobs.get()
    if job is None:
        return None
    batch = [job]
    while len(batch) < _BATCH and not jobs.empty():
        job = jobs.get()
        if job is None:
            jobs.put(None)
            break
        batch.append(job)
    return batch


def _commit_each(connection: sqlite3.Connection, batch: list[_Job]) -> list[Any]:
    """Commit the steps together; if one raises by itself, each alone, with its exception as the outcome."""
    try:
        return _commit(connection, batch)
    except sqlite3.Error:
        raise
    except Exception as error:
        return [error] if len(batch) == 1 else [_commit_each(connection, [job])[0] for job in batch]


def _commit(connection: sqlite3.Connection, batch: list[_Job]) -> list[Any]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        results = [step(connection) for step, _, _ in batch]
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # on a full disk SQLite has rolled it back, and that error would hide the cause
            connection.execute("ROLLBACK")
        raise
    return results


def _resolve(resolved: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, outcome in resolved:
        if future.done():
            continue
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
