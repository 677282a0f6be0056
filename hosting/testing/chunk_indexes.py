"""What every index of chunks must do, as tests of yours: the suite that the app's own indexes pass too.

class TestMyIndex(ChunkIndexContract):
    @pytest.fixture
    def open_index(self, tmp_path):
        return lambda: MyIndex(tmp_path)

`open_index` opens the index as another process of the app does: what one has added, each of them finds. Nothing is
there when a test begins.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

import pytest
from msgspec.structs import replace

from hosting.features.uploads.search.chunk import Chunk, TextPlace
from hosting.features.uploads.search.index.contract import ChunkIndex, ChunkQuery, FoundChunk, IndexedChunk, IndexSpace

OpenIndex = Callable[[], ChunkIndex]

SIZE = 48
SPACE = IndexSpace("joker", "person1", model="model-a", size=SIZE)
OTHER_SPACES = (
    replace(SPACE, owner="person2"),
    replace(SPACE, owner=""),
    replace(SPACE, agent=""),
    replace(SPACE, agent="joker2"),
    replace(SPACE, thread_id="t"),
    replace(SPACE, thread_id="t", epoch=1),
    replace(SPACE, model="model-b"),
)
TEXTS = ("東京タワーの高さ", "Straße", 'it\'s -not "quoted" | (or) *', "\ud83d half", "e\u0301te\u0301")
_EVERY_MODEL = replace(SPACE, model="", size=0)
_NEAR = 1e-6


def direction(name: str, size: int = SIZE) -> list[float]:
    """Return a vector that is the name's own."""
    dice = random.Random(name)
    return [dice.gauss(0, 1) for _ in range(size)]


def indexed(file_id: str, number: int, size: int = SIZE) -> IndexedChunk:
    """Return a chunk of a file, with words that no other chunk has."""
    text = f"The word {word(file_id, number)} stands here."
    place = TextPlace(page=number + 1, label=f"Heading {number}", start=100 * number, end=100 * number + len(text))
    return IndexedChunk(Chunk(number, text, place), direction(f"{file_id} {number}", size))


def word(file_id: str, number: int) -> str:
    """Return the word that only this chunk has."""
    return f"{file_id}x{number}".lower()


def chunks_of(file_id: str, chunks: int, size: int = SIZE) -> list[IndexedChunk]:
    """Return all chunks of a file."""
    return [indexed(file_id, number, size) for number in range(chunks)]


async def everything(index: ChunkIndex, *spaces: IndexSpace) -> list[tuple[str, int]]:
    """Return the file and the number of each chunk that a search finds, each as often as it is found."""
    hits = await index.search(spaces or [SPACE], ChunkQuery(direction("any"), "the word stands here", most=5000))
    return sorted((hit.file_id, hit.chunk.number) for hit in hits)


async def first(index: ChunkIndex, file_id: str, number: int, space: IndexSpace = SPACE) -> FoundChunk:
    """Return the best chunk for the meaning and the word of one."""
    query = ChunkQuery(direction(f"{file_id} {number}", space.size), word(file_id, number), most=3)
    return (await index.search([space], query))[0]


def numbered(**files: int) -> list[tuple[str, int]]:
    """Return what `everything` finds of files with so many chunks."""
    return sorted((file_id, number) for file_id, chunks in files.items() for number in range(chunks))


async def finds_by_meaning_and_words(opened: OpenIndex) -> None:
    """A chunk is found with its file and its place, by any process; its meaning or its words are enough."""
    await opened().add(SPACE, "a", chunks_of("a", 30))
    await opened().add(SPACE, "b", chunks_of("b", 5))
    index = opened()

    both = await first(index, "a", 17)
    by_vector = await index.search([SPACE], ChunkQuery(direction("a 17"), most=2))
    by_word = await index.search([SPACE], ChunkQuery(direction("any"), word("b", 3).upper(), most=2))

    assert (both.file_id, both.chunk) == ("a", indexed("a", 17).chunk)
    assert both.score == pytest.approx(1.0, abs=_NEAR)
    assert by_vector[0].chunk == indexed("a", 17).chunk
    assert ("b", indexed("b", 3).chunk) in [(hit.file_id, hit.chunk) for hit in by_word]
    for hits in (by_vector, by_word):
        assert len(hits) == 2
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert all(0 < hit.score <= 1 + _NEAR for hit in hits)


async def searches_chosen_files_alone(opened: OpenIndex) -> None:
    """Only the chosen files are searched, also if others fit better, and none if none is chosen."""
    index = opened()
    for name in ("a", "b", "c"):
        await index.add(SPACE, name, chunks_of(name, 4))
    query = ChunkQuery(direction("a 2"), word("a", 2), most=50)

    chosen = await index.search([SPACE], replace(query, file_ids=frozenset({"b", "c", "gone"})))
    none = await index.search([SPACE], replace(query, file_ids=frozenset()))

    assert {hit.file_id for hit in chosen} == {"b", "c"}
    assert len(chosen) == 8
    assert list(none) == []


async def replaces_a_file(opened: OpenIndex) -> None:
    """A file that is added again is never doubled: shorter or longer than before, and gone where it has no text."""
    index = opened()
    await index.add(SPACE, "beside", chunks_of("beside", 3))
    for chunks in (7, 7, 2, 9, 0):
        await opened().add(SPACE, "a", chunks_of("a", chunks))
        assert await everything(index) == numbered(a=chunks, beside=3)


async def takes_files_at_once(opened: OpenIndex) -> None:
    """Files that processes add at once are all there, each once, however they meet."""
    processes = [opened() for _ in range(3)]
    files = {f"f{number}": 1 + number % 4 for number in range(18)}

    await asyncio.gather(
        *(
            processes[number % 3].add(SPACE, name, chunks_of(name, chunks))
            for number, (name, chunks) in enumerate([*files.items(), *files.items()])
        )
    )

    assert await everything(opened()) == numbered(**files)


async def removes_a_file(opened: OpenIndex) -> None:
    """A removed file is found by nobody, by an open reader neither; its neighbours stay. Twice is as good."""
    index, reader = opened(), opened()
    for name, chunks in (("canary", 6), ("beside", 5), ("other", 1)):
        await index.add(SPACE, name, chunks_of(name, chunks))
    assert await everything(reader) == numbered(canary=6, beside=5, other=1)

    removed = [await index.remove(SPACE, "canary"), await opened().remove(SPACE, "canary")]

    assert removed == [6, 0]
    assert await everything(reader) == numbered(beside=5, other=1)
    assert (await first(reader, "beside", 4)).chunk == indexed("beside", 4).chunk


async def erases_a_space(opened: OpenIndex) -> None:
    """An erased space is empty, and may be used again. Twice is as good."""
    index, reader = opened(), opened()
    await index.add(SPACE, "canary", chunks_of("canary", 40))
    await index.add(SPACE, "b", chunks_of("b", 2))
    await everything(reader)

    assert [await index.erase(SPACE), await opened().erase(SPACE)] == [42, 0]
    assert await everything(reader) == []
    await reader.add(SPACE, "c", chunks_of("c", 2))
    assert await everything(index) == numbered(c=2)


async def keeps_spaces_apart(opened: OpenIndex, other: IndexSpace) -> None:
    """A space has its own, is searched with another or alone, and is erased alone."""
    index = opened()
    await index.add(SPACE, "a", chunks_of("a", 2))
    await index.add(other, "b", chunks_of("b", 3))

    assert await everything(index, SPACE) == numbered(a=2)
    assert await everything(index, other) == numbered(b=3)
    if other.model == SPACE.model:
        assert await everything(index, SPACE, other) == numbered(a=2, b=3)
    assert await index.remove(SPACE, "b") == 0
    assert await index.erase(SPACE) == 2
    assert await everything(index, other) == numbered(b=3)


async def removes_every_model(opened: OpenIndex) -> None:
    """Where no model is named, a file and a scope go with the vectors of every model."""
    index, other = opened(), replace(SPACE, model="model-b", size=8)
    for name in ("canary", "beside"):
        await index.add(SPACE, name, chunks_of(name, 3))
        await index.add(other, name, chunks_of(name, 4, 8))

    assert await index.remove(_EVERY_MODEL, "canary") == 7
    hits = await index.search([other], ChunkQuery(direction("any", 8), most=50))
    assert await everything(index) == numbered(beside=3)
    assert sorted((hit.file_id, hit.chunk.number) for hit in hits) == numbered(beside=4)
    assert await index.erase(_EVERY_MODEL) == 7
    assert await everything(index) == []


async def refuses_vectors(opened: OpenIndex) -> None:
    """A vector of another size, or without a direction, is refused, and nothing of its file is added."""
    index = opened()
    await index.add(SPACE, "a", chunks_of("a", 1))
    zero, endless = [0.0] * SIZE, [float("nan")] * SIZE
    for vector in ([1.0], zero, endless):
        with pytest.raises(ValueError):  # noqa: PT011 - an index has words of its own
            await index.add(SPACE, "b", [indexed("b", 0), IndexedChunk(indexed("b", 1).chunk, vector)])
        with pytest.raises(ValueError):  # noqa: PT011
            await index.search([SPACE], ChunkQuery(vector))
    with pytest.raises(ValueError):  # noqa: PT011
        await index.search([SPACE, replace(SPACE, model="model-b")], ChunkQuery(direction("any")))

    assert await everything(index) == numbered(a=1)
    assert list(await index.search([], ChunkQuery(direction("any")))) == []


async def finds_words_of(opened: OpenIndex, text: str) -> None:
    """Words of every script are found, and what a query language would read as its own is a text like others."""
    index = opened()
    chunk = replace(indexed("a", 0).chunk, text=text.encode(errors="replace").decode())
    await index.add(SPACE, "a", [IndexedChunk(chunk, direction("a 0"))])

    [hit] = await index.search([SPACE], ChunkQuery(direction("any"), text, most=2))

    assert hit.chunk == chunk


class ChunkIndexContract:
    """The suite: a class of tests that begins with `Test` inherits it, and has the fixture `open_index`."""

    @pytest.fixture
    def open_index(self) -> OpenIndex:
        """Return what opens the index, in the event loop that calls it; the test closes what it has opened."""
        raise NotImplementedError("Override the fixture open_index: return a function that opens your index.")

    def test_a_chunk_is_found_by_its_meaning_and_by_its_words(self, open_index: OpenIndex) -> None:
        """See `finds_by_meaning_and_words`."""
        _run(open_index, finds_by_meaning_and_words)

    def test_only_the_chosen_files_are_searched(self, open_index: OpenIndex) -> None:
        """See `searches_chosen_files_alone`."""
        _run(open_index, searches_chosen_files_alone)

    def test_a_file_that_is_added_again_replaces_what_was_there(self, open_index: OpenIndex) -> None:
        """See `replaces_a_file`."""
        _run(open_index, replaces_a_file)

    def test_files_that_processes_add_at_once_are_all_there(self, open_index: OpenIndex) -> None:
        """See `takes_files_at_once`."""
        _run(open_index, takes_files_at_once)

    def test_a_removed_file_is_found_by_nobody(self, open_index: OpenIndex) -> None:
        """See `removes_a_file`."""
        _run(open_index, removes_a_file)

    def test_an_erased_space_is_empty_and_may_be_used_again(self, open_index: OpenIndex) -> None:
        """See `erases_a_space`."""
        _run(open_index, erases_a_space)

    @pytest.mark.parametrize("other", OTHER_SPACES)
    def test_spaces_do_not_meet(self, open_index: OpenIndex, other: IndexSpace) -> None:
        """See `keeps_spaces_apart`."""
        _run(open_index, lambda opened: keeps_spaces_apart(opened, other))

    def test_a_file_and_a_scope_go_with_the_vectors_of_every_model(self, open_index: OpenIndex) -> None:
        """See `removes_every_model`."""
        _run(open_index, removes_every_model)

    def test_a_vector_that_cannot_be_compared_is_refused(self, open_index: OpenIndex) -> None:
        """See `refuses_vectors`."""
        _run(open_index, refuses_vectors)

    @pytest.mark.parametrize("text", TEXTS)
    def test_words_of_every_script_are_found(self, open_index: OpenIndex, text: str) -> None:
        """See `finds_words_of`."""
        _run(open_index, lambda opened: finds_words_of(opened, text))


def _run(open_index: OpenIndex, case: Callable[[OpenIndex], Awaitable[None]]) -> None:
    async def run() -> None:
        opened: list[ChunkIndex] = []

        def another() -> ChunkIndex:
            opened.append(open_index())
            return opened[-1]

        try:
            await case(another)
        finally:
            await _closed(opened)

    asyncio.run(run())


async def _closed(indexes: Sequence[ChunkIndex]) -> None:
    for index in indexes:
        await index.close()
