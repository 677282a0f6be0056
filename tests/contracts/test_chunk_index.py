"""What every index of chunks must do: `ChunkIndex`, in the order of its sentences, and that no byte of it is left.

The cases are those that the library hands to whoever writes an index (`hosting.testing.chunk_indexes`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from hosting.errors import ConfigurationError
from hosting.features.uploads.refusals import ChunkIndexUnavailableError
from hosting.features.uploads.search.index.azure_search import AzureSearchChunkIndex, search_service
from hosting.features.uploads.search.index.contract import IndexSpace
from hosting.testing import chunk_indexes as cases
from hosting.testing.chunk_indexes import OTHER_SPACES, SPACE, TEXTS, chunks_of, everything, numbered
from tests.contracts.chunk_indexes import FACTORIES, INDEXES, OpenedIndexes
from tests.support.vector_service import MOST_DOCUMENTS, VectorService


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


@pytest.fixture
def service() -> Iterator[VectorService]:
    service = VectorService()
    yield service
    service.stop()


def opened(service: VectorService, hub: str = "hub") -> AzureSearchChunkIndex:
    """Return the index as an app of that hub has it."""
    return AzureSearchChunkIndex(search_service("TEST", service.address, {}), hub, patience_seconds=1.0)


@pytest.mark.slow
@pytest.mark.behaviour("file-index.erased")
async def test_removed_chunks_that_the_service_still_shows_are_asked_for_again(service: VectorService) -> None:
    """A removal ends when none is shown any more, and counts each once."""
    index = opened(service)
    await index.add(SPACE, "canary", chunks_of("canary", 5))
    service.lag = 3

    assert await index.remove(SPACE, "canary") == 5
    assert "canary" not in service.texts()
    await index.close()


@pytest.mark.slow
@pytest.mark.behaviour("file-index.bounds")
async def test_a_file_of_more_chunks_than_a_call_may_have_is_added_and_removed(service: VectorService) -> None:
    index = opened(service)
    small = replace(SPACE, size=2)
    await index.add(small, "large", chunks_of("large", MOST_DOCUMENTS + 7, 2))

    assert len(next(iter(service.documents.values()))) == MOST_DOCUMENTS + 7
    assert await index.remove(small, "large") == MOST_DOCUMENTS + 7
    await index.close()


@pytest.mark.slow
@pytest.mark.behaviour("file-index.owners")
async def test_two_apps_share_a_service_and_nothing_else(service: VectorService) -> None:
    one, other = opened(service), opened(service, "hub2")
    await one.add(SPACE, "a", chunks_of("a", 2))
    await other.add(SPACE, "b", chunks_of("b", 2))

    assert await everything(one) == numbered(a=2)
    assert await other.erase(replace(SPACE, model="")) == 2
    assert await everything(one) == numbered(a=2)
    for index in (one, other):
        await index.close()


@pytest.mark.slow
async def test_a_service_that_is_away_is_said_to_be_away(service: VectorService) -> None:
    """By an error of ours, and it is used again as soon as it is back."""
    index = opened(service)
    await index.add(SPACE, "a", chunks_of("a", 2))
    service.is_away = True
    with pytest.raises(ChunkIndexUnavailableError, match="Try again"):
        await everything(index)
    with pytest.raises(ChunkIndexUnavailableError):
        await index.add(SPACE, "b", chunks_of("b", 2))
    service.is_away = False

    assert await everything(index) == numbered(a=2)
    await index.close()


@pytest.mark.slow
@pytest.mark.parametrize("value", ["", "name", "http://name.search.windows.net", "https://a b", "https://n;key="])
def test_what_is_no_address_of_a_service_is_refused(value: str) -> None:
    """With the setting's name and an address that would do."""
    with pytest.raises(ConfigurationError, match=r"SETTING is not an address.*https://NAME\.search\.windows\.net"):
        search_service("SETTING", value, {})
