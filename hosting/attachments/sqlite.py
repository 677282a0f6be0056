"""Attachments in one SQLite file: the default on one machine, for any number of processes."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Final

from hosting.errors import AttachmentsUnavailableError
from hosting.events import Place
from hosting.storage.sqlite_file import BUSY_SECONDS, FileKind
from hosting.storage.sqlite_store import StoreFile
from state.attached import Attachment

ATTACHMENTS: Final = FileKind(
    name="file of attachments",
    setting="AGENT_ATTACHMENTS",
    schema="""
CREATE TABLE attachment (agent TEXT NOT NULL, thread_id TEXT NOT NULL, sha256 TEXT NOT NULL, body BLOB NOT NULL,
                         PRIMARY KEY (agent, thread_id, sha256));
""",
)
_PUT = "INSERT OR IGNORE INTO attachment VALUES (?, ?, ?, ?)"
_OF_THREAD = "FROM attachment WHERE agent = ? AND thread_id = ?"
_READ = f"SELECT sha256, body {_OF_THREAD} AND sha256 IN (SELECT value FROM json_each(?))"
_HASHES = f"SELECT sha256 {_OF_THREAD} ORDER BY sha256"


class SqliteAttachments:
    """An `AttachmentStore` in the file at `path`; the file and its folder are made at the first use."""

    def __init__(self, path: Path, synchronous: str = "NORMAL", busy_seconds: float = BUSY_SECONDS) -> None:
        self._file = StoreFile(ATTACHMENTS, path, AttachmentsUnavailableError.unreached, synchronous, busy_seconds)

    async def put(self, place: Place, attachments: Collection[Attachment]) -> None:
        """See `AttachmentStore.put`: one transaction."""
        rows = [(*_key(place), one.sha256, one.body) for one in attachments]
        await self._file.do(lambda connection: connection.executemany(_PUT, rows).rowcount)

    async def read(self, place: Place, hashes: Collection[str]) -> dict[str, bytes]:
        """See `AttachmentStore.read`."""
        values = (*_key(place), json.dumps(list(hashes)))
        return dict(await self._file.do(lambda connection: connection.execute(_READ, values).fetchall()))

    async def hashes(self, place: Place) -> list[str]:
        """See `AttachmentStore.hashes`."""
        return [row[0] for row in await self._file.do(lambda c: c.execute(_HASHES, _key(place)).fetchall())]

    async def erase(self, place: Place) -> None:
        """See `AttachmentStore.erase`: deleted pages are overwritten, then the write-ahead log is emptied."""
        count = await self._file.do(lambda connection: connection.execute(f"DELETE {_OF_THREAD}", _key(place)).rowcount)
        if count:
            await self._file.forget_overwritten()

    async def close(self) -> None:
        """See `AttachmentStore.close`."""
        await self._file.close()


def _key(place: Place) -> tuple[str, str]:
    return place.agent, place.thread_id
