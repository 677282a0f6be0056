"""A search in 300,000 chunks of one owner's files, with vectors of 1,536 numbers, in the app's own index.

All vectors are compared. A search in a process that has the index is measured apart from the first one, which reads it.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.resident import resident_megabytes
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from hosting.core.cells import Cells
from hosting.core.stores.sqlite import SqliteThreadStore
from hosting.core.stores.sqlite_objects import ATTACHMENTS, SqliteObjects
from hosting.core.stores.sqlite_writer import StoreFile
from hosting.core.thread_log import ThreadLog
from hosting.errors import AttachmentsUnavailableError
from hosting.features.uploads.search.chunk import Chunk, TextPlace
from hosting.features.uploads.search.index.contract import ChunkQuery, IndexedChunk, IndexSpace
from hosting.features.uploads.search.index.segments import MOST_CHUNKS
from hosting.features.uploads.search.index.stored import StoredChunkIndex

NUMBERS = 1536
WORDS = 50_000
_CHUNK_WORDS = 100
_QUERY_WORDS = 8
_HUB = "benchmark"
_SPACE = IndexSpace("assistant", "person", model="model", size=NUMBERS)


class _Dice:
    """Vectors and texts at random, the same in each run; a common word stands in most texts, as in a language."""

    def __init__(self) -> None:
        self._dice = np.random.default_rng(1)

    def vector(self) -> list[float]:
        vector: list[float] = self._dice.standard_normal(NUMBERS, dtype=np.float32).tolist()
        return vector

    def text(self, words: int) -> str:
        ranks = np.minimum(self._dice.zipf(1.2, words), WORDS)
        return " ".join(f"w{rank}" for rank in ranks)

    def file(self, chunks: int) -> Iterator[IndexedChunk]:
        for number in range(chunks):
            yield IndexedChunk(Chunk(number, self.text(_CHUNK_WORDS), TextPlace()), self.vector())

    def query(self) -> ChunkQuery:
        return ChunkQuery(self.vector(), self.text(_QUERY_WORDS), most=20)


def _opened(folder: Path) -> StoredChunkIndex:
    objects = SqliteObjects(StoreFile(ATTACHMENTS, folder / "objects.sqlite", AttachmentsUnavailableError))
    store = SqliteThreadStore(folder / "log.sqlite", _HUB)
    return StoredChunkIndex(Cells(store, ThreadLog(store, objects, _HUB)), objects, _HUB)


async def measure(sizes: Sizes) -> Result:
    """In this process, over SQLite files; a search is by meaning and by words, and returns 20 chunks."""
    dice = _Dice()
    with tempfile.TemporaryDirectory() as name:
        await _index(Path(name), dice, sizes.indexed_chunks)
        before = resident_megabytes(os.getpid())
        index = _opened(Path(name))
        first = await _taken(index, dice.query())
        loaded = resident_megabytes(os.getpid())
        taken, used = list[float](), list[float]()
        for _ in range(sizes.file_searches):
            query, began = dice.query(), time.process_time()
            taken.append(await _taken(index, query))
            used.append(time.process_time() - began)
        await index.close()
    return Result(
        (
            milliseconds("a search, p50", median(taken)),
            milliseconds("of processors, p50", median(used)),
            Figure("the first search, which reads the index", first, "s"),
            Figure("memory of the index", loaded - before, "MB"),
        )
    )


async def _index(folder: Path, dice: _Dice, chunks: int) -> None:
    index = _opened(folder)
    for first in range(0, chunks, MOST_CHUNKS):
        await index.add(_SPACE, f"file-{first}", list(dice.file(min(MOST_CHUNKS, chunks - first))))
    await index.close()


async def _taken(index: StoredChunkIndex, query: ChunkQuery) -> float:
    """Return how many seconds a search took. Raises `ValueError` for one that found too little."""
    began = time.perf_counter()
    hits = await index.search([_SPACE], query)
    seconds = time.perf_counter() - began
    if len(hits) != query.most:
        raise ValueError(f"A search found {len(hits)} chunks instead of {query.most}.")
    return seconds
