"""The archive in Cosmos DB when its account is away, or has no such container."""

from __future__ import annotations

from pathlib import Path

import pytest

from hosting.archive.cosmos import CosmosArchive
from hosting.errors import ArchiveUnavailableError
from hosting.events import Place
from hosting.ports import Volume
from hosting.storage.cosmos_account import cosmos_account
from tests.contracts.archives import cosmos_archives
from tests.contracts.cosmos_server import CosmosServer

pytestmark = pytest.mark.slow
VOLUME = Volume(Place("joker", "thread"), 0)


@pytest.mark.behaviour("archive.unavailable")
async def test_an_account_that_goes_away_is_reported(npm_packages: Path) -> None:
    """Whatever is asked; the sentence names neither the account nor its key."""
    server = CosmosServer(npm_packages)
    archive = (await cosmos_archives(server.connection_string))()
    await archive.put(VOLUME, 1, ["{}"])

    server.stop()

    for ask in (archive.put(VOLUME, 1, ["{}"]), archive.read(VOLUME, 1, 1), archive.erase(VOLUME.place)):
        with pytest.raises(ArchiveUnavailableError) as refused:
            await ask
        assert "127.0.0.1" not in refused.value.detail
    await archive.close()


@pytest.mark.behaviour("archive.unavailable")
async def test_a_database_that_is_not_there_is_reported(cosmos_server: CosmosServer) -> None:
    """An identity that may read and write items may make no database, so neither do we."""
    archive = CosmosArchive(cosmos_account("AGENT_COSMOS", cosmos_server.connection_string, {}), "absent")

    with pytest.raises(ArchiveUnavailableError):
        await archive.put(VOLUME, 1, ["{}"])
    await archive.close()
