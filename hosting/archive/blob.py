"""The archive in blobs: the default on Azure, in the storage account that the app already has.

A segment is one blob, which names its positions: `<agent>/<thread>/<generation>/<thousand>/<first>-<last>`. It stands
in the folder of the thousand that its first position is in, so that whoever wants a position lists two folders, however
long the thread is. A move is one call; a page is two listings at once, and a call for each segment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from hosting.archive.segments import MOST_ENTRIES, Segment, cut, decode, encode, laid_out
from hosting.errors import ArchiveUnavailableError
from hosting.events import Place
from hosting.ports import Volume
from hosting.storage.blob_account import Connect
from hosting.storage.blob_container import PATIENCE_SECONDS, BlobContainer

CONTAINER = "agent-archive"
_DELETED_AT_ONCE = 64


def archive_container(
    connect: Connect, name: str = CONTAINER, patience_seconds: float = PATIENCE_SECONDS
) -> BlobContainer:
    """Return the container for archives, which says of itself that the archive cannot be reached."""
    return BlobContainer(connect, name, ArchiveUnavailableError.unreached, patience_seconds)


@dataclass(frozen=True)
class _Named:
    """What a segment's name says."""

    name: str
    generation: int
    first: int
    last: int


class BlobArchive:
    """An `ArchiveStore` in a blob container."""

    def __init__(self, container: BlobContainer) -> None:
        self._blobs = container

    async def put(self, volume: Volume, first: int, entries: Sequence[str]) -> None:
        """See `ArchiveStore.put`: one call, and one more for each million bytes."""
        for segment in cut(first, entries):
            await self._blobs.put_anyway(_name(volume, segment), encode(segment))

    async def read(self, volume: Volume, first: int, last: int) -> list[str]:
        """See `ArchiveStore.read`. Of segments that overlap, the one that was written later stands."""
        folders = range(max(0, first - MOST_ENTRIES + 1) // MOST_ENTRIES, last // MOST_ENTRIES + 1)
        listed = await asyncio.gather(*(self._blobs.times(_folder(volume, folder)) for folder in folders))
        times = {name: time for found in listed for name, time in found.items()}
        covering = [named for named in map(_parse, times) if named.first <= last and named.last >= first]
        covering.sort(key=lambda named: times[named.name])
        segments = await asyncio.gather(*map(self._segment, covering))
        return laid_out([segment for segment in segments if segment is not None], first, last)

    async def erase(self, place: Place, before: int | None = None) -> int:
        """See `ArchiveStore.erase`. Where the account keeps deleted blobs, it keeps them as long as its policy says."""
        named = map(_parse, await self._blobs.list(f"{place.agent}/{place.thread_id}/"))
        gone = [one for one in named if before is None or one.generation < before]
        for start in range(0, len(gone), _DELETED_AT_ONCE):
            await asyncio.gather(*(self._blobs.delete(one.name) for one in gone[start : start + _DELETED_AT_ONCE]))
        return sum(one.last - one.first + 1 for one in gone)

    async def close(self) -> None:
        """See `ArchiveStore.close`."""
        await self._blobs.close()

    async def _segment(self, named: _Named) -> Segment | None:
        """Return the segment, or None when it was erased since it was listed."""
        body = await self._blobs.content(named.name)
        return None if body is None else decode(named.first, body)


def _folder(volume: Volume, thousand: int) -> str:
    return f"{volume.place.agent}/{volume.place.thread_id}/{volume.generation}/{thousand:06}/"


def _name(volume: Volume, segment: Segment) -> str:
    return f"{_folder(volume, segment.first // MOST_ENTRIES)}{segment.first:09}-{segment.last:09}"


def _parse(name: str) -> _Named:
    _, _, generation, _, positions = name.split("/")
    first, _, last = positions.partition("-")
    return _Named(name, int(generation), int(first), int(last))
