"""A search in 300,000 chunks of one owner's files, with vectors of 1,536 numbers, in the app's own index.

All vectors are compared. The searches are made by a new process, which has read nothing of the index before its first.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.app_folder import ROOT, temporary_folder
from benchmarks.chunk_index import opened_index, space_of
from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.host_process import HostStartError
from benchmarks.resident import resident_megabytes
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from hosting.features.uploads.search.chunk import Chunk, TextPlace
from hosting.features.uploads.search.index.contract import ChunkQuery, IndexedChunk
from hosting.features.uploads.search.index.segments import MOST_CHUNKS
from hosting.features.uploads.search.index.stored import StoredChunkIndex

NUMBERS = 1536
WORDS = 50_000
_CHUNK_WORDS = 100
_QUERY_WORDS = 8
_GUARD_SECONDS = 600
_SPACE = space_of(NUMBERS)


class _Dice:
    """Vectors and texts at random, the same in each run; a common word stands in most texts, as in a language."""

    def __init__(self, seed: int) -> None:
        self._dice = np.random.default_rng(seed)

    def vector(self) -> list[float]:
        vector: list[float] = self._dice.standard_normal(NUMBERS, dtype=np.float32).tolist()
        return vector

    def text(self, words: int) -> str:
        ranks = np.minimum(self._dice.zipf(1.2, words), WORDS)
        return " ".join(f"w{rank}" for rank in ranks)

    def file(self, chunks: int) -> Iterator[IndexedChunk]:
        for number in range(chunks):
            yield IndexedChunk(Chunk(number, self.text(_CHUNK_WORDS), TextPlace()), self.vector())

    def query(self, words: int = _QUERY_WORDS) -> ChunkQuery:
        return ChunkQuery(self.vector(), self.text(words) if words else "", most=20)


async def measure(sizes: Sizes) -> Result:
    """Over SQLite files; a search returns 20 chunks. `a search` is by meaning and by words."""
    with temporary_folder() as folder:
        await _index(folder, sizes.indexed_chunks)
        command = [sys.executable, "-m", __name__, str(folder), str(sizes.file_searches)]
        searched = await asyncio.to_thread(
            subprocess.run, command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=_GUARD_SECONDS
        )
    if searched.returncode:
        raise HostStartError(f"The searches failed. The process said:\n{searched.stderr[-2000:]}")
    told = json.loads(searched.stdout)
    return Result(
        (
            milliseconds("a search, p50", told["both"]),
            milliseconds("a search, slowest", told["slowest"]),
            milliseconds("of processors, p50", told["processor"]),
            milliseconds("by meaning alone, p50", told["meaning"]),
            Figure("first search of a process, which reads the index", told["first"], "s"),
            Figure("memory of the index", told["memory"], "MB"),
        )
    )


async def _index(folder: Path, chunks: int) -> None:
    index, dice = opened_index(folder), _Dice(1)
    for first in range(0, chunks, MOST_CHUNKS):
        await index.add(_SPACE, f"file-{first}", list(dice.file(min(MOST_CHUNKS, chunks - first))))
    await index.close()


async def searched(folder: Path, searches: int) -> dict[str, Any]:
    """Return what searches of this process took, in seconds, and what it holds of the index, in megabytes."""
    dice, before = _Dice(2), resident_megabytes(os.getpid())
    index = opened_index(folder)
    first = await _taken(index, dice.query())
    memory = resident_megabytes(os.getpid()) - before
    both, used = list[float](), list[float]()
    for _ in range(searches):
        query, began = dice.query(), time.process_time()
        both.append(await _taken(index, query))
        used.append(time.process_time() - began)
    meaning = [await _taken(index, dice.query(words=0)) for _ in range(searches)]
    await index.close()
    seconds = {"both": median(both), "slowest": max(both), "processor": median(used), "meaning": median(meaning)}
    return {**seconds, "first": first, "memory": memory}


async def _taken(index: StoredChunkIndex, query: ChunkQuery) -> float:
    """Return how many seconds a search took. Raises `ValueError` for one that found too little."""
    began = time.perf_counter()
    hits = await index.search([_SPACE], query)
    seconds = time.perf_counter() - began
    if len(hits) != query.most:
        raise ValueError(f"A search found {len(hits)} chunks instead of {query.most}.")
    return seconds


if __name__ == "__main__":
    print(json.dumps(asyncio.run(searched(Path(sys.argv[1]), int(sys.argv[2])))))
