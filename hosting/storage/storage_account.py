"""The storage account that the app already has, `AzureWebJobsStorage`: found in the settings, for each of its services.

By connection string or by the app's identity. The services' clients are loaded by those who ask for them.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import urlsplit

from azure.identity.aio import DefaultAzureCredential

from hosting.errors import ConfigurationError
from hosting.storage.outage import cause_of
from hosting.surroundings import is_hosted, needs_shared_stores

SETTING = "AzureWebJobsStorage"
_EMULATOR = (
    "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;"
    "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;"
    "BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;TableEndpoint=http://127.0.0.1:10002/devstoreaccount1;"
)
"""What `UseDevelopmentStorage=true` stands for: Azurite's published account on its default ports."""

_PORTS = {"http": 80, "https": 443}
_CONNECT_SECONDS = 3


class Client(Protocol):
    """What is asked of every service's client; it is open in its `async with` block."""

    @property
    def url(self) -> str:
        """The address of the service."""

    async def __aenter__(self) -> Any: ...

    async def __aexit__(self, *args: Any) -> None: ...


ClientT = TypeVar("ClientT", bound=Client)


@dataclass(frozen=True)
class Service(Generic[ClientT]):
    """One service of an account: `blob` or `table`, and the setting's value `kept_in` by which stores ask for it.

    `by_connection_string` raises ValueError or KeyError for a text that is none; `by_identity` takes an address.
    """

    name: str
    kept_in: str
    by_connection_string: Callable[[str], ClientT]
    by_identity: Callable[[str, DefaultAzureCredential], ClientT]


def account_connection(
    service: Service[ClientT], environ: Mapping[str, str], asked_by: str
) -> Callable[[], AbstractAsyncContextManager[ClientT]]:
    """Return how to connect to the account that the Functions host itself uses, for the setting `asked_by`.

    Raises `ConfigurationError` when the settings name none, a connection string is not one, or, on a developer's
    machine, nobody listens there. In production an account is waited for instead.
    """
    text = environ.get(SETTING, "").strip()
    if text:
        text = _EMULATOR if text.lower().startswith("usedevelopmentstorage=true") else text
        _refuse_unusable(service, text, is_alone=is_hosted(environ) and not needs_shared_stores(environ))
        return _by_connection_string(service, text)
    url = environ.get(f"{SETTING}__{service.name}ServiceUri")
    account = environ.get(f"{SETTING}__accountName")
    if url or account:
        url = url or f"https://{account}.{service.name}.core.windows.net"
        _refuse_open_line(url, f"{SETTING}__{service.name}ServiceUri")
        return _by_identity(service, url, environ.get(f"{SETTING}__clientId"))
    raise ConfigurationError(
        f"{asked_by} is '{service.kept_in}', and no storage account is set up for it. Set {SETTING} to a connection "
        f"string, or {SETTING}__accountName for the app's identity."
    )


def _refuse_unusable(service: Service[ClientT], text: str, *, is_alone: bool) -> None:
    try:
        address = urlsplit(service.by_connection_string(text).url)
        host, port = address.hostname, address.port or _PORTS[address.scheme]
    except (ValueError, KeyError) as error:
        raise ConfigurationError(f"{SETTING} is no connection string of a storage account: {error}") from None
    if is_alone:
        try:
            socket.create_connection((host, port), _CONNECT_SECONDS).close()
        except OSError as error:
            raise ConfigurationError(
                f"{SETTING} names {host}:{port}, which cannot be reached: {cause_of(error)} Start what is to listen "
                f"there (Azurite, for the emulator), or have nothing kept in '{service.kept_in}'."
            ) from None


def _refuse_open_line(url: str, setting: str) -> None:
    address = urlsplit(url)
    if address.scheme != "https" or not address.hostname:
        raise ConfigurationError(f"{setting} is {url!r}. An identity is shown over https alone: set https://... .")


def _by_connection_string(service: Service[ClientT], text: str) -> Callable[[], AbstractAsyncContextManager[ClientT]]:
    @asynccontextmanager
    async def connect() -> AsyncIterator[ClientT]:
        async with service.by_connection_string(text) as client:
            yield client

    return connect


def _by_identity(
    service: Service[ClientT], url: str, client_id: str | None
) -> Callable[[], AbstractAsyncContextManager[ClientT]]:
    @asynccontextmanager
    async def connect() -> AsyncIterator[ClientT]:
        async with AsyncExitStack() as opened:
            credential = DefaultAzureCredential(managed_identity_client_id=client_id)
            await opened.enter_async_context(credential)
            yield await opened.enter_async_context(service.by_identity(url, credential))

    return connect
