"""The archive and the attachments, each in one SQLite file: the default on one machine, for any number of processes."""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from hosting.errors import ArchiveUnavailableError, AttachmentsUnavailableError
from hosting.names import StoreKey
from hosting.ports import Clock, Volume
from hosting.stores.segments import MOST_ENTRIES, cut, decode, encode, laid_out
from hosting.stores.sqlite_file import (
    BUSY_SECONDS,
    LEAST_RECLAIMED_BYTES,
    PAYLOADS,
    WRITE_ANEW,
    FileKind,
    drop,
    empty,
    keep,
)
from hosting.stores.sqlite_writer import StoreFile
from state.attached import Attachment

ARCHIVE: Final = FileKind(
    name="archive",
    setting="AGENT_ARCHIVE",
    schema="""
CREATE TABLE segment (number INTEGER PRIMARY KEY, agent TEXT NOT NULL, thread_id TEXT NOT NULL,
                      generation INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, body BLOB NOT NULL);
CREATE UNIQUE INDEX segment_by_position ON segment (agent, thread_id, generation, first, last)
""",
    upgrades=(
        f"""{PAYLOADS};
INSERT INTO payload SELECT number, body FROM segment;
ALTER TABLE segment RENAME COLUMN body TO payload;
UPDATE segment SET payload = number;
{WRITE_ANEW}
""",
    ),
)
_PUT = "INSERT OR REPLACE INTO segment (agent, thread_id, generation, first, last, payload) VALUES (?, ?, ?, ?, ?, ?)"
_AT_POSITION = "agent = ? AND thread_id = ? AND generation = ? AND first = ? AND last = ?"
_COVERING = (
    "SELECT first, bytes FROM segment JOIN payload ON payload.id = segment.payload WHERE agent = ? AND thread_id = ? "
    "AND generation = ? AND first BETWEEN ? AND ? AND last >= ? ORDER BY number"
)
_BEFORE = "agent = ? AND thread_id = ? AND generation < ?"
_COUNT_BEFORE = f"SELECT coalesce(sum(last - first + 1), 0) FROM segment WHERE {_BEFORE}"
_EPOCHS = "SELECT DISTINCT thread_id FROM {} WHERE agent = ? AND thread_id >= ? AND thread_id < ?"
_ANY_GENERATION = 2**62


class SqliteArchive:
    """An `ArchiveStore` in the file at `path`; the file and its folder are made at the first use.

    A replaced segment gets the highest number of all, so that numbers tell which of two is the newer.
    """

    def __init__(
        self,
        path: Path,
        synchronous: str = "NORMAL",
        busy_seconds: float = BUSY_SECONDS,
        reclaimed_bytes: int = LEAST_RECLAIMED_BYTES,
    ) -> None:
        self._file = StoreFile(
            ARCHIVE, path, ArchiveUnavailableError.unreached, synchronous, busy_seconds, reclaimed_bytes=reclaimed_bytes
        )

    async def put(self, volume: Volume, first: int, entries: Sequence[str]) -> None:
        """One transaction."""
        thread = (volume.thread.agent, volume.thread.thread_id, volume.generation)
        parts = [((*thread, part.first, part.last), encode(part)) for part in cut(first, entries)]

        def put(connection: sqlite3.Connection) -> None:
            for position, body in parts:
                empty(connection, "segment", _AT_POSITION, position)
                connection.execute(_PUT, (*position, keep(connection, body)))

        await self._file.do(put)

    async def read(self, volume: Volume, first: int, last: int) -> list[str]:
        thread = (volume.thread.agent, volume.thread.thread_id, volume.generation)
        values = (*thread, first - MOST_ENTRIES + 1, last, first)
        rows = await self._file.do(lambda connection: connection.execute(_COVERING, values).fetchall())
        return laid_out((decode(start, body) for start, body in rows), first, last)

    async def epochs(self, thread: StoreKey) -> list[int]:
        return await _epochs(self._file, "segment", thread)

    async def erase(self, key: StoreKey, before: int | None = None) -> int:
        """Entries are gone, too, where this raises because a reader was in the way."""
        values = (key.agent, key.thread_id, _ANY_GENERATION if before is None else before)

        def erased(connection: sqlite3.Connection) -> int:
            count: int = connection.execute(_COUNT_BEFORE, values).fetchone()[0]
            drop(connection, "segment", _BEFORE, values)
            return count

        return await self._file.erase(erased)

    async def close(self) -> None:
        await self._file.close()


async def _epochs(file: StoreFile, table: str, thread: StoreKey) -> list[int]:
    values = (thread.agent, f"{thread.thread_id}/", f"{thread.thread_id}0")
    rows = await file.do(lambda connection: connection.execute(_EPOCHS.format(table), values).fetchall())
    return thread.epochs_in(thread_id for (thread_id,) in rows)


ATTACHMENTS: Final = FileKind(
    name="file of attachments",
    setting="AGENT_ATTACHMENTS",
    schema="""
CREATE TABLE attachment (agent TEXT NOT NULL, thread_id TEXT NOT NULL, sha256 TEXT NOT NULL, body BLOB NOT NULL,
                         PRIMARY KEY (agent, thread_id, sha256))
""",
    upgrades=(
        f"""{PAYLOADS};
INSERT INTO payload SELECT rowid, body FROM attachment;
ALTER TABLE attachment RENAME COLUMN body TO payload;
UPDATE attachment SET payload = rowid;
{WRITE_ANEW}
""",
        """
ALTER TABLE attachment ADD COLUMN put_at REAL NOT NULL DEFAULT 0;
UPDATE attachment SET put_at = strftime('%s', 'now')
""",
    ),
)
_PUT_ATTACHMENT = "INSERT INTO attachment (agent, thread_id, sha256, payload, put_at) VALUES (?, ?, ?, ?, ?)"
_OF_THREAD = "agent = ? AND thread_id = ?"
_THESE_OF_THREAD = f"{_OF_THREAD} AND sha256 IN (SELECT value FROM json_each(?))"
_READ = f"SELECT sha256, bytes FROM attachment JOIN payload ON payload.id = attachment.payload WHERE {_THESE_OF_THREAD}"
_PUT_AGAIN = f"UPDATE attachment SET put_at = ? WHERE {_OF_THREAD} AND sha256 = ?"
_PUT_BEFORE = f"SELECT sha256 FROM attachment WHERE {_OF_THREAD} AND put_at < ? ORDER BY sha256"
_PUT_BETWEEN = (
    "SELECT min(put_at), thread_id FROM attachment WHERE agent = ? AND put_at >= ? AND put_at < ? "
    "GROUP BY thread_id ORDER BY 1"
)


class SqliteAttachments:
    """An `AttachmentStore` in the file at `path`; the file and its folder are made at the first use."""

    def __init__(
        self, path: Path, synchronous: str = "NORMAL", busy_seconds: float = BUSY_SECONDS, clock: Clock = time.time
    ) -> None:
        self._clock = clock
        self._file = StoreFile(ATTACHMENTS, path, AttachmentsUnavailableError.unreached, synchronous, busy_seconds)

    async def put(self, key: StoreKey, attachments: Collection[Attachment]) -> None:
        """One transaction."""
        bodies = {one.sha256: one.body for one in attachments}

        def put(connection: sqlite3.Connection) -> None:
            now = self._clock()
            for sha256, body in bodies.items():
                name = (key.agent, key.thread_id, sha256)
                if connection.execute(_PUT_AGAIN, (now, *name)).rowcount == 0:
                    connection.execute(_PUT_ATTACHMENT, (*name, keep(connection, body), now))

        await self._file.do(put)

    async def read(self, key: StoreKey, hashes: Collection[str]) -> dict[str, bytes]:
        values = (key.agent, key.thread_id, json.dumps(list(hashes)))
        return dict(await self._file.do(lambda connection: connection.execute(_READ, values).fetchall()))

    async def hashes(self, key: StoreKey) -> list[str]:
        return await self.put_before(key, math.inf)

    async def put_before(self, key: StoreKey, before: float) -> list[str]:
        values = (key.agent, key.thread_id, before)
        rows = await self._file.do(lambda connection: connection.execute(_PUT_BEFORE, values).fetchall())
        return [sha256 for (sha256,) in rows]

    async def put_between(self, agent: str, after: float, before: float) -> list[tuple[float, str]]:
        values = (agent, after, before)
        return await self._file.do(lambda connection: connection.execute(_PUT_BETWEEN, values).fetchall())

    async def epochs(self, thread: StoreKey) -> list[int]:
        return await _epochs(self._file, "attachment", thread)

    async def erase(self, key: StoreKey, hashes: Collection[str] | None = None, *, before: float = math.inf) -> None:
        """They are gone, too, where this raises because a reader was in the way."""
        named = () if hashes is None else (json.dumps(list(hashes)),)
        which = f"{_THESE_OF_THREAD if named else _OF_THREAD} AND put_at < ?"
        values = (key.agent, key.thread_id, *named, before)
        await self._file.erase(lambda connection: drop(connection, "attachment", which, values))

    async def close(self) -> None:
        await self._file.close()
