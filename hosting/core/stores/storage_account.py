"""The storage account that the app already has, `AzureWebJobsStorage`: by connection string or by the app's identity.

Each store of the account gets the client of its service here; that of tables is made here, too.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from azure.core.pipeline import AsyncPipeline
from azure.core.pipeline.policies import CustomHookPolicy, HttpLoggingPolicy, NetworkTraceLoggingPolicy, ProxyPolicy
from azure.core.pipeline.transport import AioHttpTransport
from azure.data.tables.aio import TableClient, TableServiceClient
from azure.identity.aio import DefaultAzureCredential

from hosting.core.stores.connection import cause_of
from hosting.core.stores.table_entities import Table
from hosting.errors import ConfigurationError
from hosting.settings import is_hosted, needs_shared_stores

SETTING = "AzureWebJobsStorage"
_EMULATOR = (
    "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;"
    "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;"
    "BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;TableEndpoint=http://127.0.0.1:10002/devstoreaccount1;"
)
"""The meaning of `UseDevelopmentStorage=true`: Azurite's published account on its default ports."""

_PORTS = {"http": 80, "https": 443}
_CONNECT_SECONDS = 3


def account_connection(
    client: Any, service: str, environ: Mapping[str, str], *, setting: str, kept_in: str, options: Mapping[str, Any]
) -> Callable[[], AbstractAsyncContextManager[Any]]:
    """Return an opener of the `client` class of a service, in the storage account of the Functions host.

    `service` is `blob` or `table`; `kept_in` is the value of the setting `setting` that means it. Raises
    `ConfigurationError` when the settings name no account, a connection string is not one, or, on a developer's
    machine, nothing listens there. In production an account is waited for instead.
    """
    # Else the client reads the user's .netrc before each call, and fails if that has a password for the account.
    options = {**options, "use_env_settings": bool(getproxies())}
    text = environ.get(SETTING, "").strip()
    if text:
        text = _EMULATOR if text.lower().startswith("usedevelopmentstorage=true") else text
        try:
            address = urlsplit(client.from_connection_string(text, **options).url)
            host, port = address.hostname, address.port or _PORTS[address.scheme]
        except (ValueError, KeyError) as error:
            raise ConfigurationError(f"{SETTING} is not a connection string of a storage account: {error}") from None
        if is_hosted(environ) and not needs_shared_stores(environ):
            _refuse_unreached(host, port, kept_in)
        return lambda: client.from_connection_string(text, **options)
    url = environ.get(f"{SETTING}__{service}ServiceUri")
    account = environ.get(f"{SETTING}__accountName")
    if not url and not account:
        raise ConfigurationError(
            f"{setting} is '{kept_in}', and no storage account is set up for it. Set {SETTING} to a connection "
            f"string, or {SETTING}__accountName for the app's identity."
        )
    url = url or f"https://{account}.{service}.core.windows.net"
    address = urlsplit(url)
    if address.scheme != "https" or not address.hostname:
        raise ConfigurationError(f"{SETTING}__{service}ServiceUri is {url!r}. Identities need https: set https://... .")

    @asynccontextmanager
    async def connect_by_identity() -> AsyncIterator[Any]:
        async with AsyncExitStack() as opened:
            credential = DefaultAzureCredential(managed_identity_client_id=environ.get(f"{SETTING}__clientId"))
            await opened.enter_async_context(credential)
            yield await opened.enter_async_context(client(url, credential=credential, **options))

    return connect_by_identity


def _refuse_unreached(host: str | None, port: int, kept_in: str) -> None:
    try:
        socket.create_connection((host, port), _CONNECT_SECONDS).close()
    except OSError as error:
        raise ConfigurationError(
            f"{SETTING} names {host}:{port}, which cannot be reached: {cause_of(error)} Start the service there "
            f"(Azurite, for the emulator), or store nothing in '{kept_in}'."
        ) from None


CALL_SECONDS = 3

_IDLE_POLICIES = (ProxyPolicy, CustomHookPolicy, NetworkTraceLoggingPolicy, HttpLoggingPolicy)
"""The policies of the official client that would do nothing for a call of ours, and cost as much as others.

Proxies of the environment are the transport's.
"""


OpenTable = Callable[[str], AbstractAsyncContextManager[Table]]


def table_account(environ: Mapping[str, str], setting: str) -> OpenTable:
    """Return a function that opens the account's table of a name, made or not; see `account_connection` for refusals.

    Each call is made once, for 3 s at most, and is not logged. By itself the client repeats unanswered calls for
    minutes, an insert that counted too, and writes a page of headers for each call.
    """
    never = dict.fromkeys(("retry_total", "retry_connect", "retry_read", "retry_status"), 0)
    connect = account_connection(TableServiceClient, "table", environ, setting=setting, kept_in="tables", options=never)
    options = {"connection_timeout": CALL_SECONDS, "read_timeout": CALL_SECONDS, "use_env_settings": bool(getproxies())}

    @asynccontextmanager
    async def opened(name: str) -> AsyncIterator[Table]:
        async with connect() as service:
            # The client has no public way to leave policies out. It is not called itself.
            needed = [policy for policy in service._policies if not isinstance(policy, _IDLE_POLICIES)]
            async with AsyncPipeline(AioHttpTransport(**options), needed) as pipeline:
                yield Table(TableClient(service.url, name, credential=service.credential, pipeline=pipeline), pipeline)

    return opened
