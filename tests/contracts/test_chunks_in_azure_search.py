"""What the index in Azure AI Search makes of its service's ways: late reads, absence, refusals and identities."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from hosting.errors import ConfigurationError
from hosting.features.uploads.refusals import ChunkIndexUnavailableError
from hosting.features.uploads.search.index.azure_search import AzureSearchChunkIndex, search_service
from hosting.testing.chunk_indexes import SPACE, chunks_of, everything, numbered
from tests.support.vector_service import MOST_DOCUMENTS, VectorService

pytestmark = pytest.mark.slow


@pytest.fixture
def service() -> Iterator[VectorService]:
    """A service with nothing in it."""
    service = VectorService()
    yield service
    service.stop()


def opened(service: VectorService, hub: str = "hub") -> AzureSearchChunkIndex:
    """Return the index as an app of that hub has it."""
    return AzureSearchChunkIndex(search_service("TEST", service.address, {}), hub, patience_seconds=5.0)


@pytest.mark.behaviour("file-index.erased")
async def test_removed_chunks_that_the_service_still_shows_are_asked_for_again(service: VectorService) -> None:
    """A removal ends when none is shown any more, and counts each once."""
    index = opened(service)
    await index.add(SPACE, "canary", chunks_of("canary", 5))
    service.lag = 3

    assert await index.remove(SPACE, "canary") == 5
    assert "canary" not in service.texts()
    await index.close()


@pytest.mark.behaviour("file-index.bounds")
async def test_a_file_of_more_chunks_than_a_call_may_have_is_added_and_removed(service: VectorService) -> None:
    index = opened(service)
    small = replace(SPACE, size=2)
    await index.add(small, "large", chunks_of("large", MOST_DOCUMENTS + 7, 2))

    assert len(next(iter(service.documents.values()))) == MOST_DOCUMENTS + 7
    assert await index.remove(small, "large") == MOST_DOCUMENTS + 7
    await index.close()


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


@pytest.mark.parametrize("value", ["", "name", "http://name.search.windows.net", "https://a b", "https://n;key="])
def test_what_is_no_address_of_a_service_is_refused(value: str) -> None:
    """With the setting's name and an address that would do."""
    with pytest.raises(ConfigurationError, match=r"SETTING is not an address.*https://NAME\.search\.windows\.net"):
        search_service("SETTING", value, {})
