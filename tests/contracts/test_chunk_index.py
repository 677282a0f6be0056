"""What every index of chunks must do: `ChunkIndex`, in the order of its sentences."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from hosting.features.uploads.search.index.contract import ChunkQuery, IndexedChunk, IndexSpace
from tests.contracts.chunk_indexes import FACTORIES, INDEXES, OpenedIndexes
from tests.support.indexed_files import SIZE, SPACE, chunks_of, direction, everything, first, indexed, numbered, word

OTHERS = [
    replace(SPACE, owner="person2"),
    replace(SPACE, owner=""),
    replace(SPACE, agent=""),
    replace(SPACE, agent="joker2"),
    replace(SPACE, thread_id="t"),
    replace(SPACE, thread_id="t", epoch=1),
    replace(SPACE, model="model-b"),
]
EVERY_MODEL = replace(SPACE, model="", size=0)
NEAR = 1e-6


@pytest.fixture(params=INDEXES)
async def indexes(request: pytest.FixtureRequest) -> AsyncIterator[OpenedIndexes]:
    """The indexes of this test; nothing is there yet."""
    opened = FACTORIES[request.param](request)
    yield opened
    for index in opened.opened:
        await index.close()


@pytest.mark.behaviour("file-index.finds")
async def test_a_chunk_is_found_by_its_meaning_and_by_its_words(indexes: OpenedIndexes) -> None:
    """With its file and its place, by any process; each of both is enough."""
    await indexes.open().add(SPACE, "a", chunks_of("a", 30))
    await indexes.open().add(SPACE, "b", chunks_of("b", 5))
    index = indexes.open()

    both = await first(index, "a", 17)
    by_vector = await index.search([SPACE], ChunkQuery(direction("a 17"), most=2))
    by_word = await index.search([SPACE], ChunkQuery(direction("any"), word("b", 3).upper(), most=2))

    assert (both.file_id, both.chunk) == ("a", indexed("a", 17).chunk)
    assert both.score == pytest.approx(1.0, abs=NEAR)
    assert by_vector[0].chunk == indexed("a", 17).chunk
    assert ("b", indexed("b", 3).chunk) in [(hit.file_id, hit.chunk) for hit in by_word]
    for hits in (by_vector, by_word):
        assert len(hits) == 2
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert all(0 < hit.score <= 1 + NEAR for hit in hits)


@pytest.mark.behaviour("file-index.finds")
async def test_only_the_chosen_files_are_searched(indexes: OpenedIndexes) -> None:
    """Also if others fit better, and none if none is chosen."""
    index = indexes.open()
    for name in ("a", "b", "c"):
        await index.add(SPACE, name, chunks_of(name, 4))
    query = ChunkQuery(direction("a 2"), word("a", 2), most=50)

    chosen = await index.search([SPACE], replace(query, file_ids=frozenset({"b", "c", "gone"})))
    none = await index.search([SPACE], replace(query, file_ids=frozenset()))

    assert {hit.file_id for hit in chosen} == {"b", "c"}
    assert len(chosen) == 8
    assert list(none) == []


@pytest.mark.behaviour("file-index.once")
async def test_a_file_that_is_added_again_replaces_what_was_there(indexes: OpenedIndexes) -> None:
    """Never doubled, shorter or longer than before, and gone where it has no text any more."""
    index = indexes.open()
    await index.add(SPACE, "beside", chunks_of("beside", 3))
    for chunks in (7, 7, 2, 9, 0):
        await indexes.open().add(SPACE, "a", chunks_of("a", chunks))
        assert await everything(index) == numbered(a=chunks, beside=3)


@pytest.mark.behaviour("file-index.once")
async def test_files_that_processes_add_at_once_are_all_there(indexes: OpenedIndexes) -> None:
    """Each once, however they meet."""
    processes = [indexes.open() for _ in range(3)]
    files = {f"f{number}": 1 + number % 4 for number in range(18)}

    await asyncio.gather(
        *(
            processes[number % 3].add(SPACE, name, chunks_of(name, chunks))
            for number, (name, chunks) in enumerate([*files.items(), *files.items()])
        )
    )

    assert await everything(indexes.open()) == numbered(**files)


@pytest.mark.behaviour("file-index.erased")
async def test_a_removed_file_is_found_by_nobody_and_its_bytes_are_gone(indexes: OpenedIndexes) -> None:
    """By an open reader neither. What lay beside it stays; to remove it again removes nothing."""
    index, reader = indexes.open(), indexes.open()
    for name, chunks in (("canary", 6), ("beside", 5), ("other", 1)):
        await index.add(SPACE, name, chunks_of(name, chunks))
    assert await everything(reader) == numbered(canary=6, beside=5, other=1)
    assert b"canaryx" in await indexes.kept()

    removed = [await index.remove(SPACE, "canary"), await indexes.open().remove(SPACE, "canary")]

    assert removed == [6, 0]
    assert await everything(reader) == numbered(beside=5, other=1)
    assert (await first(reader, "beside", 4)).chunk == indexed("beside", 4).chunk
    kept = await indexes.kept()
    assert b"canary" not in kept
    assert b"besidex" in kept


@pytest.mark.behaviour("file-index.erased")
async def test_an_erased_space_is_empty_and_may_be_used_again(indexes: OpenedIndexes) -> None:
    """Twice is as good, and of what nothing is kept too."""
    index, reader = indexes.open(), indexes.open()
    await index.add(SPACE, "canary", chunks_of("canary", 40))
    await index.add(SPACE, "b", chunks_of("b", 2))
    await everything(reader)

    assert [await index.erase(SPACE), await indexes.open().erase(SPACE)] == [42, 0]
    assert await everything(reader) == []
    assert b"canary" not in await indexes.kept()
    await reader.add(SPACE, "b", chunks_of("b", 2))
    assert await everything(index) == numbered(b=2)


@pytest.mark.behaviour("file-index.owners")
@pytest.mark.parametrize("other", OTHERS)
async def test_spaces_do_not_meet(indexes: OpenedIndexes, other: IndexSpace) -> None:
    """Each has its own, is searched with others or alone, and is erased alone."""
    index = indexes.open()
    await index.add(SPACE, "a", chunks_of("a", 2))
    await index.add(other, "b", chunks_of("b", 3))

    assert await everything(index, SPACE) == numbered(a=2)
    assert await everything(index, other) == numbered(b=3)
    if other.model == SPACE.model:
        assert await everything(index, SPACE, other) == numbered(a=2, b=3)
    assert await index.remove(SPACE, "b") == 0
    assert await index.erase(SPACE) == 2
    assert await everything(index, other) == numbered(b=3)


@pytest.mark.behaviour("file-index.erased")
async def test_a_file_and_a_scope_go_with_the_vectors_of_every_model(indexes: OpenedIndexes) -> None:
    """Where no model is named."""
    index, other = indexes.open(), replace(SPACE, model="model-b", size=8)
    for name in ("canary", "beside"):
        await index.add(SPACE, name, chunks_of(name, 3))
        await index.add(other, name, chunks_of(name, 4, 8))

    assert await index.remove(EVERY_MODEL, "canary") == 7
    hits = await index.search([other], ChunkQuery(direction("any", 8), most=50))
    assert await everything(index) == numbered(beside=3)
    assert sorted((hit.file_id, hit.chunk.number) for hit in hits) == numbered(beside=4)
    assert await index.erase(EVERY_MODEL) == 7
    assert b"beside" not in await indexes.kept()


@pytest.mark.behaviour("file-index.refuses")
async def test_a_vector_that_cannot_be_compared_is_refused(indexes: OpenedIndexes) -> None:
    """Of another size, or without a direction; nothing of its file is added."""
    index = indexes.open()
    await index.add(SPACE, "a", chunks_of("a", 1))
    zero, endless = [0.0] * SIZE, [float("nan")] * SIZE
    for vector in ([1.0], zero, endless):
        with pytest.raises(ValueError, match=r"The vector has"):
            await index.add(SPACE, "b", [indexed("b", 0), IndexedChunk(indexed("b", 1).chunk, vector)])
        with pytest.raises(ValueError, match=r"The vector has"):
            await index.search([SPACE], ChunkQuery(vector))
    with pytest.raises(ValueError, match="2 models"):
        await index.search([SPACE, replace(SPACE, model="model-b")], ChunkQuery(direction("any")))

    assert await everything(index) == numbered(a=1)
    assert list(await index.search([], ChunkQuery(direction("any")))) == []


@pytest.mark.behaviour("file-index.finds")
@pytest.mark.parametrize(
    "text", ["東京タワーの高さ", "Straße", 'it\'s -not "quoted" | (or) *', "\ud83d half", "e\u0301te\u0301"]
)
async def test_words_of_every_script_are_found(indexes: OpenedIndexes, text: str) -> None:
    """And what a query language would read as its own is a text like others."""
    index = indexes.open()
    chunk = replace(indexed("a", 0).chunk, text=text.encode(errors="replace").decode())
    await index.add(SPACE, "a", [IndexedChunk(chunk, direction("a 0"))])

    [hit] = await index.search([SPACE], ChunkQuery(direction("any"), text, most=2))

    assert hit.chunk == chunk
