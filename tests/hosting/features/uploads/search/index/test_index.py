"""The app's own index of chunks, one that its author gives, and vectors with a byte for each number."""

from __future__ import annotations

import copy
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from hosting.core.cells import Cells
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore, SharedMemory
from hosting.core.thread_log import ThreadLog
from hosting.errors import NewerVersionError
from hosting.features.uploads.refusals import ChunkIndexUnavailableError
from hosting.features.uploads.search.index import vectors
from hosting.features.uploads.search.index.catalog import Catalog
from hosting.features.uploads.search.index.contract import (
    ChunkIndexFullError,
    ChunkQuery,
    FoundChunk,
    IndexedChunk,
    IndexSpace,
)
from hosting.features.uploads.search.index.stored import CATALOGS, StoredChunkIndex
from hosting.features.uploads.search.index.vectors import (
    decode_vectors,
    direction_of,
    encode_vectors,
    nearest,
    signs_of,
    stored_numbers,
)
from hosting.features.uploads.search.provider import FileSearch
from hosting.names import StoreKey, store_space
from hosting.testing.chunk_indexes import SPACE, chunks_of, direction, everything, first, numbered
from tests.support.cluster.life import DiedError, Life, Mortal
from tests.support.hashed_words import HashedWords
from tests.support.library import FILES, library
from tests.support.searched_files import OWNERS, SearchedFiles
from tests.support.searcher import NOTHING, searcher

HUB = "hub"
INDEX = store_space(HUB, "file-index")
ALWAYS = 4e9
CALLS = 60
"""More calls than any change of these tests makes."""

Work = Callable[[StoredChunkIndex], Coroutine[Any, Any, object]]


class Place:
    """The stores of an app, which outlive its processes."""

    def __init__(self) -> None:
        self.threads, self.objects = SharedMemory(), MemoryObjects()

    def again(self) -> Place:
        """Return another place with everything as it stands here now."""
        other = Place()
        other.threads.threads, other.objects = copy.deepcopy((self.threads.threads, self.objects))
        return other

    def index(self, life: Life | None = None) -> StoredChunkIndex:
        """Return the index as a process has it; the process may die at any call of a store."""
        life = life or Life()
        store: Any = Mortal(life, MemoryThreadStore(HUB, self.threads))
        objects: Any = Mortal(life, self.objects)
        return StoredChunkIndex(Cells(store, ThreadLog(store, objects, HUB)), objects, HUB)

    async def names(self) -> set[str]:
        keys = [StoreKey(INDEX, name) for _, name in await self.objects.put_between(INDEX, 0, ALWAYS)]
        return {name for key in keys for name in await self.objects.names(key)}

    async def segments(self) -> list[int]:
        return [segment.chunks for segment in (await self.catalog()).segments]

    async def catalog(self) -> Catalog:
        [thread] = [thread for thread in self.threads.threads.values() if thread.head is not None] or [None]
        return CATALOGS.decode(None if thread is None or thread.head is None else thread.head.payload)


async def filled() -> Place:
    """Return a place with a few files, in segments of several sizes."""
    place = Place()
    index = place.index()
    for name, chunks in (("a", 9), ("canary", 3), ("b", 1)):
        await index.add(SPACE, name, chunks_of(name, chunks))
    return place


async def died(place: Place, work: Work, call: int, *, is_done: bool) -> bool:
    """Return whether a process died in this work: before that call, or after it if `is_done`."""
    try:
        await work(place.index(Life(call, is_done=is_done)))
    except DiedError:
        return True
    return False


async def of_everybody(place: Place) -> set[str]:
    """Return the segments that objects are of, and which no catalog names."""
    return {name.partition("-")[0] for name in await place.names()} - (await place.catalog()).names()


WORKS: dict[str, tuple[Work, list[tuple[str, int]]]] = {
    "add": (lambda index: index.add(SPACE, "c", chunks_of("c", 4)), numbered(a=9, canary=3, b=1, c=4)),
    "replace": (lambda index: index.add(SPACE, "canary", chunks_of("canary", 5)), numbered(a=9, canary=5, b=1)),
    "remove": (lambda index: index.remove(SPACE, "canary"), numbered(a=9, b=1)),
    "erase": (lambda index: index.erase(SPACE), []),
}

OTHERS: dict[str, Work] = {
    **{name: work for name, (work, _) in WORKS.items()},
    "sweep": lambda index: index.remove(SPACE, "nothing"),
    "remove what comes": lambda index: index.remove(SPACE, "c"),
}


@pytest.mark.behaviour("file-index.once")
@pytest.mark.parametrize("is_done", [False, True])
@pytest.mark.parametrize("name", WORKS)
async def test_a_process_that_dies_anywhere_leaves_all_of_a_change_or_nothing(name: str, is_done: bool) -> None:
    """Whoever searches finds the files as before or as after it; done again, it is done once and nothing is left."""
    work, after = WORKS[name]
    before, start = numbered(a=9, canary=3, b=1), await filled()
    deaths, seen = 0, list[list[tuple[str, int]]]()
    for call in range(1, CALLS):
        place = start.again()
        if not await died(place, work, call, is_done=is_done):
            break
        deaths += 1
        seen.append(await everything(place.index()))
        await work(place.index())
        assert await everything(place.index()) == after
        await place.index().remove(SPACE, "canary")
        assert not await of_everybody(place)
        assert (await place.catalog()).coming == ()
    assert deaths > 2
    assert all(files in (before, after) for files in seen)
    assert before in seen


@pytest.mark.behaviour("file-index.once")
@pytest.mark.parametrize("meanwhile", OTHERS)
@pytest.mark.parametrize("name", ["add", "replace", "remove"])
async def test_whatever_another_process_does_between_two_calls_counts_too(name: str, meanwhile: str) -> None:
    """Both changes are there, or the later one of one file; no object is left that nobody names."""
    work, other = WORKS[name][0], OTHERS[meanwhile]
    start = await filled()
    results = list[list[tuple[str, int]]]()
    for call in range(1, CALLS):
        place = start.again()
        life = Life(turn_at=call, meanwhile=lambda place=place: other(place.index()))  # type: ignore[misc]
        index = place.index(life)
        await work(index)
        if life.calls < call:
            break
        results.append(await everything(place.index()))
        assert results[-1] == await everything(index)
        await place.index().remove(SPACE, "nothing")
        assert not await of_everybody(place)
        assert (await place.catalog()).coming == ()
    orders = list[list[tuple[str, int]]]()
    for one, two in ((work, other), (other, work)):
        place = start.again()
        await one(place.index())
        await two(place.index())
        orders.append(await everything(place.index()))
    assert len(results) > 2
    assert all(result in orders for result in results)


async def test_a_search_of_a_store_that_lacks_a_part_says_so() -> None:
    place = await filled()
    key = StoreKey(INDEX, place.index()._cell(SPACE).address.key)
    await place.objects.erase(key, [name for name in await place.names() if name.endswith("vectors")][:1])

    with pytest.raises(ChunkIndexUnavailableError, match="lacks a part"):
        await everything(place.index())
    assert await place.index().erase(SPACE) == 13
    assert await place.names() == set()


@pytest.mark.behaviour("file-index.bounds")
async def test_small_files_share_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    place, written = Place(), list[int]()
    index = place.index()
    put = place.objects.put

    async def counted(key: StoreKey, objects: Any) -> None:
        written.append(sum(len(body) for name, body in objects.items() if name.endswith("vectors")))
        await put(key, objects)

    monkeypatch.setattr(place.objects, "put", counted)
    for number in range(200):
        await index.add(SPACE, f"f{number}", chunks_of(f"f{number}", 1))

    sizes = await place.segments()
    assert sum(sizes) == 200
    assert len(sizes) <= 8
    assert sum(written) <= 9 * 200 * (SPACE.size + 4)
    assert (await first(place.index(), "f137", 0)).file_id == "f137"


async def test_a_catalog_that_is_full_refuses_a_file_and_keeps_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a sentence that says what to do; to remove goes on."""
    place = await filled()
    monkeypatch.setattr("hosting.features.uploads.search.index.catalog.MOST_HEAD_BYTES", 150)

    with pytest.raises(ChunkIndexFullError, match="Delete files"):
        await place.index().add(SPACE, "c", chunks_of("c", 2))
    assert await everything(place.index()) == numbered(a=9, canary=3, b=1)
    assert await place.index().remove(SPACE, "b") == 1


async def test_a_newer_versions_catalog_is_left_alone() -> None:
    place = await filled()
    [thread] = [thread for thread in place.threads.threads.values() if thread.head is not None]
    assert thread.head is not None
    newer = CATALOGS.encode(replace(CATALOGS.decode(thread.head.payload), v=99))
    assert newer is not None
    thread.head = replace(thread.head, payload=newer)

    works: Sequence[Work] = [work for work, _ in WORKS.values()]
    for work in (*works, lambda index: index.search([SPACE], ChunkQuery(direction("a")))):
        with pytest.raises(NewerVersionError, match="version 99"):
            await work(place.index())


@pytest.mark.behaviour("file-index.erased")
async def test_what_a_process_wrote_after_it_slept_through_a_removal_goes_with_the_next_sweep() -> None:
    place = await filled()
    key = StoreKey(INDEX, place.index()._cell(SPACE).address.key)
    await place.objects.put(key, {"0123456789abcdef-vectors": b"late"})

    await place.index().sweep(0, ALWAYS)

    assert not await of_everybody(place)
    assert await everything(place.index()) == numbered(a=9, canary=3, b=1)


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


MOST = 10
SEGMENT = 1000


def recall(rows: NDArray[np.float32], queries: NDArray[np.float32]) -> float:
    """Return which part of the ten nearest rows by all digits is found."""
    stored = [stored_numbers(rows[first : first + SEGMENT].tolist()) for first in range(0, len(rows), SEGMENT)]
    segments = [decode_vectors(encode_vectors(numbers), rows.shape[1]) for numbers in stored]
    lengths = np.linalg.norm(rows, axis=1)
    hits = 0
    for query in queries:
        direction = direction_of(query.tolist())
        signs = signs_of(direction)
        best = nearest(segments, [segment.differing(signs) for segment in segments], direction, MOST)
        exact = np.argsort(-(rows @ query) / lengths)[:MOST]
        hits += len({SEGMENT * number + row for number, row, _ in best} & set(exact.tolist()))
    return hits / MOST / len(queries)


@pytest.mark.behaviour("file-index.recall")
@pytest.mark.parametrize(("numbers", "least"), [(64, 0.9), (100, 0.9)])
def test_nearly_all_that_an_exact_search_finds_is_found(
    monkeypatch: pytest.MonkeyPatch, numbers: int, least: float
) -> None:
    monkeypatch.setattr(vectors, "LEAST_CANDIDATES", 1)
    dice = np.random.default_rng(7)
    centres = dice.standard_normal((40, numbers), dtype=np.float32)
    rows = centres[dice.integers(0, 40, 12_000)] + dice.standard_normal((12_000, numbers), dtype=np.float32)
    queries = centres[:20] + dice.standard_normal((20, numbers), dtype=np.float32)

    assert recall(rows, queries) >= least
