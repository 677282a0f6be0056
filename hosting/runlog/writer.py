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
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def submit(self, step: Callable[[sqlite3.Connection], T]) -> T:
        """Return what `step` returned, once it is committed."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
            self._thread.start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._jobs.put((step, future, loop))
        result: T = await future
        return result

    async def close(self) -> None:
        """Finish what is queued, close the connection and end the thread; the next step opens both again."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._jobs.put(None)
            await asyncio.get_running_loop().run_in_executor(None, thread.join)

    def _serve(self) -> None:
        connection: sqlite3.Connection | None = None
        while (batch := self._take()) is not None:
            try:
                connection = connection or self._connect()
                outcomes = _outcomes(connection, batch)
            except Exception as error:
                outcomes = [error] * len(batch)
            _resolve(batch, outcomes)
        if connection is not None:
            connection.close()

    def _take(self) -> list[_Job] | None:
        job = self._jobs.get()
        if job is None:
            return None
        batch = [job]
        while len(batch) < _BATCH and not self._jobs.empty():
            job = self._jobs.get()
            if job is None:
                self._jobs.put(None)
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
