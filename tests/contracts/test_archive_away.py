"""The archive in blobs, over a proxy that fails on purpose; its calls are counted by the account's log."""

from __future__ import annotations

import asyncio
import math
import uuid
from collections.abc import AsyncIterator, Awaitable, Iterator
from pathlib import Path

import pytest

from hosting.core.stores.archive import Archive, Volume
from hosting.core.stores.blobs import PATIENCE_SECONDS, BlobObjects
from hosting.core.stores.cosmos import CosmosObjects, cosmos_account
from hosting.errors import ArchiveUnavailableError, AttachmentsUnavailableError
from hosting.names import StoreKey
from tests.contracts.objects import cosmos_objects
from tests.support.azurite import Azurite
from tests.support.cosmos_server import CosmosServer
from tests.support.fault_proxy import FaultProxy, connect_quickly

PLACE = StoreKey("joker", "thread")
VOLUME = Volume(PLACE, 0)
ENTRIES = ['{"a":1}', '{"a":2}', '{"a":3}']


@pytest.fixture
def proxy(azurite: Azurite) -> Iterator[FaultProxy]:
    """The way to the account."""
    with FaultProxy(azurite.origins) as proxy:
        yield proxy


@pytest.fixture
async def archive(proxy: FaultProxy) -> AsyncIterator[Archive]:
    """An archive whose container is made, so that only what follows is counted."""
    made = archive_at(proxy, f"test-{uuid.uuid4().hex}")
    await made.erase(PLACE)
    yield made
    await made.close()


def archive_at(proxy: FaultProxy, container: str, patience_seconds: float = PATIENCE_SECONDS) -> Archive:
    """Return an archive whose repeats do not wait."""
    connect = connect_quickly(proxy.connection_string)
    return Archive(BlobObjects(connect, container, ArchiveUnavailableError, patience_seconds))


@pytest.mark.slow
@pytest.mark.behaviour("archive.calls")
async def test_a_move_is_one_call_and_a_page_of_a_long_thread_a_few(azurite: Azurite, archive: Archive) -> None:
    """However many entries are in the archive, and wherever the page is."""
    position = azurite.position()
    for first in range(1, 6001, 600):
        await archive.put(VOLUME, first, [f'{{"n":{number}}}' for number in range(first, first + 600)])
    assert len(azurite.calls_since(position)) == 10

    counts = []
    for first in (1, 2950, 5951):
        position = azurite.position()
        assert await archive.read(VOLUME, first, first + 49) == [f'{{"n":{n}}}' for n in range(first, first + 50)]
        counts.append(len(azurite.calls_since(position)))

    assert 1 <= min(counts) <= max(counts) <= 4


@pytest.mark.slow
@pytest.mark.behaviour("archive.unavailable")
async def test_an_account_that_never_answers_or_throttles_is_reported(proxy: FaultProxy) -> None:
    """Within the archive's patience, whatever is asked; afterwards it goes on."""
    container = f"test-{uuid.uuid4().hex}"
    impatient = archive_at(proxy, container, patience_seconds=1)
    silent = proxy.set("silent", times=math.inf)

    async def is_refused(asked: Awaitable[object]) -> None:
        with pytest.raises(ArchiveUnavailableError, match="older part of this thread"):
            await asked

    calls = (impatient.put(VOLUME, 1, ENTRIES), impatient.read(VOLUME, 1, 1), impatient.erase(PLACE))
    await asyncio.gather(*map(is_refused, calls))
    await impatient.close()

    silent.clear()
    patient = archive_at(proxy, container)
    busy = proxy.set("busy", times=math.inf)
    with pytest.raises(ArchiveUnavailableError):
        await patient.put(VOLUME, 1, ENTRIES)
    busy.clear()
    await patient.put(VOLUME, 1, ENTRIES)
    assert await patient.read(VOLUME, 1, 3) == ENTRIES
    await patient.close()


@pytest.mark.slow
@pytest.mark.behaviour("archive.put-again")
@pytest.mark.parametrize("times", [1, math.inf])
async def test_a_put_whose_answer_is_lost_is_repeated_or_reported(
    archive: Archive, proxy: FaultProxy, times: float
) -> None:
    """The entries are there once, either way. Besides the SDK, aiohttp repeats what a kept connection lost."""
    dropped = proxy.set("answer dropped", method="PUT", times=times)

    if times == 1:
        await archive.put(VOLUME, 1, ENTRIES)
    else:
        with pytest.raises(ArchiveUnavailableError):
            await archive.put(VOLUME, 1, ENTRIES)
        dropped.clear()
        await archive.put(VOLUME, 1, ENTRIES)

    assert await archive.read(VOLUME, 1, 3) == ENTRIES
    assert await archive.erase(PLACE) == 3


VOLUME = Volume(StoreKey("joker", "thread"), 0)


@pytest.mark.slow
@pytest.mark.behaviour("archive.unavailable")
async def test_an_account_that_goes_away_is_reported(npm_packages: Path) -> None:
    """Whatever is asked; the sentence names neither the account nor its key."""
    server = CosmosServer(npm_packages)
    archive = Archive((await cosmos_objects(server.connection_string))())
    await archive.put(VOLUME, 1, ["{}"])

    server.stop()

    for ask in (archive.put(VOLUME, 1, ["{}"]), archive.read(VOLUME, 1, 1), archive.erase(VOLUME.thread)):
        with pytest.raises(AttachmentsUnavailableError) as refused:
            await ask
        assert "127.0.0.1" not in refused.value.detail
    await archive.close()


@pytest.mark.slow
@pytest.mark.behaviour("archive.unavailable")
async def test_a_database_that_is_not_there_is_reported(cosmos_server: CosmosServer) -> None:
    """An identity that may read and write items may make no database, so neither do we."""
    account = cosmos_account("AGENT_COSMOS", cosmos_server.connection_string, {})
    archive = Archive(CosmosObjects(account, "absent", ArchiveUnavailableError))

    with pytest.raises(ArchiveUnavailableError):
        await archive.put(VOLUME, 1, ["{}"])
    await archive.close()


@pytest.mark.slow
@pytest.mark.behaviour("erasure.nothing-is-left")
async def test_nothing_of_an_erased_thread_is_left_in_the_account(cosmos_server: CosmosServer) -> None:
    """Whatever database and container it may be in; another thread's entries stay."""
    archive = Archive((await cosmos_objects(cosmos_server.connection_string))())
    other = Volume(StoreKey("joker", "other"), 0)
    await archive.put(VOLUME, 1, ['"a canary"', '"and its song"'])
    await archive.put(other, 1, ['"a neighbour"'])
    before = await everything(cosmos_server)

    await archive.erase(VOLUME.thread)
    after = await everything(cosmos_server)
    await archive.close()

    assert ("a canary" in before, "a neighbour" in before) == (True, True)
    assert ("a canary" in after, "and its song" in after, "a neighbour" in after) == (False, False, True)


async def everything(server: CosmosServer) -> str:
    """Return every item of the account, as text."""
    found: list[str] = []
    async with cosmos_account("AGENT_COSMOS", server.connection_string, {})() as client:
        async for database in client.list_databases():
            held = client.get_database_client(database["id"])
            async for container in held.list_containers():
                found += [str(item) async for item in held.get_container_client(container["id"]).read_all_items()]
    return "".join(found)
