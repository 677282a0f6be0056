"""What a process remembers of segments, and reads of them: they never change, so a name is enough.

Theory. The catalog says which segments there are. What a process remembers is good for as long as the catalog names it,
and is forgotten with the first look at a catalog that does not. A segment that the catalog names may go before it is
read: then the catalog has changed, and whoever searches reads it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from hosting.core.recent import Recent
from hosting.core.turns import Turns
from hosting.features.uploads.search.chunk import Chunk
from hosting.features.uploads.search.index.catalog import Segment
from hosting.features.uploads.search.index.postings import decode_words, part_of, parts_of
from hosting.features.uploads.search.index.segments import (
    FileRows,
    LoadedSegment,
    decode_files,
    decode_segment,
    decode_texts,
    files_name,
    text_place,
    vectors_name,
    words_name,
)
from hosting.names import Address, StoreKey
from hosting.ports import ObjectStore

CACHED_BYTES = 768 * 1024 * 1024
"""Of vectors and words: those of about 400,000 chunks of 1,536 numbers."""
_FILES_BYTES = 16 * 1024 * 1024
_TEXTS_BYTES = 32 * 1024 * 1024
_AT_ONCE = 8


class SegmentGoneError(Exception):
    """An object of a segment is not there."""


class SegmentShelf(Struct, frozen=True):
    """Where the segments of one scope lie, with vectors of one model and size."""

    address: Address
    store_key: StoreKey
    model: str
    size: int


class SegmentRow(Struct, frozen=True):
    """A row of a segment, by the number of its shelf among those that are searched."""

    shelf: int
    segment: LoadedSegment
    row: int


class SegmentReader:
    """The segments of one app as a process reads and remembers them, for one event loop.

    Each method raises `SegmentGoneError` and `AttachmentsUnavailableError`.
    """

    def __init__(self, objects: ObjectStore, cached_bytes: int = CACHED_BYTES) -> None:
        self._objects = objects
        self._turns = Turns()
        self._segments: Recent[SegmentShelf, dict[str, LoadedSegment]] = Recent(cached_bytes)
        self._files: Recent[tuple[StoreKey, str], Sequence[FileRows]] = Recent(_FILES_BYTES)
        self._texts: Recent[tuple[StoreKey, str], Sequence[Chunk]] = Recent(_TEXTS_BYTES)

    async def files(self, store_key: StoreKey, segments: Iterable[Segment]) -> dict[str, Sequence[FileRows]]:
        """Return the files of these segments, by the segments' names."""
        files = {segment.name: self._files.get((store_key, segment.name)) for segment in segments}
        missing = [name for name, rows in files.items() if rows is None]
        objects = await self.objects(store_key, map(files_name, missing)) if missing else {}
        for name in missing:
            stored = objects[files_name(name)]
            files[name] = rows = decode_files(stored)
            self._files.keep((store_key, name), rows, len(stored))
        return {name: rows for name, rows in files.items() if rows is not None}

    async def segments(self, shelf: SegmentShelf, segments: Sequence[Segment]) -> list[LoadedSegment]:
        """Return the segments that are searched, and forget all others of the shelf."""
        async with self._turns.turn(shelf.address):
            kept = self._segments.get(shelf) or {}
            loaded = {segment.name: kept[segment.name] for segment in segments if segment.name in kept}
            missing = [segment.name for segment in segments if segment.name not in loaded]
            for first in range(0, len(missing), _AT_ONCE):
                names = missing[first : first + _AT_ONCE]
                wanted = [object_name(name) for name in names for object_name in (files_name, vectors_name)]
                objects = await self.objects(shelf.store_key, wanted)
                loaded |= await asyncio.to_thread(_decode, names, shelf.size, objects)
            self._keep(shelf, loaded)
            return [loaded[segment.name] for segment in segments]

    async def read_words(self, shelf: SegmentShelf, segments: Sequence[LoadedSegment], words: Sequence[str]) -> None:
        """Read the parts of the segments that these words are in."""
        missing = {
            words_name(segment.name, part): (segment, part)
            for segment in segments
            for part in {part_of(word, parts_of(segment.chunks)) for word in words} - segment.parts.keys()
        }
        if missing:
            objects = await self.objects(shelf.store_key, missing)
            decoded = await asyncio.to_thread(lambda: {name: decode_words(objects[name]) for name in missing})
            for name, (segment, part) in missing.items():
                segment.parts[part] = decoded[name]
            self._keep(shelf, {segment.name: segment for segment in segments})

    async def texts(self, shelves: Sequence[SegmentShelf], rows: Sequence[SegmentRow]) -> list[Chunk]:
        """Return the chunks of these rows."""
        places = [(shelves[row.shelf].store_key, *text_place(row.segment.name, row.row)) for row in rows]
        blocks = {(store_key, name): self._texts.get((store_key, name)) for store_key, name, _ in places}
        missing = [key for key, chunks in blocks.items() if chunks is None]
        for store_key in {store_key for store_key, _ in missing}:
            names = [name for key, name in missing if key == store_key]
            for name, stored in (await self.objects(store_key, names)).items():
                blocks[store_key, name] = chunks = decode_texts(stored)
                self._texts.keep((store_key, name), chunks, sum(2 * len(chunk.text) for chunk in chunks))
        return [(blocks[store_key, name] or ())[place] for store_key, name, place in places]

    async def objects(self, store_key: StoreKey, names: Iterable[str]) -> dict[str, bytes]:
        """Return all of these objects."""
        wanted = list(names)
        objects = await self._objects.read(store_key, wanted)
        if len(objects) < len(set(wanted)):
            raise SegmentGoneError(f"{len(set(wanted)) - len(objects)} of {len(wanted)} objects of the index")
        return objects

    def forget(self, shelf: SegmentShelf, names: Iterable[str]) -> None:
        """Remember nothing of these segments, which are erased."""
        gone = set(names)
        for name in gone:
            self._files.forget((shelf.store_key, name))
        if (kept := self._segments.get(shelf)) is not None:
            self._keep(shelf, {name: segment for name, segment in kept.items() if name not in gone})

    def _keep(self, shelf: SegmentShelf, loaded: Mapping[str, LoadedSegment]) -> None:
        self._segments.keep(shelf, dict(loaded), sum(segment.memory_bytes for segment in loaded.values()))


def _decode(names: Sequence[str], size: int, objects: Mapping[str, bytes]) -> dict[str, LoadedSegment]:
    return {name: decode_segment(name, size, objects) for name in names}
