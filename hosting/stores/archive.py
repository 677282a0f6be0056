"""The older entries of conversations, over any store of objects, under their positions.

Entries are kept in segments, each the consecutive entries that one move brought. A segment is an object that its
generation and its first and last position name, so that putting it again after a crash replaces it. Where two overlap,
because what moved after a crash was cut elsewhere, both hold the same entries; only after a backup was restored do they
not, and then the newer one stands. Bounds keep a segment within one call and one item of every store, and the thousand
that its first position is in stands in its name, so that a reader lists two thousands, however long the thread is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hosting.errors import ArchiveIncompleteError
from hosting.names import StoreKey
from hosting.ports import ObjectStore
from state.json_values import dump, parse

MOST_ENTRIES = 1000
MOST_BYTES = 1_000_000
"""A segment of several entries stays below it; one entry may be larger alone."""


@dataclass(frozen=True)
class Volume:
    """One conversation of a thread, from one reset to the next; each reset raises the `generation`."""

    thread: StoreKey
    generation: int


class Archive:
    """The archived entries of an app's conversations; positions count from 1 in each volume.

    The document counts how many entries of its volume are archived; what is behind that position was left by a process
    that died, and is never read. Each method raises `errors.ArchiveUnavailableError` when the store cannot be reached;
    calling again with the same arguments is safe.
    """

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    async def put(self, volume: Volume, first: int, entries: Sequence[str]) -> None:
        """Keep entries, each as JSON text, under the positions from `first` on, and replace what those positions hold.

        Once this returns they are kept, whatever happens to this process.
        """
        objects: dict[str, bytes] = {}
        for lines in _cut(entries):
            segment = _Segment(volume.generation, first, first + len(lines) - 1)
            objects[segment.name] = "\n".join(lines).encode(errors="surrogatepass")
            first = segment.last + 1
        await self._objects.put(volume.thread, objects)

    async def read(self, volume: Volume, first: int, last: int) -> list[str]:
        """Return the entries from position `first` to `last`, as the JSON values that were put.

        Raises `errors.ArchiveIncompleteError` when one of them is not there.
        """
        thousands = range(max(0, first - MOST_ENTRIES + 1) // MOST_ENTRIES, last // MOST_ENTRIES + 1)
        prefixes = (_thousand(volume.generation, number) for number in thousands)
        listed = await asyncio.gather(*(self._objects.names(volume.thread, prefix) for prefix in prefixes))
        put_at = {name: moment for names in listed for name, moment in names.items()}
        in_order_of_put = map(_Segment.parse, sorted(put_at, key=put_at.__getitem__))
        covering = [one for one in in_order_of_put if one.first <= last and one.last >= first]
        bodies = await self._objects.read(volume.thread, [one.name for one in covering])
        found: dict[int, str] = {}
        for segment in covering:
            if segment.name in bodies:
                lines = bodies[segment.name].decode(errors="surrogatepass").split("\n")
                found.update(enumerate(lines, start=segment.first))
        missing = next((position for position in range(first, last + 1) if position not in found), None)
        if missing is not None:
            raise ArchiveIncompleteError(
                f"The archive lacks entry {missing} of this conversation: it is being reset or deleted, or the archive "
                "has lost it."
            )
        return [found[position] for position in range(first, last + 1)]

    async def epochs(self, thread: StoreKey) -> list[int]:
        """Return which of the thread's epochs have volumes, lowest first."""
        return await self._objects.epochs(thread)

    async def erase(self, store_key: StoreKey, before: int | None = None) -> int:
        """Remove the thread's volumes, or only the generations below `before`, and return how many entries that were.

        What was removed is in no file of the store afterwards.
        """
        named = [
            one
            for one in map(_Segment.parse, await self._objects.names(store_key))
            if before is None or one.generation < before
        ]
        await self._objects.erase(store_key, None if before is None else [one.name for one in named])
        return sum(one.last - one.first + 1 for one in named)

    async def drop(self, volume: Volume) -> None:
        """Remove one volume; what was removed is in no file of the store afterwards."""
        await self._objects.erase(volume.thread, await self._objects.names(volume.thread, f"{volume.generation}-"))

    async def close(self) -> None:
        """Let go of files, connections and threads."""
        await self._objects.close()


@dataclass(frozen=True)
class _Segment:
    """Consecutive entries in one object, by the positions of the first and the last. The object's name holds all that.

    The object holds them as JSON lines.
    """

    generation: int
    first: int
    last: int

    @classmethod
    def parse(cls, name: str) -> _Segment:
        generation, _, first, last = map(int, name.split("-"))
        return cls(generation, first, last)

    @property
    def name(self) -> str:
        return f"{_thousand(self.generation, self.first // MOST_ENTRIES)}{self.first:09}-{self.last:09}"


def _thousand(generation: int, number: int) -> str:
    return f"{generation}-{number:06}-"


def _cut(entries: Iterable[str]) -> Iterator[list[str]]:
    """Iterate over the entries of each segment, each entry as one line."""
    lines: list[str] = []
    size = 0
    for entry in entries:
        # Texts of other writers may be laid out in lines; the JSON value is the same.
        line = dump(parse(entry)) if "\n" in entry else entry
        bytes_more = len(line.encode(errors="surrogatepass"))
        if lines and (len(lines) == MOST_ENTRIES or size + bytes_more > MOST_BYTES):
            yield lines
            lines, size = [], 0
        lines.append(line)
        size += bytes_more
    if lines:
        yield lines
