"""Jobs that do not lead on: an answer that is no vector, an index that fails, a version that is gone, packages, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import pytest
from agent_framework import Embedding, GeneratedEmbeddings

from hosting.features.uploads.records import FileIndex
from hosting.features.uploads.search.jobs import MOST_RESTARTS, MOST_TRIES
from hosting.features.uploads.search.provider import FileSearch
from tests.support.hashed_words import HashedWords
from tests.support.searched_files import OWNERS, Process, SearchedFiles
from tests.support.searcher import searcher

Vectors = list[Any]
TEXT = "\n\n".join(f"Paragraph {number} tells of subject{number}." for number in range(900))
"""Some batches of chunks of 100 tokens."""


class SpoiltWords(HashedWords):
    """Its answers are spoilt, once they are there."""

    def __init__(self, spoilt: Callable[[Vectors], Vectors]) -> None:
        super().__init__()
        self._spoilt = spoilt

    async def get_embeddings(self, values: Sequence[str], *, options: Any = None) -> GeneratedEmbeddings[Any, Any]:
        answered = await super().get_embeddings(values, options=options)
        vectors = self._spoilt([embedding.vector for embedding in answered])
        return GeneratedEmbeddings([Embedding(vector, model=self.answering) for vector in vectors])


def begun(app: SearchedFiles, embeddings: Any, chunk_tokens: int = 100, **options: Any) -> Process:
    """Return a process whose only agent searches by that client."""
    search = FileSearch(embeddings=embeddings, chunk_tokens=chunk_tokens, overlap_tokens=0, **options)
    return app.process(searcher(search))


async def indexes(process: Process, file_id: str) -> list[FileIndex]:
    return [*(await process.uploads.read(OWNERS, file_id)).indexes.values()]


async def ended(process: Process, most: int = 1000) -> int:
    """Take steps until no job is left, and return how many there were; a job that does not end is an error."""
    for taken in count():
        if not process.app.engine.waiting:
            return taken
        assert taken < most, "The job does not end."
        [instance, *_] = process.app.engine.waiting
        process.app.now += await process.take(instance)
    raise AssertionError


@pytest.mark.behaviour("file-search.ended")
@pytest.mark.parametrize(
    "spoilt",
    [
        lambda vectors: [[float("nan"), *vectors[0][1:]], *vectors[1:]],
        lambda vectors: [[0.0] * len(vector) for vector in vectors],
        lambda vectors: [[float("inf"), *vectors[0][1:]], *vectors[1:]],
        lambda vectors: [[number * 1e39 for number in vector] for vector in vectors],
        lambda vectors: [[number * 1e-40 for number in vector] for vector in vectors],
        lambda vectors: vectors[1:],
        lambda vectors: [*vectors, vectors[0]],
        lambda vectors: [vectors[0][1:], *vectors[1:]],
        lambda vectors: [[None], *vectors[1:]],
        lambda vectors: [[] for _ in vectors],
    ],
    ids=["nan", "zero", "infinite", "too large", "too small", "one less", "one more", "other size", "none", "empty"],
)
async def test_a_client_that_answers_what_is_no_vector_is_one_that_failed(
    spoilt: Callable[[Vectors], Vectors],
) -> None:
    """The batch is tried again after growing pauses, and in the end the file has failed; nothing is in the index."""
    app = SearchedFiles()
    process = begun(app, SpoiltWords(spoilt))
    file = await process.upload(TEXT)

    steps = await ended(process)

    [index] = await indexes(process, file.id)
    assert (index.state, index.code) == ("failed", "embeddings_unavailable")
    assert steps == MOST_TRIES + 2  # one that read, and the first try
    assert await app.left("file-search", "file-index") == []


@pytest.mark.behaviour("file-search.ended")
async def test_a_client_that_answers_by_two_models_in_turn_is_asked_a_bounded_number_of_times() -> None:
    """Each answer costs money, and none of them is of use."""

    class TwoWords(HashedWords):
        async def get_embeddings(self, values: Sequence[str], *, options: Any = None) -> GeneratedEmbeddings[Any, Any]:
            self.answering = f"hashed-words-{len(self.asked) % 2}"
            return await super().get_embeddings(values, options=options)

    app = SearchedFiles()
    embeddings = TwoWords()
    process = begun(app, embeddings)
    file = await process.upload(TEXT)
    began = app.now

    await ended(process)

    [index] = await indexes(process, file.id)
    assert (index.state, index.code) == ("failed", "embeddings_unavailable")
    assert index.error.startswith("The embedding client answers by one model and then by another.")
    assert len(embeddings.asked) == 2 * (MOST_RESTARTS + 1)
    assert 900 < app.now - began < 1000
    assert await app.left("file-search", "file-index") == []
