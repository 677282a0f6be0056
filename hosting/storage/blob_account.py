"""The storage account that the app already has: `AzureWebJobsStorage`, by connection string or by identity."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from azure.identity.aio import DefaultAzureCredential
from azure.storage.blob.aio import BlobServiceClient, ExponentialRetry

from hosting.errors import ConfigurationError

SETTING = "AzureWebJobsStorage"
_EMULATOR = (
    "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;"
    "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;"
    "BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;"
)
"""What `UseDevelopmentStorage=true` stands for: Azurite's published account on its default port."""

_calls = logging.getLogger(f"{__name__}.calls")
_CONNECT_SECONDS = 3
_ANSWER_SECONDS = 5

Connect = Callable[[], AbstractAsyncContextManager[BlobServiceClient]]


@dataclass(frozen=True)
class _Identity:
    url: str
    client_id: str | None


def storage_account(environ: Mapping[str, str], asked_by: str = "AGENT_RUN_LOG") -> Connect:
    """Return how to connect to the account that the Functions host itself uses, for the setting `asked_by`.

    Raises `ConfigurationError` when the settings name none, or a connection string is not one.
    """
    text = environ.get(SETTING, "").strip()
    if text:
        return _by_connection_string(_EMULATOR if text.lower().startswith("usedevelopmentstorage=true") else text)
    url = environ.get(f"{SETTING}__blobServiceUri") or _url_of(environ.get(f"{SETTING}__accountName"))
    if url:
        return _by_identity(_Identity(url, environ.get(f"{SETTING}__clientId")))
    raise ConfigurationError(
        f"{asked_by} is 'blob', and no storage account is set up for it. Set {SETTING} to a connection string, or "
        f"{SETTING}__accountName for the app's identity."
    )


def _url_of(account: str | None) -> str | None:
    return f"https://{account}.blob.core.windows.net" if account else None


def _by_connection_string(text: str) -> Connect:
    try:
        BlobServiceClient.from_connection_string(text)
    except ValueError as error:
        raise ConfigurationError(f"{SETTING} is no connection string of a storage account: {error}") from None

    @asynccontextmanager
    async def connect() -> AsyncIterator[BlobServiceClient]:
        async with BlobServiceClient.from_connection_string(text, **client_options()) as client:
            yield client

    return connect


def _by_identity(identity: _Identity) -> Connect:
    @asynccontextmanager
    async def connect() -> AsyncIterator[BlobServiceClient]:
        async with (
            DefaultAzureCredential(managed_identity_client_id=identity.client_id) as credential,
            BlobServiceClient(identity.url, credential=credential, **client_options()) as client,
        ):
            yield client

    return connect


def client_options() -> dict[str, Any]:
    """Return how the client behaves: two repeats where the account is busy or the connection lost, and a quiet log.

    Whoever calls has a limit above all repeats. By itself the client writes a page of headers for each call.
    """
    _calls.setLevel(logging.WARNING)
    return {
        "logger": _calls,
        "retry_policy": ExponentialRetry(initial_backoff=1, increment_base=2, retry_total=2, random_jitter_range=1),
        "connection_timeout": _CONNECT_SECONDS,
        "read_timeout": _ANSWER_SECONDS,
    }
