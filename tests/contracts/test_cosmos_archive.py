"""The archive in Cosmos DB when its account is away, or has no such container."""

from __future__ import annotations

from pathlib import Path

import pytest

from hosting.core.stores.archive import Archive, Volume
from hosting.core.stores.cosmos import CosmosObjects, cosmos_account
from hosting.errors import ArchiveUnavailableError, AttachmentsUnavailableError
from hosting.names import StoreKey
from tests.contracts.objects import cosmos_objects
from tests.support.cosmos_server import CosmosServer

pytestmark = pytest.mark.slow
VOLUME = Volume(StoreKey("joker", "thread"), 0)


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


@pytest.mark.behaviour("archive.unavailable")
async def test_a_database_that_is_not_there_is_reported(cosmos_server: CosmosServer) -> None:
    """An identity that may read and write items may make no database, so neither do we."""
    account = cosmos_account("AGENT_COSMOS", cosmos_server.connection_string, {})
    archive = Archive(CosmosObjects(account, "absent", ArchiveUnavailableError))

    with pytest.raises(ArchiveUnavailableError):
        await archive.put(VOLUME, 1, ["{}"])
    await archive.close()


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
