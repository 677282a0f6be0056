"""The stores of objects, each as a factory: a second store is a second process's view of the same objects."""

from __future__ import annotations

import os
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from azure.cosmos import PartitionKey

from hosting.core.stores.blobs import BlobObjects, blob_account
from hosting.core.stores.cosmos import CONTAINER, PARTITION_KEY, CosmosObjects, cosmos_account
from hosting.core.stores.memory import MemoryObjects
from hosting.core.stores.sqlite_objects import ATTACHMENTS, SqliteObjects
from hosting.core.stores.sqlite_writer import StoreFile
from hosting.core.thread_log import epoch_store_key
from hosting.errors import AttachmentsUnavailableError
from hosting.names import Address, StoreKey
from hosting.ports import ObjectStore
from tests.support.azurite import Azurite
from tests.support.cosmos_server import CosmosServer

OpenObjects = Callable[[], ObjectStore]
UNAVAILABLE = AttachmentsUnavailableError
EPOCHS = [
    epoch_store_key(hub, address, epoch)
    for hub in ("hub", "hub2")
    for address in (
        Address("joker", "a"),
        Address("joker", "a~.-_"),
        Address("joker", "A"),
        Address("joker", "ä/1 ?#"),
        Address("jok-er_2", "a", "person1"),
    )
    for epoch in (1, 10, 11)
]
"""Lives of threads, as the log names their places."""

BEGIN_ALIKE = [
    StoreKey("hub.log", "joker.app~a"),
    *(StoreKey("hub.log", f"joker.app~a/1/{rest}") for rest in ("1", "0/000000")),
]
"""Places whose names stand before or behind those of others, which no thread has."""

EMULATOR = "COSMOS_EMULATOR"
"""The connection string of Microsoft's emulator, or of an account, to take the suite on that too."""

STORES = [
    "memory",
    "sqlite",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("blob", "cosmos", "cosmos-emulator")),
]


async def _memory(request: pytest.FixtureRequest) -> OpenObjects:
    store = MemoryObjects()
    return lambda: store


async def _sqlite(request: pytest.FixtureRequest) -> OpenObjects:
    folder: Path = request.getfixturevalue("tmp_path")
    path = folder / "new" / f"{uuid.uuid4().hex}.sqlite"
    return lambda: SqliteObjects(StoreFile(ATTACHMENTS, path, UNAVAILABLE))


async def _blob(request: pytest.FixtureRequest) -> OpenObjects:
    emulator: Azurite = request.getfixturevalue("azurite")
    container = f"test-{uuid.uuid4().hex}"
    connect = blob_account({"AzureWebJobsStorage": emulator.connection_string}, "AGENT_ARCHIVE")
    return lambda: BlobObjects(connect, container, UNAVAILABLE)


async def _cosmos(request: pytest.FixtureRequest) -> OpenObjects:
    server: CosmosServer = request.getfixturevalue("cosmos_server")
    return await cosmos_objects(server.connection_string)


async def _cosmos_emulator(request: pytest.FixtureRequest) -> OpenObjects:
    if not os.environ.get(EMULATOR):
        pytest.skip(f"no emulator of Cosmos DB: {EMULATOR} is not set to its connection string")
    return await cosmos_objects(os.environ[EMULATOR])


async def cosmos_objects(connection_string: str) -> OpenObjects:
    """Make a database of the test's own and return what opens its store."""
    connect, database = cosmos_account("AGENT_COSMOS", connection_string, {}), f"test-{uuid.uuid4().hex}"
    async with connect() as client:
        made = await client.create_database(database)
        await made.create_container(CONTAINER, PartitionKey(PARTITION_KEY))
    return lambda: CosmosObjects(connect, database, UNAVAILABLE)


FACTORIES: dict[str, Callable[[pytest.FixtureRequest], Awaitable[OpenObjects]]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "blob": _blob,
    "cosmos": _cosmos,
    "cosmos-emulator": _cosmos_emulator,
}
