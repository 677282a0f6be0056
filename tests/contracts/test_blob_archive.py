"""The archive in blobs, over a line that counts its calls and fails on purpose."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest

from hosting.archive.blob import BlobArchive, archive_container
from hosting.errors import ArchiveUnavailableError
from hosting.events import Place
from hosting.ports import Volume
from tests.contracts.storage_line import StorageLine, busy_server, connect_over, detour, lose_answers, never_answer
from tests.support.azurite import Azurite

pytestmark = pytest.mark.slow
PLACE = Place("joker", "thread")
VOLUME = Volume(PLACE, 0)
ENTRIES = ['{"a":1}', '{"a":2}', '{"a":3}']


@pytest.fixture
def line() -> StorageLine:
    """The line to the account."""
    return StorageLine()


@pytest.fixture
async def archive(azurite: Azurite, line: StorageLine) -> AsyncIterator[BlobArchive]:
    """An archive whose container is made, so that only what follows is counted."""
    container = archive_container(
        connect_over(line, azurite.connection_string), f"test-{uuid.uuid4().hex}", patience_seconds=5
    )
    made = BlobArchive(container)
    await made.erase(PLACE)
    line.calls.clear()
    yield made
    line.fault = None
    await made.close()


@pytest.mark.behaviour("archive.calls")
async def test_a_move_is_one_call_and_a_page_of_a_long_thread_a_few(archive: BlobArchive, line: StorageLine) -> None:
    """However many entries are in the archive, and wherever the page is."""
    for first in range(1, 6001, 600):
        await archive.put(VOLUME, first, [f'{{"n":{number}}}' for number in range(first, first + 600)])
    assert len(line.calls) == 10

    counts = []
    for first in (1, 2950, 5951):
        line.calls.clear()
        assert await archive.read(VOLUME, first, first + 49) == [f'{{"n":{n}}}' for n in range(first, first + 50)]
        counts.append(len(line.calls))

    assert max(counts) <= 4


@pytest.mark.behaviour("archive.unavailable")
async def test_an_account_that_never_answers_or_throttles_is_reported(azurite: Azurite, line: StorageLine) -> None:
    """Within the archive's patience, whatever is asked; afterwards it goes on."""
    container = f"test-{uuid.uuid4().hex}"
    impatient = BlobArchive(
        archive_container(connect_over(line, azurite.connection_string), container, patience_seconds=0.05)
    )
    line.fault = never_answer
    for ask in (impatient.put(VOLUME, 1, ENTRIES), impatient.read(VOLUME, 1, 1), impatient.erase(PLACE)):
        with pytest.raises(ArchiveUnavailableError, match="older part of this thread"):
            await ask
    await impatient.close()

    line = StorageLine()
    patient = BlobArchive(archive_container(connect_over(line, azurite.connection_string), container))
    async with busy_server(503) as origin:
        line.fault = detour(9, origin)
        with pytest.raises(ArchiveUnavailableError):
            await patient.put(VOLUME, 1, ENTRIES)
    line.fault = None
    await patient.put(VOLUME, 1, ENTRIES)
    assert await patient.read(VOLUME, 1, 3) == ENTRIES
    await patient.close()


@pytest.mark.behaviour("archive.put-again")
@pytest.mark.parametrize("times", [1, 3])
async def test_a_put_whose_answer_is_lost_is_repeated_or_reported(
    archive: BlobArchive, line: StorageLine, times: int
) -> None:
    """The entries are there once, either way."""
    line.fault = lose_answers(times, "PUT")

    if times == 1:
        await archive.put(VOLUME, 1, ENTRIES)
    else:
        with pytest.raises(ArchiveUnavailableError):
            await archive.put(VOLUME, 1, ENTRIES)
        await archive.put(VOLUME, 1, ENTRIES)

    assert await archive.read(VOLUME, 1, 3) == ENTRIES
    assert await archive.erase(PLACE) == 3
