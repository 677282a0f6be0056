"""Entries and attachments that are put beside a thread before it begins with them, so that it begins with all of them.

Theory. Nobody knows beforehand whether the thread will begin: a process may die, or another may begin one of the same
id with something else. So each attempt puts entries into a volume of its own, whose number it draws, and a mark among
the attachments, before all else. The thread's first event names the volume. What was put for nothing is found by its
mark: the sweep over uploads signals the thread, and its entity removes the volumes that its conversation does not name.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable
from contextlib import suppress

from hosting.errors import StoreUnavailableError
from hosting.names import StoreKey
from hosting.stores.archive import Archive, Volume
from hosting.stores.choice import Stores
from state.attachments import references
from state.codec import parse_entry
from state.contents import ATTACHMENT
from state.models import Entry, PlainEntry

_MARK = "copy-"
_BITS = 48


class Copy:
    """One attempt to put what a thread begins with: the entries into `volume`, what they refer to beside it."""

    def __init__(self, stores: Stores, origin: StoreKey, target: StoreKey) -> None:
        self.volume = Volume(target, 1 + secrets.randbits(_BITS))
        self._stores = stores
        self._origin = origin
        self._brought: set[str] = set()

    async def mark(self) -> None:
        """Say that the attempt is under way, which counts for some hours from now.

        Raises `AttachmentsUnavailableError`, as all of this does.
        """
        await self._stores.attachments.put(self.volume.thread, {f"{_MARK}{self.volume.generation}": b"{}"})

    async def put(self, first: int, texts: Collection[str]) -> None:
        """Keep archived entries under their positions; raises `ArchiveUnavailableError` too."""
        await self.mark()
        await self._stores.archive.put(self.volume, first, list(texts))

    async def bring(self, entries: Iterable[Entry | PlainEntry]) -> None:
        """Keep what these entries refer to, one after the other; what the origin has no more is left out."""
        named = frozenset().union(*map(references, entries)) - self._brought
        for name in sorted(named):
            if found := await self._stores.attachments.read(self._origin, [name]):
                await self._stores.attachments.put(self.volume.thread, found)
        self._brought |= named

    async def bring_of(self, texts: Iterable[str]) -> None:
        """Keep what entries refer to that are JSON texts; one without the property's name refers to nothing."""
        await self.bring(parse_entry(text) for text in texts if ATTACHMENT in text or "\\u" in text)

    async def end(self, *, is_used: bool) -> None:
        """Take the mark away, and the volume first where no thread began with it; where this fails, the sweep does."""
        with suppress(StoreUnavailableError):
            if not is_used:
                await self._stores.archive.drop(self.volume)
            await self._stores.attachments.erase(self.volume.thread, [f"{_MARK}{self.volume.generation}"])


def is_mark(name: str) -> bool:
    """Return whether that is the name of a mark, and not of an attachment."""
    return name.startswith(_MARK)


async def drop_unused(archive: Archive, store_key: StoreKey, names: Iterable[str], used: int | None = None) -> None:
    """Remove the volumes of these marks, but for the one of the generation `used`."""
    for name in names:
        if is_mark(name) and (generation := int(name.removeprefix(_MARK))) != used:
            await archive.drop(Volume(store_key, generation))
