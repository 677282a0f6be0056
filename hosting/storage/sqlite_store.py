"""A store's SQLite file as one process uses it: steps on one connection, and one error for whatever is in their way."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from hosting.errors import ConfigurationError, HostingError
from hosting.storage.outage import Outage
from hosting.storage.sqlite_file import BUSY_SECONDS, FileKind
from hosting.storage.writer import WriterThread

T = TypeVar("T")


class StoreFile:
    """The file at `path`, made with its folder at the first use; any number of processes may use it at once.

    Every verb raises the error that `unavailable` makes when the file cannot be opened, read or written, or somebody
    else holds it for longer than `busy_seconds`.
    """

    def __init__(
        self,
        kind: FileKind,
        path: Path,
        unavailable: Callable[[], HostingError],
        synchronous: str = "NORMAL",
        busy_seconds: float = BUSY_SECONDS,
    ) -> None:
        self._kind = kind
        self._path = path
        self._unavailable = unavailable
        self._outage = Outage(f"The {kind.name} {path}")
        self._busy_seconds = busy_seconds
        self._writer = WriterThread(lambda: kind.connect(path, synchronous, busy_seconds), name=kind.name)

    async def do(self, step: Callable[[sqlite3.Connection], T]) -> T:
        """Return what the step returned, once it is committed, with others that were queued beside it."""
        return await self._reached(self._writer.submit(step))

    async def forget_overwritten(self) -> bool:
        """Leave nothing in the file of what was deleted, and tell whether that is so: `FileKind.forget_overwritten`."""
        return await self._reached(asyncio.to_thread(self._kind.forget_overwritten, self._path, self._busy_seconds))

    async def close(self) -> None:
        """Finish what is queued and let go of the file; the next step opens it again."""
        await self._writer.close()

    async def _reached(self, work: Awaitable[T]) -> T:
        try:
            done = await work
        except (sqlite3.Error, OSError, ConfigurationError) as error:
            self._outage.began(error)
            raise self._unavailable() from error
        self._outage.ended()
        return done
