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

    The document says how many entries of its volume are archived; what is behind that position was left by a process
    that died, and is never read. Each method raises `errors.ArchiveUnavailableError` when the store cannot be reached;
    calling again with the same arguments is safe.
    """

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    async def put(self, volume: Volume, first: int, entries: Sequence[str]) -> None:
        """Keep entries, each as JSON text, under the positions from `first` on, and replace what those positions hold.

        Once this returns they are kept, whatever happens to this process.
        """
        segments = {_name(volume.generation, part): encode(part) for part in cut(first, entries)}
        await self._objects.put(volume.thread, segments)

    async def read(self, volume: Volume, first: int, last: int) -> list[str]:
        """Return the entries from position `first` to `last`, as the JSON values that were put.

        Raises `errors.ArchiveIncompleteError` when one of them is not there.
        """
        thousands = range(max(0, first - MOST_ENTRIES + 1) // MOST_ENTRIES, last // MOST_ENTRIES + 1)
        prefixes = (_thousand(volume.generation, number) for number in thousands)
        listed = await asyncio.gather(*(self._objects.names(volume.thread, prefix) for prefix in prefixes))
        put_at = {name: moment for names in listed for name, moment in names.items()}
        covering = [one for one in map(_Named.parse, put_at) if one.first <= last and one.last >= first]
        bodies = await self._objects.read(volume.thread, [one.name for one in covering])
        covering.sort(key=lambda one: put_at[one.name])
        segments = (decode(one.first, bodies[one.name]) for one in covering if one.name in bodies)
        return laid_out(segments, first, last)

    async def epochs(self, thread: StoreKey) -> list[int]:
        """Return which of the thread's epochs have volumes, lowest first."""
        return await self._objects.epochs(thread)

    async def erase(self, store_key: StoreKey, before: int | None = None) -> int:
        """Remove the thread's volumes, or only the generations below `before`, and return how many entries that were.

        What was removed is in no file of the store afterwards.
        """
        named = [
            one
            for one in map(_Named.parse, await self._objects.names(store_key))
            if before is None or one.generation < before
        ]
        await self._objects.erase(store_key, None if before is None else [one.name for one in named])
        return sum(one.last - one.first + 1 for one in named)

    async def close(self) -> None:
        """Let go of files, connections and threads."""
        await self._objects.close()


@dataclass(frozen=True)
class _Named:
    """What a segment's name says."""

    name: str
    generation: int
    first: int
    last: int

    @classmethod
    def parse(cls, name: str) -> _Named:
        generation, _, first, last = map(int, name.split("-"))
        return cls(name, generation, first, last)


def _thousand(generation: int, number: int) -> str:
    return f"{generation}-{number:06}-"


def _name(generation: int, segment: Segment) -> str:
    return f"{_thousand(generation, segment.first // MOST_ENTRIES)}{segment.first:09}-{segment.last:09}"


@dataclass(frozen=True)
class Segment:
    """Consecutive entries as JSON texts of one line each; `first` is the position of the first."""

    first: int
    entries: tuple[str, ...]

    @property
    def last(self) -> int:
        """The position of the last entry."""
        return self.first + len(self.entries) - 1


def cut(first: int, entries: Sequence[str]) -> Iterator[Segment]:
    """Iterate over the segments that hold the entries, in their order."""
    held: list[str] = []
    size = 0
    for entry in map(_one_line, entries):
        bytes_more = len(entry.encode(errors="surrogatepass"))
        if held and (len(held) == MOST_ENTRIES or size + bytes_more > MOST_BYTES):
            yield Segment(first, tuple(held))
            first, held, size = first + len(held), [], 0
        held.append(entry)
        size += bytes_more
    if held:
        yield Segment(first, tuple(held))


def encode(segment: Segment) -> bytes:
    """Return the entries as JSON lines."""
    return "\n".join(segment.entries).encode(errors="surrogatepass")


def decode(first: int, body: bytes) -> Segment:
    """Return the segment that `encode` wrote."""
    return Segment(first, tuple(body.decode(errors="surrogatepass").split("\n")))


def laid_out(segments: Iterable[Segment], first: int, last: int) -> list[str]:
    """Return the entries at these positions, where segments overlap from the later one.

    Raises `ArchiveIncompleteError` when a position is not covered.
    """
    found: dict[int, str] = {}
    for segment in segments:
        found.update(enumerate(segment.entries, start=segment.first))
    missing = next((position for position in range(first, last + 1) if position not in found), None)
    if missing is not None:
        raise ArchiveIncompleteError(
            f"The archive lacks entry {missing} of this conversation: it is being reset or deleted, or the archive has "
            "lost it."
        )
    return [found[position] for position in range(first, last + 1)]


def _one_line(entry: str) -> str:
    """Texts of other writers may be laid out in lines; the JSON value is the same."""
    return dump(parse(entry)) if "\n" in entry else entry
