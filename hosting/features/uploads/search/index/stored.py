"""The app's own index: segments in its store of attachments, and a catalog of them for each scope.

Theory. An addition writes a file's chunks as segments under new names, and joins smaller segments of the scope to the
last of them: so a chunk is written again each time that what it lies with doubles, until the segment is full. A removal
writes anew what lay beside the file. The catalog decides which of two processes was first; the other one begins again,
and joins no others' segments that time, so each goes on. What is erased is what no catalog names: see
`hosting.features.uploads.search.index.catalog`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Mapping, Sequence

from msgspec import Struct

from hosting.core.cells import Cell, CellKind, Cells
from hosting.core.turns import Turns, gathered
from hosting.features.uploads.refusals import ChunkIndexUnavailableError
from hosting.features.uploads.search.index.catalog import (
    Catalog,
    CatalogChange,
    LostChangeError,
    Segment,
    decode_catalog,
    encode_catalog,
    model_key,
)
from hosting.features.uploads.search.index.contract import (
    ChunkQuery,
    FoundChunk,
    IndexedChunk,
    IndexSpace,
    checked_vector,
    one_model,
)
from hosting.features.uploads.search.index.loaded import CACHED_BYTES, SegmentGoneError, SegmentReader, SegmentShelf
from hosting.features.uploads.search.index.postings import query_words
from hosting.features.uploads.search.index.ranking import Searched
from hosting.features.uploads.search.index.segments import (
    MOST_CHUNKS,
    FileRows,
    LoadedSegment,
    SegmentContents,
    contents_names,
    decode_contents,
    encode_segment,
    joined_contents,
    object_names,
    segment_contents,
)
from hosting.names import APP, StoreKey, agent_of_key, new_id, store_space
from hosting.ports import ObjectStore

logger = logging.getLogger(__name__)

CATALOGS: CellKind[Catalog] = CellKind("file-index", "catalog", decode_catalog, encode_catalog, remembered=True)
_NAME_DIGITS = 16
_KEY_DIGITS = 32


class _Plan(Struct, frozen=True):
    """A change with what it needs of segments that it replaces, and how many chunks of its file go."""

    change: CatalogChange
    contents: Mapping[str, SegmentContents]
    replaced: Sequence[Segment]
    removed: int


class StoredChunkIndex:
    """A `ChunkIndex` in the stores of one app with the task hub `hub`, for one event loop.

    A process remembers at most `cached_bytes` of vectors and words; what is larger is read with each search. Raises
    `LogUnavailableError`, `AttachmentsUnavailableError` and `NewerVersionError`.
    """

    def __init__(self, cells: Cells, objects: ObjectStore, hub: str, cached_bytes: int = CACHED_BYTES) -> None:
        self._cells, self._objects = cells, objects
        self._space = store_space(hub, "file-index")
        self._turns = Turns()
        self._cached_bytes = cached_bytes
        self._reader = SegmentReader(objects, cached_bytes)

    async def add(self, space: IndexSpace, file_id: str, chunks: Sequence[IndexedChunk]) -> None:
        """Index a whole file in place of what is indexed of it; see `ChunkIndex`.

        Raises `ChunkIndexFullError` too.
        """
        contents = await asyncio.to_thread(_contents, space, file_id, chunks)
        await self._replace(space, file_id, contents)

    async def remove(self, space: IndexSpace, file_id: str) -> int:
        """Remove a file, and whatever a process that died left of the scope."""
        removed = await self._replace(space, file_id, [])
        await self._sweep(self._cell(space))
        return removed

    async def erase(self, space: IndexSpace) -> int:
        """Remove all files, and whatever a process that died left of the scope."""
        cell, model, removed = self._cell(space), model_key(space), 0

        def erased(catalog: Catalog) -> Catalog:
            nonlocal removed
            removed = sum(segment.chunks for segment in catalog.of_model(model))
            return catalog.without_model(model)

        await self._cells.change(cell, erased)
        await self._sweep(cell)
        return removed

    async def search(self, spaces: Sequence[IndexSpace], query: ChunkQuery) -> Sequence[FoundChunk]:
        """Return the chunks that fit best; see `ChunkIndex`.

        Raises `ChunkIndexUnavailableError` where the store lacks a part of a segment.
        """
        if not spaces:
            return []
        checked_vector(query.vector, one_model(spaces)[1])
        missed: list[Catalog] | None = None
        while True:
            catalogs = await gathered(self._cells.read(self._cell(space)) for space in spaces)
            try:
                return await self._search(spaces, catalogs, query)
            except SegmentGoneError as error:
                if catalogs == missed:
                    logger.error("%s are missing.", error)
                    raise ChunkIndexUnavailableError(
                        "The index of these files lacks a part. Delete the files and upload them again."
                    ) from error
                missed = catalogs

    async def sweep(self, after: float, before: float) -> None:
        """Erase what no catalog names, in scopes that were written to from `after` on and before `before`.

        The moments are in seconds since 1970. Only a process that slept while its file was removed leaves anything.
        """
        for _, name in await self._objects.put_between(self._space, after, before):
            await self._sweep(_cell_of(name))

    async def close(self) -> None:
        """Let go of memory."""
        self._reader = SegmentReader(self._objects, self._cached_bytes)

    async def _search(
        self, spaces: Sequence[IndexSpace], catalogs: Sequence[Catalog], query: ChunkQuery
    ) -> list[FoundChunk]:
        shelves = [self._shelf(space) for space in spaces]
        words = query_words(query.text)
        loaded = list[tuple[int, LoadedSegment]]()
        for number, (shelf, catalog) in enumerate(zip(shelves, catalogs, strict=True)):
            segments = await self._reader.segments(shelf, catalog.of_model(shelf.model))
            await self._reader.read_words(shelf, segments, words)
            loaded += [(number, segment) for segment in segments]
        if not loaded:
            return []
        searched = Searched(loaded)
        best = await asyncio.to_thread(searched.best, query.vector, words, query.most, query.file_ids)
        chunks = await self._reader.texts(shelves, [row for row, _ in best])
        return [
            FoundChunk(row.segment.file_of(row.row), chunk, score)
            for (row, score), chunk in zip(best, chunks, strict=True)
        ]

    async def _replace(self, space: IndexSpace, file_id: str, contents: Sequence[SegmentContents]) -> int:
        """Put the contents in the place of all that there is of the file, and return how many chunks that was."""
        cell, may_join = self._cell(space), True
        async with self._turns.turn(cell.address):
            while True:
                catalog = await self._cells.read(cell)
                try:
                    plan = await self._planned(space, catalog, file_id, contents, may_join=may_join)
                    await self._carry_out(space, cell, plan)
                except LostChangeError:
                    may_join = False
                except SegmentGoneError as error:
                    if await self._cells.read(cell) == catalog:
                        raise ChunkIndexUnavailableError from error
                else:
                    return plan.removed

    async def _planned(
        self, space: IndexSpace, catalog: Catalog, file_id: str, contents: Sequence[SegmentContents], *, may_join: bool
    ) -> _Plan:
        store_key, model = self._store_key(space), model_key(space)
        segments = catalog.of_model(model)
        files = await self._reader.files(store_key, segments)
        holders = [segment for segment in segments if any(rows.file_id == file_id for rows in files[segment.name])]
        removed = sum(_rows_of(files[segment.name], file_id) for segment in holders)
        comes = {_new_name(): (part, model) for part in contents}
        replaced = list(holders)
        for segment in holders:
            if segment.chunks > _rows_of(files[segment.name], file_id):
                rest = (await self._contents(space, segment)).without(file_id)
                comes[_new_name()] = (rest, segment.model)
        if may_join and contents:
            last = next(reversed(contents))
            smaller = _smaller(len(last.chunks), [segment for segment in segments if segment not in holders])
            whole = joined_contents([last, *[await self._contents(space, segment) for segment in smaller]])
            comes = {name: (whole if part is last else part, key) for name, (part, key) in comes.items()}
            replaced += smaller
        change = CatalogChange(
            file_id,
            model,
            tuple(Segment(name, len(part.chunks), key) for name, (part, key) in comes.items()),
            tuple(segment.name for segment in replaced),
        )
        return _Plan(change, {name: part for name, (part, _) in comes.items()}, replaced, removed)

    async def _carry_out(self, space: IndexSpace, cell: Cell[Catalog], plan: _Plan) -> None:
        change, store_key = plan.change, self._store_key(space)
        if change.comes:
            await self._cells.change(cell, lambda catalog: catalog.announced(change))
        try:
            for name, contents in plan.contents.items():
                objects = await asyncio.to_thread(encode_segment, name, contents)
                await self._objects.put(store_key, objects)
            await self._cells.change(cell, lambda catalog: catalog.made(change))
        except LostChangeError:
            await self._erase_segments(store_key, change.comes)
            raise
        self._reader.forget(self._shelf(space), change.replaces)
        await self._erase_segments(store_key, plan.replaced)

    async def _contents(self, space: IndexSpace, segment: Segment) -> SegmentContents:
        names = contents_names(segment.name, segment.chunks)
        objects = await self._reader.objects(self._store_key(space), names)
        return await asyncio.to_thread(decode_contents, segment.name, segment.chunks, objects)

    async def _erase_segments(self, store_key: StoreKey, segments: Sequence[Segment]) -> None:
        names = [name for segment in segments for name in object_names(segment.name, segment.chunks)]
        if names:
            await self._objects.erase(store_key, names)

    async def _sweep(self, cell: Cell[Catalog]) -> None:
        """Erase what the catalog does not name. It is read last: what is named since has not been listed."""
        store_key = StoreKey(self._space, cell.address.key)
        names = await self._objects.names(store_key)
        if names:
            present = (await self._cells.read(cell)).names()
            unnamed = [name for name in names if name.partition("-")[0] not in present]
            await self._objects.erase(store_key, unnamed)
        await self._cells.store.scrub()  # older catalogs name files

    def _cell(self, space: IndexSpace) -> Cell[Catalog]:
        scope = json.dumps([space.agent, space.owner, space.thread_id, space.epoch])
        key = hashlib.sha256(scope.encode()).hexdigest()[:_KEY_DIGITS]
        return Cell(CATALOGS, space.agent or APP, space.owner or APP, key)

    def _store_key(self, space: IndexSpace) -> StoreKey:
        return StoreKey(self._space, self._cell(space).address.key)

    def _shelf(self, space: IndexSpace) -> SegmentShelf:
        return SegmentShelf(self._cell(space).address, self._store_key(space), model_key(space), space.size)


def _contents(space: IndexSpace, file_id: str, chunks: Sequence[IndexedChunk]) -> list[SegmentContents]:
    for indexed in chunks:
        checked_vector(indexed.vector, space.size)
    return list(segment_contents(file_id, chunks))


def _rows_of(files: Sequence[FileRows], file_id: str) -> int:
    return sum(rows.chunks for rows in files if rows.file_id == file_id)


def _smaller(chunks: int, segments: Sequence[Segment]) -> list[Segment]:
    """Return which segments are joined to a new one: each that is no larger than what there is by then."""
    smaller = list[Segment]()
    for segment in sorted(segments, key=lambda segment: segment.chunks):
        if segment.chunks > chunks or segment.chunks + chunks > MOST_CHUNKS:
            break
        smaller.append(segment)
        chunks += segment.chunks
    return smaller


def _new_name() -> str:
    return new_id()[:_NAME_DIGITS]


def _cell_of(name: str) -> Cell[Catalog]:
    """Return the cell of the scope whose segments lie under that name."""
    agent, _, rest = name.partition(f".{CATALOGS.name}.")
    owner, _, key = rest.partition("~")
    return Cell(CATALOGS, agent_of_key(agent), owner, key)
