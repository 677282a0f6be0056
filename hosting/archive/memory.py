"""The archive in memory: for tests, and to say in few lines what a store must do."""

from __future__ import annotations

from collections.abc import Sequence

from hosting.archive.segments import Segment, laid_out
from hosting.events import Place
from hosting.ports import Volume


class MemoryArchive:
    """An `ArchiveStore` of one process that ends with it."""

    def __init__(self) -> None:
        self._volumes: dict[Volume, dict[int, str]] = {}

    async def put(self, volume: Volume, first: int, entries: Sequence[str]) -> None:
        """See `ArchiveStore.put`."""
        self._volumes.setdefault(volume, {}).update(enumerate(entries, start=first))

    async def read(self, volume: Volume, first: int, last: int) -> list[str]:
        """See `ArchiveStore.read`."""
        held = self._volumes.get(volume, {})
        asked = (Segment(position, (held[position],)) for position in range(first, last + 1) if position in held)
        return laid_out(asked, first, last)

    async def erase(self, place: Place, before: int | None = None) -> int:
        """See `ArchiveStore.erase`."""
        gone = [
            volume
            for volume in self._volumes
            if volume.place == place and (before is None or volume.generation < before)
        ]
        return sum(len(self._volumes.pop(volume)) for volume in gone)

    async def close(self) -> None:
        """Forget nothing: a closed memory archive may be read on."""
