"""The archive in a container of Azure Cosmos DB for NoSQL: threads in a database of your own.

The account is named by its address, for the app's identity, or by a connection string. A segment is one item of the
partition of its thread, with its entries as one text: as values, Cosmos DB would round their numbers. A move is one
call.
"""

from __future__ import annotations

import base64
import logging
import math
import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import Any

from azure.core import MatchConditions
from azure.core.exceptions import AzureError
from azure.cosmos.aio import ContainerProxy, CosmosClient
from azure.cosmos.exceptions import CosmosAccessConditionFailedError, CosmosResourceNotFoundError
from azure.identity.aio import DefaultAzureCredential

from hosting.core.stores.connection import BoundedConnection
from hosting.errors import ConfigurationError, StoreUnavailableError
from hosting.names import StoreKey

_ADDRESS = re.compile(r"https://[^\s;]+")
_CONNECTION_STRING = re.compile(r"AccountEndpoint=(https?://[^\s;]+);\s*AccountKey=([^\s;]+);?", re.IGNORECASE)
_CLIENT_ID = "AZURE_CLIENT_ID"
_ANSWER_SECONDS = 15

_calls = logging.getLogger(f"{__name__}.calls")

ConnectCosmos = Callable[[], AbstractAsyncContextManager[CosmosClient]]


def cosmos_account(setting: str, value: str, environ: Mapping[str, str]) -> ConnectCosmos:
    """Return how to connect to the account that the `value` of a setting names.

    The identity is that of `AZURE_CLIENT_ID`, where it is set. Raises `ConfigurationError` for a value that is
    neither an https address nor a connection string.
    """
    parts = _CONNECTION_STRING.fullmatch(value.strip())
    if parts is None and not _ADDRESS.fullmatch(value.strip()):
        raise ConfigurationError(
            f"{setting} is not an account of Cosmos DB. Set it to the account's address "
            "(https://NAME.documents.azure.com:443/), or to a connection string."
        )

    @asynccontextmanager
    async def connect() -> AsyncIterator[CosmosClient]:
        async with AsyncExitStack() as opened:
            if parts is not None:
                client = CosmosClient(parts[1], parts[2], **_client_options(parts[1]))
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
_READ = "SELECT * FROM c WHERE c.thread = @thread AND ARRAY_CONTAINS(@names, c.id)"
_NAMES = "SELECT c.id, c._ts FROM c WHERE c.thread = @thread AND STARTSWITH(c.id, @prefix) ORDER BY c._ts"
_PUT_BETWEEN = (
    "SELECT c.thread, c._ts FROM c WHERE STARTSWITH(c.thread, @prefix) AND c._ts >= @after AND c._ts < @before"
)
_ETAGS = "SELECT c.id, c._etag FROM c WHERE c.thread = @thread AND c._ts < @before"
_NEVER = 2.0**53
_EPOCHS = "SELECT c.thread FROM c WHERE STARTSWITH(c.thread, @prefix)"


class CosmosObjects:
    """An `ObjectStore` in the container `agent-archive` of a database; its clock counts whole seconds.

    An object is one item of the partition of its store key, so it is at most some 2 MB.
    """

    def __init__(
        self,
        connect: ConnectCosmos,
        database: str,
        unavailable: type[StoreUnavailableError],
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        @asynccontextmanager
        async def container() -> AsyncIterator[ContainerProxy]:
            async with connect() as client:
                yield client.get_database_client(database).get_container_client(CONTAINER)

        name = f"The archive in the Cosmos DB database {database}"
        self._items = BoundedConnection(name, container, unavailable, patience_seconds, AzureError)

    async def put(self, store_key: StoreKey, objects: Mapping[str, bytes]) -> None:
        """A call for each."""
        for name, body in objects.items():
            item = {"id": name, "thread": _partition(store_key), **_stored(body)}
            await self._items.call(partial(ContainerProxy.upsert_item, body=item))

    async def read(self, store_key: StoreKey, names: Collection[str]) -> dict[str, bytes]:
        """One query."""
        items = await self._query(_READ, _partition(store_key), {"names": list(names)})
        return {item["id"]: _body(item) for item in items}

    async def names(self, store_key: StoreKey, prefix: str = "") -> dict[str, float]:
        """One query."""
        items = await self._query(_NAMES, _partition(store_key), {"prefix": prefix})
        return {item["id"]: float(item["_ts"]) for item in items}

    async def put_between(self, space: str, after: float, before: float) -> list[tuple[float, str]]:
        """One query over all partitions."""
        items = await self._query(_PUT_BETWEEN, None, {"prefix": f"{space}/", "after": after, "before": before})
        first: dict[str, float] = {}
        for item in items:
            name, put_at = item["thread"].partition("/")[2], float(item["_ts"])
            first[name] = min(put_at, first.get(name, put_at))
        return sorted((put_at, name) for name, put_at in first.items())

    async def epochs(self, thread: StoreKey) -> list[int]:
        """One query over all partitions."""
        items = await self._query(_EPOCHS, None, {"prefix": f"{_partition(thread)}/"})
        return thread.epochs_in(item["thread"].partition("/")[2] for item in items)

    async def erase(
        self, store_key: StoreKey, names: Collection[str] | None = None, *, before: float = math.inf
    ) -> None:
        """A call for each, and one query where no names are given or those stay that were put since a moment."""

        async def delete(container: ContainerProxy, name: str, etag: str | None) -> None:
            unchanged: dict[str, Any] = (
                {} if etag is None else {"etag": etag, "match_condition": MatchConditions.IfNotModified}
            )
            with suppress(CosmosResourceNotFoundError, CosmosAccessConditionFailedError):
                await container.delete_item(name, _partition(store_key), **unchanged)

        etags: Mapping[str, str | None] = dict.fromkeys(names or ())
        if names is None or not math.isinf(before):
            items = await self._query(_ETAGS, _partition(store_key), {"before": min(before, _NEVER)})
            etags = {item["id"]: item["_etag"] for item in items if names is None or item["id"] in names}
        for name, etag in etags.items():
            await self._items.call(partial(delete, name=name, etag=None if math.isinf(before) else etag))

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
    return f"{key.space}/{key.name}"


def _stored(body: bytes) -> dict[str, str]:
    """Return the members of an item that hold these bytes: as a text that a person can read where they are one."""
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}


def _body(item: Mapping[str, Any]) -> bytes:
    text: str | None = item.get("text")
    return base64.b64decode(item["base64"]) if text is None else text.encode()
