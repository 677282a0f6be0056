"""An account of Azure Cosmos DB for NoSQL: its address and the app's identity, or a connection string."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from azure.cosmos.aio import CosmosClient
from azure.identity.aio import DefaultAzureCredential

from hosting.errors import ConfigurationError

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
    if named is not None:
        return _by_key(named[1], named[2])
    if _ADDRESS.fullmatch(value.strip()):
        return _by_identity(value.strip(), environ.get(_CLIENT_ID))
    raise ConfigurationError(
        f"{setting} names no account of Cosmos DB. Set it to the account's address "
        "(https://NAME.documents.azure.com:443/), or to a connection string."
    )


def _by_key(address: str, key: str) -> ConnectCosmos:
    @asynccontextmanager
    async def connect() -> AsyncIterator[CosmosClient]:
        async with CosmosClient(address, key, **_client_options(address)) as client:
            yield client

    return connect


def _by_identity(address: str, client_id: str | None) -> ConnectCosmos:
    @asynccontextmanager
    async def connect() -> AsyncIterator[CosmosClient]:
        async with (
            DefaultAzureCredential(managed_identity_client_id=client_id) as credential,
            CosmosClient(address, credential, **_client_options(address)) as client,
        ):
            yield client

    return connect


def _client_options(address: str) -> dict[str, Any]:
    """Return how the client behaves: it takes the account at its address, and writes no page of headers per call."""
    _calls.setLevel(logging.WARNING)
    is_local = address.startswith("http://")
    return {"logger": _calls, "request_timeout": _ANSWER_SECONDS, "enable_endpoint_discovery": not is_local}
