"""The job that makes a file ready: killed at any call, fed nonsense, and replaced by another recipe."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import count
from typing import Any

import pytest
from agent_framework import Embedding, GeneratedEmbeddings

from hosting.features.uploads.records import FileIndex, UploadedFile
from hosting.features.uploads.search import jobs
from hosting.features.uploads.search.index.contract import ChunkQuery, FoundChunk
from hosting.features.uploads.search.jobs import MOST_RESTARTS, MOST_TRIES
from hosting.features.uploads.search.older_recipes import space_of
from hosting.features.uploads.search.provider import FileSearch
from tests.support.hashed_words import HashedWords
from tests.support.searched_files import OWNERS, KilledError, Process, SearchedFiles
from tests.support.searcher import searcher

BATCH = 3
SPACES = ("file-search", "file-index")
TEXT = "\n\n".join(f"Paragraph {number} tells of subject{number}." for number in range(100))
"""Three batches of chunks of 100 tokens."""


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "BATCH", BATCH)


class App(SearchedFiles):
    """The app with one agent that searches, and the client of its embeddings."""

    def __init__(self, embeddings: HashedWords | None = None) -> None:
        super().__init__()
        self.embeddings = embeddings or HashedWords()

    def begun(self, embeddings: HashedWords | None = None) -> Process:
        """Return a process of this app, or of its next deployment with another client."""
        client = embeddings or self.embeddings
        return self.process(searcher(FileSearch(embeddings=client, chunk_tokens=100, overlap_tokens=0)))

    def dies_at(self, number: int, last: Callable[[], Awaitable[object]] | None = None, *, dies: bool = True) -> None:
        """End the process at that call of a store, counted from now, once the `last` that it sees is done."""
        self.made = 0

        async def call(name: str) -> None:
            self.made += 1
            if self.made == number:
                self.calls.on_call = None
                if last is not None:
                    await last()
                if dies:
                    raise KilledError

        self.calls.on_call = call

    async def work(self, embeddings: HashedWords | None = None) -> Process:
        """Take steps until no job is left, each step that died by another process."""
        process = self.begun(embeddings)
        while self.engine.waiting:
            [instance] = self.engine.waiting
            try:
                await process.take(instance)
            except KilledError:
                process = self.begun(embeddings)
        self.calls.on_call = None
        return process


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
    file = await process.upload(TEXT)
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
    assert "subject90." in (await found(process, "subject90"))[0].chunk.text


@pytest.mark.behaviour("file-search.once")
async def test_a_job_that_is_killed_at_any_call_goes_on_and_embeds_a_recorded_batch_never_again() -> None:
    plain = App()
    await plain.begun().upload(TEXT)
    plain.dies_at(0)
    expected = [hit.chunk for hit in await found(await plain.work(), "subject90")]
    batches = len(plain.embeddings.asked) - 1
    again: list[int] = []

    for number in range(1, plain.made + 1):
        app = App()
        file = await app.begun().upload(TEXT)
        app.dies_at(number)
        process = await app.work()
        times = Counter(map(tuple, app.embeddings.asked))

        assert (await index_of(process, file)).state == "ready", number
        assert [hit.chunk for hit in await found(process, "subject90")] == expected, number
        assert len(times) == batches, number
        again.append(times.total() - batches)
        assert await app.left("file-search") == [], number
        app.now += 60.0
        await process.part.sweep()
        assert len(await app.left("file-index")) == len(await plain.left("file-index")), number

    assert set(again) == {0, 1}
    assert again.count(1) == batches  # one for each batch: behind its embedding and before its record


@pytest.mark.behaviour("file-search.erased")
@pytest.mark.parametrize("dies", [False, True])
async def test_a_file_that_is_deleted_at_any_call_of_its_job_leaves_nothing(dies: bool) -> None:
    for number in count(1):
        app = App()
        file = await app.begun().upload(TEXT)
        app.dies_at(number, partial(app.begun().uploads.delete, OWNERS, file.id), dies=dies)
        process = await app.work()
        if app.made < number:
            break

        assert await app.left(*SPACES, "uploads") == [], number
        assert await found(process, "subject90") == [], number

    assert number > 2 * BATCH


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


Vectors = list[Any]


class SpoiltWords(HashedWords):
    """Its answers are spoilt, once they are there."""

    def __init__(self, spoilt: Callable[[Vectors], Vectors]) -> None:
        super().__init__()
        self._spoilt = spoilt

    async def get_embeddings(self, values: Sequence[str], *, options: Any = None) -> GeneratedEmbeddings[Any, Any]:
        answered = await super().get_embeddings(values, options=options)
        vectors = self._spoilt([embedding.vector for embedding in answered])
        return GeneratedEmbeddings([Embedding(vector, model=self.answering) for vector in vectors])


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
        lambda vectors: [[number * 1e39 for number in vector] for vector in vectors],
        lambda vectors: vectors[1:],
        lambda vectors: [vectors[0][1:], *vectors[1:]],
    ],
    ids=["nan", "zero", "too large", "one less", "other size"],
)
async def test_a_client_that_answers_what_is_no_vector_is_one_that_failed(
    spoilt: Callable[[Vectors], Vectors],
) -> None:
    """The batch is tried again after growing pauses, and in the end the file has failed; nothing is in the index."""
    app = App(SpoiltWords(spoilt))
    process = app.begun()
    file = await process.upload(TEXT)

    steps = await ended(process)

    index = await index_of(process, file)
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

    app = App(TwoWords())
    process = app.begun()
    file = await process.upload(TEXT)
    began = app.now

    await ended(process)

    index = await index_of(process, file)
    assert (index.state, index.code) == ("failed", "embeddings_unavailable")
    assert index.error.startswith("The embedding client answers by one model and then by another.")
    assert len(app.embeddings.asked) == 2 * (MOST_RESTARTS + 1)
    assert 900 < app.now - began < 1000
    assert await app.left("file-search", "file-index") == []


class ChangingApp(App):
    """The app of an agent whose model of embeddings changes."""

    def __init__(self) -> None:
        super().__init__(HashedWords("older"))
        self.newer = HashedWords("newer", size=64)

    def after(self) -> Process:
        return self.begun(self.newer)


async def vectors_of(process: Process, file: UploadedFile, recipe: str, model: str, size: int) -> int:
    """Return how many chunks the index has that a recipe made."""
    space = space_of(OWNERS, recipe, model, size)
    query = ChunkQuery([1.0] * size, "subject90", 5000, frozenset({file.id}))
    return len(await process.part.index.search([space], query))


async def changed(app: ChangingApp) -> tuple[UploadedFile, str]:
    """Return a file that the older app has made ready and the newer one begins, and the older recipe."""
    process = app.begun()
    file = await process.upload(TEXT)
    await process.work()
    [older] = (await process.uploads.read(OWNERS, file.id)).indexes
    process = app.after()
    [newer] = process.part.searches.searching(OWNERS)
    await process.part.searches.begin(OWNERS, file, newer, process.client)
    return file, older


async def recipes_of(process: Process, file: UploadedFile) -> list[str]:
    return [*(await process.uploads.read(OWNERS, file.id)).indexes]


@pytest.mark.behaviour("file-search.replaced")
@pytest.mark.parametrize("deleted", [False, True])
async def test_a_process_that_dies_at_any_call_leaves_the_newer_vectors_alone(deleted: bool) -> None:
    """And nothing of the older ones; of a file that is deleted meanwhile nothing at all."""
    for number in count(1):
        app = ChangingApp()
        file, older = await changed(app)
        [instance] = app.engine.waiting
        while app.engine.waiting[instance].get("do") != "tidy":
            await app.after().take(instance)
        app.dies_at(number, partial(app.after().uploads.delete, OWNERS, file.id) if deleted else None)
        process = await app.work(app.newer)
        is_over = app.made < number

        assert await vectors_of(process, file, older, "older", 256) == 0, number
        if deleted and not is_over:
            assert await app.left(*SPACES, "uploads") == [], number
        else:
            assert older not in await recipes_of(process, file), number
            assert await app.left("file-search") == [], number
        if is_over:
            break

    assert number > 3


@pytest.mark.behaviour("file-search.replaced")
async def test_a_job_of_the_older_recipe_that_is_still_at_work_leaves_nothing() -> None:
    app = ChangingApp()
    process = app.begun()
    file = await process.upload(TEXT)
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
    assert await app.begun().part.step(json.dumps(late)) == ""
    process = app.after()

    assert await recipes_of(process, file) == [newer]
    assert await vectors_of(process, file, older, "older", 256) == 0
    assert await vectors_of(process, file, newer, "newer", 64) > BATCH
    assert await app.left("file-search") == []
