"""An index that an app's author gives: what it raises is said in words of ours, and the work is done later."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hosting.features.uploads.search.index.contract import (
    ChunkQuery,
    FoundChunk,
    IndexedChunk,
    IndexSpace,
)
from hosting.features.uploads.search.provider import FileSearch
from tests.support.hashed_words import HashedWords
from tests.support.library import FILES, library
from tests.support.searched_files import OWNERS, SearchedFiles
from tests.support.searcher import NOTHING, searcher


class Away:
    """Keeps files, unless it `is_away`, or `refuses` them."""

    def __init__(self) -> None:
        self.files: dict[tuple[IndexSpace, str], Sequence[IndexedChunk]] = {}
        self.is_away = self.refuses = False

    async def add(self, space: IndexSpace, file_id: str, chunks: Sequence[IndexedChunk]) -> None:
        self._go()
        if self.refuses:
            raise ValueError("a secret of the index")
        self.files[space, file_id] = chunks

    async def remove(self, space: IndexSpace, file_id: str) -> int:
        self._go()
        return sum(len(self.files.pop(key)) for key in [*self.files] if key[1] == file_id)

    async def search(self, spaces: Sequence[IndexSpace], query: ChunkQuery) -> Sequence[FoundChunk]:
        self._go()
        return [FoundChunk(key[1], each.chunk, 0.5) for key, chunks in self.files.items() for each in chunks]

    async def erase(self, space: IndexSpace) -> int:
        self._go()
        return 0

    async def close(self) -> None:
        self._go()

    def _go(self) -> None:
        if self.is_away:
            raise ConnectionError("a secret of the index")


@pytest.mark.behaviour("file-index.given")
async def test_a_job_goes_on_when_the_index_is_there_again_and_fails_where_it_takes_no_more() -> None:
    app, given, embeddings = SearchedFiles(), Away(), HashedWords()
    process = app.process(searcher(FileSearch(embeddings=embeddings, index=given)))
    given.is_away = True
    file = await process.upload("One tea, please.")
    [instance] = app.engine.waiting
    pauses = [await process.take(instance) for _ in range(4)]
    given.is_away = False
    await process.work()
    given.refuses = True
    refused = await process.upload("One coffee, please.")
    await process.work()

    assert pauses[-2:] == [15.0, 30.0]
    assert [len(chunks) for chunks in given.files.values()] == [1]
    assert len(embeddings.asked) == 2
    [ready] = (await process.uploads.read(OWNERS, file.id)).indexes.values()
    [failed] = (await process.uploads.read(OWNERS, refused.id)).indexes.values()
    assert (ready.state, failed.state, failed.code) == ("ready", "failed", "index_refused")
    assert "secret" not in failed.error


@pytest.mark.behaviour("file-index.given")
async def test_a_search_and_a_deletion_say_that_the_index_is_away() -> None:
    """Neither shows its words; the deletion is due, and the file is gone already."""
    given = Away()
    async with library(searcher(FileSearch(embeddings=HashedWords(), index=given))) as app:
        file = await app.upload("ann", "One oolong, please.")
        found = await app.say("ann", "search oolong")
        given.is_away = True
        away = await app.say("ann", "search oolong", "u")
        deleted = await app.ask("ann", "DELETE", f"{FILES}/{file['file_id']}")
        listed = (await app.ask("ann", "GET", FILES)).json()["files"]

    assert [citation["name"] for citation in found["citations"]] == ["a.txt"]
    assert away["response"] == f"{NOTHING} The index of files cannot be reached. Try again."
    assert (deleted.status_code, deleted.json()["code"]) == (503, "chunk_index_unavailable")
    assert listed == []
