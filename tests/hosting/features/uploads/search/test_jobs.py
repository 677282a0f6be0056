"""The job that makes a file ready: killed at any call of a store it goes on, and a file that goes leaves nothing."""

from __future__ import annotations

from collections import Counter

import pytest

from hosting.features.uploads.records import FileIndex, UploadedFile
from hosting.features.uploads.search.index.contract import ChunkQuery, FoundChunk
from hosting.features.uploads.search.jobs import BATCH, MOST_TRIES
from hosting.features.uploads.search.older_recipes import space_of
from hosting.features.uploads.search.provider import FileSearch
from tests.support.hashed_words import HashedWords
from tests.support.searched_files import OWNERS, KilledError, Process, SearchedFiles
from tests.support.searcher import searcher

SPACES = ("file-search", "file-index")
LONG = "\n\n".join(f"Paragraph {number} tells of subject{number}." for number in range(1800))
"""Some batches of chunks of 100 tokens."""


class App(SearchedFiles):
    """The app with one agent that searches, and the client of its embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.embeddings = HashedWords()

    def begun(self) -> Process:
        search = FileSearch(embeddings=self.embeddings, chunk_tokens=100, overlap_tokens=0)
        return self.process(searcher(search))


async def index_of(process: Process, file: UploadedFile) -> FileIndex:
    """Return how far the only job of a file is."""
    [index] = (await process.uploads.read(OWNERS, file.id)).indexes.values()
    return index


async def found(process: Process, query: str) -> list[FoundChunk]:
    [search] = process.part.searches.searching(OWNERS).values()
    [(model, vector)] = await search.embedder.embedded([query])
    space = space_of(OWNERS, search.recipe, model, len(vector))
    return [*await process.part.index.search([space], ChunkQuery(vector, query, 3))]


@pytest.mark.behaviour("file-search.ready")
async def test_a_stored_file_becomes_ready_step_by_step() -> None:
    """Its record says how far it is; in the end the batches are gone and the index has its chunks."""
    app = App()
    process = app.begun()
    file = await process.upload(LONG)
    [instance] = app.engine.waiting

    states = [(await index_of(process, file)).state]
    while app.engine.waiting:
        await process.take(instance)
        states.append((await index_of(process, file)).state)

    index = await index_of(process, file)
    assert [*dict.fromkeys(states)] == ["queued", "embedding", "ready"]
    assert index.chunks == index.embedded > 2 * BATCH
    assert [len(texts) for texts in app.embeddings.asked][:2] == [BATCH, BATCH]
    assert await app.left("file-search") == []
    assert "subject1700." in (await found(process, "subject1700"))[0].chunk.text


async def killed_at(app: App, number: int) -> tuple[Process, UploadedFile, int]:
    """Upload a file and make it ready, while the process ends at that call of a store; return how many there were."""
    made = 0

    async def count(name: str) -> None:
        nonlocal made
        made += 1
        if made == number:
            raise KilledError

    process = app.begun()
    file = await process.upload(LONG)
    [instance] = app.engine.waiting
    app.calls.on_call = count
    while app.engine.waiting:
        try:
            await process.take(instance)
        except KilledError:
            process = app.begun()  # and the engine delivers the step again
    app.calls.on_call = None
    return process, file, made


@pytest.mark.slow
@pytest.mark.behaviour("file-search.once")
async def test_a_job_that_is_killed_at_any_call_goes_on_and_embeds_a_recorded_batch_never_again() -> None:
    plain = App()
    process, _, calls = await killed_at(plain, 0)
    expected = [hit.chunk for hit in await found(process, "subject1700")]
    batches = len(plain.embeddings.asked) - 1
    again: list[int] = []

    for number in range(1, calls + 1):
        app = App()
        process, file, _ = await killed_at(app, number)
        times = Counter(map(tuple, app.embeddings.asked))

        assert (await index_of(process, file)).state == "ready", number
        assert [hit.chunk for hit in await found(process, "subject1700")] == expected, number
        assert len(times) == batches, number
        again.append(times.total() - batches)
        assert await app.left("file-search") == [], number
        app.now += 60.0
        await process.part.sweep()
        assert len(await app.left("file-index")) == len(await plain.left("file-index")), number

    assert set(again) == {0, 1}
    assert again.count(1) == batches  # one for each batch: behind its embedding and before its record


@pytest.mark.slow
@pytest.mark.behaviour("file-search.erased")
@pytest.mark.parametrize("comes_back", [False, True])
async def test_a_file_that_is_deleted_at_any_call_of_its_job_leaves_nothing(comes_back: bool) -> None:
    calls = (await killed_at(App(), 0))[2]

    for number in range(1, calls + 1):
        app, made = App(), 0
        process = app.begun()
        file = await process.upload(LONG)
        [instance] = app.engine.waiting

        async def delete(name: str, app: App = app, file: UploadedFile = file, number: int = number) -> None:
            nonlocal made
            made += 1
            if made == number:
                app.calls.on_call = None
                await app.begun().uploads.delete(OWNERS, file.id)
                if comes_back:
                    raise KilledError

        app.calls.on_call = delete
        while app.engine.waiting:
            try:
                await process.take(instance)
            except KilledError:
                process = app.begun()
        app.calls.on_call = None

        assert await app.left(*SPACES, "uploads") == [], number
        assert await found(process, "subject1700") == [], number


@pytest.mark.behaviour("file-search.retried")
async def test_a_client_that_is_away_has_the_step_come_again_after_growing_pauses() -> None:
    """In the end the file has failed, and says why; before that it goes on where it was."""
    app = App()
    process = app.begun()
    file = await process.upload("One tea, please.")
    [instance] = app.engine.waiting
    app.embeddings.is_away = True

    await process.take(instance)
    pauses = [await process.take(instance) for _ in range(MOST_TRIES)]
    waiting = (await index_of(process, file)).state
    await process.take(instance)
    index = await index_of(process, file)

    assert pauses[:4] == [15.0, 30.0, 60.0, 120.0]
    assert pauses == sorted(pauses)
    assert 40_000 < sum(pauses) < 50_000
    assert (waiting, index.state, index.code) == ("embedding", "failed", "embeddings_unavailable")
    assert index.error == "The embedding client failed again and again. Search again when it works."
    assert await app.left("file-search") == []


@pytest.mark.behaviour("file-search.retried")
async def test_a_file_without_text_has_failed_with_a_code_and_a_sentence() -> None:
    """It is not tried again: its text stays the same."""
    app = App()
    process = app.begun()
    file = await process.upload(" \n\n ", "a.txt")

    await process.work()

    index = await index_of(process, file)
    assert (index.state, index.code) == ("failed", "file_has_no_text")
    assert index.error.startswith("The file has no text.")
    assert app.embeddings.asked == []
