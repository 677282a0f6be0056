"""A model or a size of chunks that changes: files are made ready anew, and what the older ones made goes."""

from __future__ import annotations

import json
from itertools import count

import pytest

from hosting.features.uploads.records import UploadedFile
from hosting.features.uploads.search.index.contract import ChunkQuery
from hosting.features.uploads.search.job_steps import TIDY_SECONDS
from hosting.features.uploads.search.jobs import BATCH
from hosting.features.uploads.search.older_recipes import space_of
from hosting.features.uploads.search.provider import FileSearch
from tests.support.hashed_words import HashedWords
from tests.support.searched_files import OWNERS, KilledError, Process, SearchedFiles
from tests.support.searcher import searcher

LONG = "\n\n".join(f"Paragraph {number} tells of subject{number}." for number in range(1800))


class App(SearchedFiles):
    """The app of an agent whose model of embeddings changes."""

    def __init__(self) -> None:
        super().__init__()
        self.older, self.newer = HashedWords("older"), HashedWords("newer", size=64)

    def before(self) -> Process:
        return self.process(searcher(FileSearch(embeddings=self.older, chunk_tokens=100, overlap_tokens=0)))

    def after(self) -> Process:
        return self.process(searcher(FileSearch(embeddings=self.newer, chunk_tokens=100, overlap_tokens=0)))


async def vectors_of(process: Process, file: UploadedFile, recipe: str, model: str, size: int) -> int:
    """Return how many chunks the index has that a recipe made."""
    space = space_of(OWNERS, recipe, model, size)
    query = ChunkQuery([1.0] * size, "subject1700", 5000, frozenset({file.id}))
    return len(await process.part.index.search([space], query))


async def changed(app: App) -> tuple[UploadedFile, str]:
    """Return a file that the older app has made ready and the newer one begins, and the older recipe."""
    process = app.before()
    file = await process.upload(LONG)
    await process.work()
    [older] = (await process.uploads.read(OWNERS, file.id)).indexes
    process = app.after()
    [newer] = process.part.searches.searching(OWNERS)
    await process.part.searches.begin(OWNERS, file, newer, process.client)
    return file, older


async def recipes_of(process: Process, file: UploadedFile) -> list[str]:
    return [*(await process.uploads.read(OWNERS, file.id)).indexes]


@pytest.mark.behaviour("file-search.replaced")
async def test_vectors_of_an_older_model_go_an_hour_after_the_newer_ones_are_there() -> None:
    app = App()
    file, older = await changed(app)
    process = app.after()
    [instance] = app.engine.waiting
    waits = 0.0
    while not waits:
        waits = await process.take(instance)
    process_before = app.before()
    there = await vectors_of(process_before, file, older, "older", 256)
    asked = len(app.older.asked)
    await process_before.part.stored(OWNERS, await process_before.uploads.read(OWNERS, file.id), process.client)
    while app.engine.waiting:
        await process.take(instance)

    [recipe] = await recipes_of(process, file)
    chunks = (await process.uploads.read(OWNERS, file.id)).indexes[recipe].chunks
    assert (waits, there, recipe != older) == (TIDY_SECONDS, chunks, True)
    assert await vectors_of(process, file, older, "older", 256) == 0
    assert await vectors_of(process, file, recipe, "newer", 64) == chunks
    assert len(app.older.asked) == asked
    assert await app.left("file-search") == []


@pytest.mark.slow
@pytest.mark.behaviour("file-search.replaced")
@pytest.mark.parametrize("deleted", [False, True])
async def test_a_process_that_dies_at_any_call_leaves_the_newer_vectors_alone(deleted: bool) -> None:
    """And nothing of the older ones; of a file that is deleted meanwhile nothing at all."""
    for dies_at in count(1):
        app, made = App(), 0
        file, older = await changed(app)
        [instance] = app.engine.waiting

        async def call(name: str, app: App = app, file: UploadedFile = file, dies_at: int = dies_at) -> None:
            nonlocal made
            made += 1
            if made == dies_at:
                app.calls.on_call = None
                if deleted:
                    await app.after().uploads.delete(OWNERS, file.id)
                raise KilledError

        while app.engine.waiting[instance].get("do") != "tidy":
            await app.after().take(instance)
        app.calls.on_call = call
        while app.engine.waiting:
            try:
                await app.after().take(instance)
            except KilledError:
                continue
        is_over, app.calls.on_call = made < dies_at, None
        process = app.after()
        assert await vectors_of(process, file, older, "older", 256) == 0, dies_at
        if deleted and not is_over:
            assert await app.left("file-search", "file-index", "uploads") == [], dies_at
        else:
            assert older not in await recipes_of(process, file), dies_at
            assert await app.left("file-search") == [], dies_at
        if is_over:
            break

    assert dies_at > 3


@pytest.mark.behaviour("file-search.replaced")
async def test_a_job_of_the_older_recipe_that_is_still_at_work_leaves_nothing() -> None:
    app = App()
    process = app.before()
    file = await process.upload(LONG)
    [job] = app.engine.waiting
    while app.engine.waiting[job].get("do") != "index":
        await process.take(job)
    [older] = await recipes_of(process, file)
    late = dict(app.engine.waiting.pop(job))
    process = app.after()
    [newer] = process.part.searches.searching(OWNERS)
    await process.part.searches.begin(OWNERS, file, newer, process.client)

    async def replaced(name: str) -> None:
        app.calls.on_call = None
        await app.after().work()

    app.calls.on_call = replaced  # in the middle of the older job's last step
    assert await app.before().part.step(json.dumps(late)) == ""
    process = app.after()

    assert await recipes_of(process, file) == [newer]
    assert await vectors_of(process, file, older, "older", 256) == 0
    assert await vectors_of(process, file, newer, "newer", 64) > BATCH
    assert await app.left("file-search") == []
