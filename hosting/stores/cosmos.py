"""The archive in a container of Azure Cosmos DB for NoSQL: threads in a database of your own.

The account is named by its address, for the app's identity, or by a connection string. A segment is one item of the
partition of its thread, with its entries as JSON texts: as values, Cosmos DB would round their numbers. A move is one
call, and so is a page.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import Any

from azure.core.exceptions import AzureError
from azure.cosmos.aio import ContainerProxy, CosmosClient
from azure.cosmos.exceptions import CosmosResourceNotFoundError
from azure.identity.aio import DefaultAzureCredential

from hosting.errors import ArchiveUnavailableError, ConfigurationError
from hosting.names import StoreKey
from hosting.ports import Volume
from hosting.stores.connection import BoundedConnection
from hosting.stores.segments import MOST_ENTRIES, Segment, cut, laid_out

_ADDRESS = re.compile(r"https://[^\s;]+")
_CONNECTION_STRING = re.compile(r"AccountEndpoint=(https?://[^\s;]+);\s*AccountKey=([^\s;]+);?", re.IGNORECASE)
_CLIENT_ID = "AZURE_CLIENT_ID"
_ANSWER_SECONDS = 15

_calls = logging.getLogger(f"{__name__}.calls")

ConnectCosmos = Callable[[], AbstractAsyncContextManager[CosmosClient]]


def cosmos_account(setting: str, value: str, environ: Mapping[str, str]) -> ConnectCosmos:
    """Return how to connect to the account that the `value` of a setting names.

    By identity that is the one of `AZURE_CLIENT_ID`, where it is set. Raises `ConfigurationError` for a value that is
    neither an https address nor a connection string.
    """
    named = _CONNECTION_STRING.fullmatch(value.strip())
    if named is None and not _ADDRESS.fullmatch(value.strip()):
        raise ConfigurationError(
            f"{setting} names no account of Cosmos DB. Set it to the account's address "
            "(https://NAME.documents.azure.com:443/), or to a connection string."
        )

    @asynccontextmanager
    async def connect() -> AsyncIterator[CosmosClient]:
        async with AsyncExitStack() as opened:
            if named is not None:
                client = CosmosClient(named[1], named[2], **_client_options(named[1]))
            else:
                credential = DefaultAzureCredential(managed_identity_client_id=environ.get(_CLIENT_ID))
                await opened.enter_async_context(credential)
                client = CosmosClient(value.strip(), credential, **_client_options(value.strip()))
            yield await opened.enter_async_context(client)

    return connect


def _client_options(address: str) -> dict[str, Any]:
    """Return how the client behaves: it takes the account at its address, and writes no page of headers per call."""
    _calls.setLevel(logging.WARNING)
    is_local = address.startswith("http://")
    return {"logger": _calls, "request_timeout": _ANSWER_SECONDS, "enable_endpoint_discovery": not is_local}


CONTAINER = "agent-archive"
PARTITION_KEY = "/thread"
PATIENCE_SECONDS = 20.0
_COVERING = (
    "SELECT c.first, c.entries FROM c WHERE c.thread = @thread AND c.generation = @generation AND c.first >= @lowest "
    "AND c.first <= @last AND c.last >= @first ORDER BY c._ts"
)
_BEFORE = "SELECT c.id, c.first, c.last FROM c WHERE c.thread = @thread AND c.generation < @before"
_EPOCHS = "SELECT c.thread FROM c WHERE STARTSWITH(c.thread, @prefix)"
_ANY_GENERATION = 2**53


class CosmosArchive:
    """An `ArchiveStore` in the container `agent-archive` of a database."""

    def __init__(self, connect: ConnectCosmos, database: str, patience_seconds: float = PATIENCE_SECONDS) -> None:
        @asynccontextmanager
        async def container() -> AsyncIterator[ContainerProxy]:
            async with connect() as client:
                yield client.get_database_client(database).get_container_client(CONTAINER)

        name = f"The archive in the Cosmos DB database {database}"
        self._items = BoundedConnection(
            name, container, ArchiveUnavailableError.unreached, patience_seconds, (AzureError,)
        )

    async def put(self, volume: Volume, first: int, entries: Sequence[str]) -> None:
        """One call, and one more for each million bytes."""
        for segment in cut(first, entries):
            item = {
                "id": f"{volume.generation}-{segment.first}-{segment.last}",
                "thread": _partition(volume.thread),
                "generation": volume.generation,
                "first": segment.first,
                "last": segment.last,
                "entries": list(segment.entries),
            }
            await self._items.call(partial(ContainerProxy.upsert_item, body=item))

    async def read(self, volume: Volume, first: int, last: int) -> list[str]:
        """One query. Where segments overlap, the newer one holds."""
        values = {"generation": volume.generation, "lowest": first - MOST_ENTRIES + 1, "first": first, "last": last}
        items = await self._query(_COVERING, _partition(volume.thread), values)
        return laid_out((Segment(item["first"], tuple(item["entries"])) for item in items), first, last)

    async def epochs(self, thread: StoreKey) -> list[int]:
        """One query over all partitions."""
        found = await self._query(_EPOCHS, None, {"prefix": f"{_partition(thread)}/"})
        return thread.epochs_in(item["thread"].partition("/")[2] for item in found)

    async def erase(self, key: StoreKey, before: int | None = None) -> int:
        """One query, and a call for each segment."""
        partition = _partition(key)
        items = await self._query(_BEFORE, partition, {"before": _ANY_GENERATION if before is None else before})

        async def delete(container: ContainerProxy, item_id: str) -> None:
            with suppress(CosmosResourceNotFoundError):
                await container.delete_item(item_id, partition)

        for item in items:
            await self._items.call(partial(delete, item_id=item["id"]))
        return sum(int(item["last"] - item["first"] + 1) for item in items)

    async def close(self) -> None:
        await self._items.close()

    async def _query(self, text: str, partition: str | None, values: Mapping[str, object]) -> list[dict[str, Any]]:
        """Return the items of a partition, or of all, that the query finds."""
        by_name = values if partition is None else {**values, "thread": partition}
        parameters: list[dict[str, object]] = [{"name": f"@{name}", "value": value} for name, value in by_name.items()]
        within: dict[str, Any] = {} if partition is None else {"partition_key": partition}

        async def items(container: ContainerProxy) -> list[dict[str, Any]]:
            return [item async for item in container.query_items(text, parameters=parameters, **within)]

        return await self._items.call(items)


def _partition(key: StoreKey) -> str:
    return f"{key.agent}/{key.thread_id}"
