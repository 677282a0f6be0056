"""The threads' logs in one SQLite file: the default on one machine, for any number of processes.

Theory. SQLite is the lock between processes: WAL, BEGIN IMMEDIATE and a busy time-out. Inside a process one thread owns
the connection and takes whatever is queued as one transaction (group commit), so that a burst of appends costs one
commit and never the event loop. `synchronous=NORMAL` loses nothing when a process is killed; FULL is a setting for
power cuts.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

from hosting.address import Address
from hosting.errors import LogUnavailableError
from hosting.storage.sqlite_store import StoreFile
from hosting.stores import sqlite_steps as steps
from hosting.stores.contract import Append, Appended, AppendOutcome, Row, StoredEvent, StoredHead, Unknown
from hosting.stores.sqlite_looker import ChangeLooker
from hosting.stores.sqlite_space import LEAST_RECLAIMED_BYTES, is_reclaim_due, reclaim
from hosting.stores.watchers import ThreadKey, Watchers

BUSY_SECONDS = 5.0
"""How long another process is waited for: a call that fails is made again, and all of it must fit into a lease."""


class SqliteThreadStore:
    """A `ThreadStore` in the file at `path`; the file and its folder are made at the first use."""

    batch_seconds = 0.1

    def __init__(
        self,
        path: Path,
        hub: str,
        synchronous: str = "NORMAL",
        busy_seconds: float = BUSY_SECONDS,
        reclaimed_bytes: int = LEAST_RECLAIMED_BYTES,
    ) -> None:
        self._hub = hub
        self._file = StoreFile(steps.THREADS, path, LogUnavailableError.unreached, synchronous, busy_seconds)
        self._path = path
        self._busy_seconds = busy_seconds
        self._reclaimed_bytes = reclaimed_bytes
        self._watchers = Watchers()
        self._looker = ChangeLooker(path, self._watchers)

    async def append(self, address: Address, known: StoredHead | None, append: Append) -> AppendOutcome:
        """See `ThreadStore.append`: one step of the writer."""
        append.first_position(known)
        thread = self._key(address)
        try:
            outcome = await self._file.do(lambda connection: steps.write_append(connection, thread, known, append))
        except LogUnavailableError:
            return Unknown()
        if isinstance(outcome, Appended):
            self._watchers.tell(thread, outcome.head.position)
        return outcome

    async def head(self, address: Address) -> StoredHead | None:
        """See `ThreadStore.head`."""
        thread = self._key(address)
        return await self._file.do(lambda connection: steps.read_head(connection, thread))

    async def events(self, address: Address, after: int) -> list[StoredEvent]:
        """See `ThreadStore.events`."""
        thread = self._key(address)
        return await self._file.do(lambda connection: steps.read_events(connection, thread, after))

    async def row(self, address: Address, name: str) -> Row | None:
        """See `ThreadStore.row`."""
        thread = self._key(address)
        return await self._file.do(lambda connection: steps.read_row(connection, thread, name))

    async def trim(self, address: Address, before: int, rows_before: int) -> None:
        """See `ThreadStore.trim`: one transaction."""
        thread = self._key(address)
        await self._make_room(lambda connection: steps.drop_before(connection, thread, before, rows_before))

    async def erase(self, address: Address, through: int) -> None:
        """See `ThreadStore.erase`: what is deleted is overwritten, then the write-ahead log is emptied.

        Raises `LogUnavailableError` also where a reader kept it from being emptied: the events are gone by then, and
        their bytes go with the next call.
        """
        thread = self._key(address)
        await self._make_room(lambda connection: steps.empty_through(connection, thread, through))
        if not await self._file.forget_overwritten():
            raise LogUnavailableError.unreached()

    async def forget(self, address: Address, known: StoredHead) -> bool:
        """See `ThreadStore.forget`: one transaction."""
        thread = self._key(address)
        return await self._file.do(lambda connection: steps.drop_thread(connection, thread, known))

    async def watch(self, address: Address, after: int, seconds: float) -> bool:
        """See `ThreadStore.watch`: an append of this store wakes at once, any other with the next look at the file."""
        thread = self._key(address)
        with self._watchers.watching(thread, after) as watcher:
            if await self._file.do(lambda connection: steps.read_position(connection, thread)) > after:
                return True
            self._looker.start()
            return await watcher.woken_within(seconds)

    async def close(self) -> None:
        """See `ThreadStore.close`."""
        self._watchers.release()
        self._looker.stop()
        await self._file.close()

    async def _make_room(self, step: Callable[[sqlite3.Connection], None]) -> None:
        """Take the step, and now and then give back the space of all that such steps emptied."""

        def emptied(connection: sqlite3.Connection) -> bool:
            step(connection)
            return is_reclaim_due(connection, self._reclaimed_bytes)

        if await self._file.do(emptied):
            await asyncio.to_thread(reclaim, self._path, self._busy_seconds)

    def _key(self, address: Address) -> ThreadKey:
        return self._hub, address.key
