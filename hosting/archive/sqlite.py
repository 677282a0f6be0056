"""The archive in one SQLite file: the default on one machine, for any number of processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hosting.archive.segments import MOST_ENTRIES, Segment, cut, decode, encode, laid_out
from hosting.errors import ArchiveUnavailableError
from hosting.events import Place
from hosting.ports import Volume
from hosting.storage.sqlite_file import BUSY_SECONDS, FileKind
from hosting.storage.sqlite_store import StoreFile

ARCHIVE: Final = FileKind(
    name="archive",
    setting="AGENT_ARCHIVE",
    schema="""
CREATE TABLE segment (number INTEGER PRIMARY KEY, agent TEXT NOT NULL, thread_id TEXT NOT NULL,
                      generation INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, body BLOB NOT NULL);
CREATE UNIQUE INDEX segment_by_position ON segment (agent, thread_id, generation, first, last);
""",
)
_PUT = "INSERT OR REPLACE INTO segment (agent, thread_id, generation, first, last, body) VALUES (?, ?, ?, ?, ?, ?)"
_OF_THREAD = "FROM segment WHERE agent = ? AND thread_id = ?"
_COVERING = (
    f"SELECT first, body {_OF_THREAD} AND generation = ? AND first BETWEEN ? AND ? AND last >= ? ORDER BY number"
)
_BEFORE = f"{_OF_THREAD} AND generation < ?"
_ANY_GENERATION = 2**62


class SqliteArchive:
    """An `ArchiveStore` in the file at `path`; the file and its folder are made at the first use.

    A replaced segment gets the highest number of all, so that numbers tell which of two is the newer.
    """

    def __init__(self, path: Path, synchronous: str = "NORMAL", busy_seconds: float = BUSY_SECONDS) -> None:
        self._file = StoreFile(ARCHIVE, path, ArchiveUnavailableError.unreached, synchronous, busy_seconds)

    async def put(self, volume: Volume, first: int, entries: Sequence[str]) -> None:
        """See `ArchiveStore.put`: one transaction."""
        rows = [(*_key(volume), part.first, part.last, encode(part)) for part in cut(first, entries)]
        await self._file.do(lambda connection: connection.executemany(_PUT, rows).rowcount)

    async def read(self, volume: Volume, first: int, last: int) -> list[str]:
        """See `ArchiveStore.read`."""
        return laid_out(await self._covering(volume, first, last), first, last)

    async def erase(self, place: Place, before: int | None = None) -> int:
        """See `ArchiveStore.erase`: deleted pages are overwritten, then the write-ahead log is emptied."""
        values = (place.agent, place.thread_id, _ANY_GENERATION if before is None else before)
        count = await self._file.do(lambda connection: _erase(connection, values))
        if count:
            await self._file.forget_overwritten()
        return count

    async def close(self) -> None:
        """See `ArchiveStore.close`."""
        await self._file.close()

    async def _covering(self, volume: Volume, first: int, last: int) -> list[Segment]:
        values = (*_key(volume), first - MOST_ENTRIES + 1, last, first)
        rows = await self._file.do(lambda connection: connection.execute(_COVERING, values).fetchall())
        return [decode(start, body) for start, body in rows]


def _key(volume: Volume) -> tuple[str, str, int]:
    return volume.place.agent, volume.place.thread_id, volume.generation


def _erase(connection: sqlite3.Connection, values: tuple[str, str, int]) -> int:
    count: int = connection.execute(f"SELECT coalesce(sum(last - first + 1), 0) {_BEFORE}", values).fetchone()[0]
    connection.execute(f"DELETE {_BEFORE}", values)
    return count
