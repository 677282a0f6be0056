"""One thread that owns one SQLite connection and commits whatever is queued as one transaction."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
Step = Callable[[sqlite3.Connection], Any]
_Job = tuple[Step, "asyncio.Future[Any]", asyncio.AbstractEventLoop]
_Jobs = queue.SimpleQueue["_Job | None"]
_BATCH = 256


class WriterThread:
    """Runs steps on a connection, many per transaction; the thread and the connection start with the first step.

    A step's future resolves after its transaction is committed. When the database raises, the transaction is rolled
    back and every future of it gets the error, so no caller is told of a write that is not there. A step that raises by
    itself fails alone: the others are run again, each in a transaction of its own.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], name: str) -> None:
        self._connect = connect
        self._name = name
        self._changing = threading.Lock()
        self._jobs: _Jobs | None = None
        self._thread: threading.Thread | None = None

    async def submit(self, step: Callable[[sqlite3.Connection], T]) -> T:
        """Return what `step` returned, once it is committed."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        with self._changing:
            self._started().put((step, future, loop))
        result: T = await future
        return result

    async def close(self) -> None:
        """Finish what is queued, close the connection and end the thread; the next step opens both again."""
        with self._changing:
            jobs, thread = self._jobs, self._thread
            self._jobs = self._thread = None
        if jobs is not None and thread is not None:
            jobs.put(None)
            await asyncio.get_running_loop().run_in_executor(None, thread.join)

    def _started(self) -> _Jobs:
        """Return the queue of the thread that serves; each thread has its own, so a closing one takes no late step."""
        if self._jobs is None:
            self._jobs = queue.SimpleQueue()
            self._thread = threading.Thread(target=self._serve, args=(self._jobs,), name=self._name, daemon=True)
            self._thread.start()
        return self._jobs

    def _serve(self, jobs: _Jobs) -> None:
        connection: sqlite3.Connection | None = None
        while (batch := _take(jobs)) is not None:
            try:
                connection = connection or self._connect()
                outcomes = _outcomes(connection, batch)
            except Exception as error:
                outcomes = [error] * len(batch)
            _resolve(batch, outcomes)
        if connection is not None:
            connection.close()


def _take(jobs: _Jobs) -> list[_Job] | None:
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


def _outcomes(connection: sqlite3.Connection, batch: list[_Job]) -> list[Any]:
    try:
        return _commit(connection, batch)
    except sqlite3.Error:
        raise
    except Exception as error:
        return [error] if len(batch) == 1 else [_outcomes(connection, [job])[0] for job in batch]


def _commit(connection: sqlite3.Connection, batch: list[_Job]) -> list[Any]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        results = [step(connection) for step, _, _ in batch]
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    return results


def _resolve(batch: list[_Job], outcomes: list[Any]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for (_, future, loop), outcome in zip(batch, outcomes, strict=True):
        by_loop.setdefault(loop, []).append((future, outcome))
    for loop, resolved in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_set_all, resolved)


def _set_all(resolved: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, outcome in resolved:
        if future.done():
            continue
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
