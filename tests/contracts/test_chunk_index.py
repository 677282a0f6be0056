"""What every index of chunks must do: `ChunkIndex`, in the order of its sentences, and that no byte of it is left.

The cases are those that the library hands to whoever writes an index (`hosting.testing.chunk_indexes`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from hosting.features.uploads.search.index.contract import IndexSpace
from hosting.testing import chunk_indexes as cases
from hosting.testing.chunk_indexes import OTHER_SPACES, SPACE, TEXTS, chunks_of
from tests.contracts.chunk_indexes import FACTORIES, INDEXES, OpenedIndexes


@pytest.fixture(params=INDEXES)
async def indexes(request: pytest.FixtureRequest) -> AsyncIterator[OpenedIndexes]:
    """The indexes of this test; nothing is there yet."""
    opened = FACTORIES[request.param](request)
    yield opened
    for index in opened.opened:
        await index.close()


CASES = [
    pytest.param(cases.finds_by_meaning_and_words, marks=pytest.mark.behaviour("file-index.finds")),
    pytest.param(cases.searches_chosen_files_alone, marks=pytest.mark.behaviour("file-index.finds")),
    pytest.param(cases.replaces_a_file, marks=pytest.mark.behaviour("file-index.once")),
    pytest.param(cases.takes_files_at_once, marks=pytest.mark.behaviour("file-index.once")),
    pytest.param(cases.refuses_vectors, marks=pytest.mark.behaviour("file-index.refuses")),
]


@pytest.mark.parametrize("case", CASES)
async def test_an_index_keeps_its_contract(indexes: OpenedIndexes, case: Callable[[Any], Awaitable[None]]) -> None:
    """Each case says what it is about."""
    await case(indexes.open)


@pytest.mark.behaviour("file-index.erased")
async def test_a_removed_file_is_found_by_nobody_and_its_bytes_are_gone(indexes: OpenedIndexes) -> None:
    """By an open reader neither. What lay beside it stays; to remove it again removes nothing."""
    await indexes.open().add(SPACE, "canary", chunks_of("canary", 1))
    assert b"canaryx" in await indexes.kept()

    await cases.removes_a_file(indexes.open)

    kept = await indexes.kept()
    assert b"canary" not in kept
    assert b"besidex" in kept


@pytest.mark.behaviour("file-index.erased")
async def test_an_erased_space_is_empty_and_may_be_used_again(indexes: OpenedIndexes) -> None:
    """Twice is as good, and of what nothing is kept too."""
    await cases.erases_a_space(indexes.open)

    assert b"canary" not in await indexes.kept()


@pytest.mark.behaviour("file-index.owners")
@pytest.mark.parametrize("other", OTHER_SPACES)
async def test_spaces_do_not_meet(indexes: OpenedIndexes, other: IndexSpace) -> None:
    """Each has its own, is searched with others or alone, and is erased alone."""
    await cases.keeps_spaces_apart(indexes.open, other)


@pytest.mark.behaviour("file-index.erased")
async def test_a_file_and_a_scope_go_with_the_vectors_of_every_model(indexes: OpenedIndexes) -> None:
    await cases.removes_every_model(indexes.open)

    assert b"beside" not in await indexes.kept()


@pytest.mark.behaviour("file-index.finds")
@pytest.mark.parametrize("text", TEXTS)
async def test_words_of_every_script_are_found(indexes: OpenedIndexes, text: str) -> None:
    """And what a query language would read as its own is a text like others."""
    await cases.finds_words_of(indexes.open, text)
