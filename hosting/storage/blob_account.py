"""The storage account that the app already has: `AzureWebJobsStorage`, by connection string or by identity."""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from azure.identity.aio import DefaultAzureCredential
from azure.storage.blob.aio import BlobServiceClient, ExponentialRetry

from hosting.errors import ConfigurationError
from hosting.storage.outage import cause_of
from hosting.surroundings import is_hosted, needs_shared_stores

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
_PORTS = {"http": 80, "https": 443}

Connect = Callable[[], AbstractAsyncContextManager[BlobServiceClient]]


@dataclass(frozen=True)
class _Identity:
    url: str
    client_id: str | None


def storage_account(environ: Mapping[str, str], asked_by: str = "AGENT_RUN_LOG") -> Connect:
    """Return how to connect to the account that the Functions host itself uses, for the setting `asked_by`.

    Raises `ConfigurationError` when the settings name none, a connection string is not one, or, on a developer's
    machine, nobody listens there. In production an account is waited for instead.
    """
    text = environ.get(SETTING, "").strip()
    if text:
        text = _EMULATOR if text.lower().startswith("usedevelopmentstorage=true") else text
        _refuse_unusable(text, is_alone=is_hosted(environ) and not needs_shared_stores(environ))
        return _by_connection_string(text)
    url = environ.get(f"{SETTING}__blobServiceUri") or _url_of(environ.get(f"{SETTING}__accountName"))
    if url:
        return _by_identity(_Identity(url, environ.get(f"{SETTING}__clientId")))
    raise ConfigurationError(
        f"{asked_by} is 'blob', and no storage account is set up for it. Set {SETTING} to a connection string, or "
        f"{SETTING}__accountName for the app's identity."
    )


def _url_of(account: str | None) -> str | None:
    return f"https://{account}.blob.core.windows.net" if account else None


def _refuse_unusable(text: str, *, is_alone: bool) -> None:
    try:
        client = BlobServiceClient.from_connection_string(text)
        address = urlsplit(f"{client.scheme}://{client.primary_hostname}")
        host, port = address.hostname, address.port or _PORTS[client.scheme]
    except (ValueError, KeyError) as error:
        raise ConfigurationError(f"{SETTING} is no connection string of a storage account: {error}") from None
    if is_alone:
        try:
            socket.create_connection((host, port), _CONNECT_SECONDS).close()
        except OSError as error:
            raise ConfigurationError(
                f"{SETTING} names {host}:{port}, which cannot be reached: {cause_of(error)} Start what is to listen "
                "there (Azurite, for the emulator), or have nothing kept in 'blob'."
            ) from None


def _by_connection_string(text: str) -> Connect:
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
