"""How much of what is nearest the quantised search of files finds: recall@10 beside an exact one, on verses.

62,000 verses of two translations of the Bible are indexed, and each query is a verse of a third one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np

from benchmarks.app_folder import temporary_folder
from benchmarks.chunk_index import opened_index, space_of
from benchmarks.figures import Figure, Result
from benchmarks.sizes import Sizes
from benchmarks.verses import Embedding, Numbers, installed_verses
from hosting.features.uploads.search.chunk import Chunk, TextPlace
from hosting.features.uploads.search.index.contract import ChunkQuery, IndexedChunk
from hosting.features.uploads.search.index.segments import MOST_CHUNKS

NEAREST = 10
SIZE = 384
_SAME = 1e-6
"""So far apart are two likenesses that count as equal: some verses are the same in both translations."""


async def measure(sizes: Sizes) -> Result:
    """With two embeddings of our own, of 384 numbers. A vector without a direction, of unknown words, is left out."""
    with temporary_folder() as folder:
        verses = await asyncio.to_thread(installed_verses, folder)
    texts = [*verses["kjv"], *verses["asv"]][: sizes.recalled_chunks]
    asked = verses["bbe"][:: max(1, len(verses["bbe"]) // sizes.recalls)][: sizes.recalls]
    embedding = Embedding(texts, SIZE)
    by_words = await _recall(texts, embedding.by_words(texts), embedding.by_words(asked))
    by_topics = await _recall(texts, embedding.by_topics(texts), embedding.by_topics(asked))
    return Result(
        (
            Figure("chunks", len(texts)),
            Figure("queries", len(asked)),
            Figure("of words, recall@10", by_words),
            Figure("of topics, recall@10", by_topics),
        )
    )


async def _recall(texts: Sequence[str], vectors: Numbers, queries: Numbers) -> float:
    """Return which share of the ten nearest of each query the index names as its ten nearest."""
    rows = np.flatnonzero(np.abs(vectors).sum(axis=1))
    with temporary_folder() as folder:
        index = opened_index(folder)
        for first in range(0, len(rows), MOST_CHUNKS):
            part = rows[first : first + MOST_CHUNKS]
            chunks = [IndexedChunk(Chunk(int(row), texts[row], TextPlace()), vectors[row].tolist()) for row in part]
            await index.add(space_of(SIZE), f"file-{first}", chunks)
        shares = list[float]()
        for query in queries[np.abs(queries).sum(axis=1) > 0]:
            exact = vectors @ query
            least = np.partition(exact, -NEAREST)[-NEAREST] - _SAME
            hits = await index.search([space_of(SIZE)], ChunkQuery(query.tolist(), most=NEAREST))
            shares.append(sum(bool(exact[hit.chunk.number] >= least) for hit in hits) / NEAREST)
        await index.close()
    return float(np.mean(shares))
