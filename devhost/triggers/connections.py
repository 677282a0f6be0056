"""The storage accounts that bindings name by a setting: `UseDevelopmentStorage=true`, or a connection string."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies

if TYPE_CHECKING:
    from azure.storage.blob.aio import BlobServiceClient
    from azure.storage.queue.aio import QueueServiceClient

_EMULATOR = (
    "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;"
    "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;"
    "BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;QueueEndpoint=http://127.0.0.1:10001/devstoreaccount1;"
)
"""The meaning of `UseDevelopmentStorage=true`: Azurite's published account on its default ports."""

_API_VERSION = "2021-12-02"
"""One that each Azurite of the last years knows: the clients' own newest is refused by many."""

_CONNECT_SECONDS = 2.0
_PORTS = {"http": 80, "https": 443}
_quiet = logging.getLogger(f"{__name__}.requests")
_quiet.setLevel(logging.WARNING)
"""The clients' own log, which has a page for each poll."""


class ConnectionSettingError(Exception):
    """A binding's setting names no storage account that this host can use; the message is a sentence."""


@dataclass(frozen=True)
class Account:
    """One storage account; `setting` is the first setting that named it."""

    setting: str
    queues: QueueServiceClient
    blobs: BlobServiceClient

    async def unanswered(self) -> str | None:
        """Return the first of the account's two addresses at which nothing answers, None when both do."""
        for url in (self.queues.url, self.blobs.url):
            address = urlsplit(url)
            host, port = address.hostname or "", address.port or _PORTS[address.scheme]
            try:
                _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), _CONNECT_SECONDS)
            except (TimeoutError, OSError):
                return f"{host}:{port}"
            writer.close()
        return None


class Connections:
    """Opens each account once, when it is first used."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._accounts: dict[str, Account] = {}

    def account(self, setting: str) -> Account:
        """Return the account that the setting names; raise `ConnectionSettingError` with what to do."""
        text = self._connection_string(setting)
        if text not in self._accounts:
            self._accounts[text] = _open(setting, text)
        return self._accounts[text]

    def _connection_string(self, setting: str) -> str:
        text = self._environ.get(setting) or self._environ.get(f"AzureWebJobs{setting}") or ""
        if text:
            return _EMULATOR if text.lower().replace(" ", "").startswith("usedevelopmentstorage=true") else text
        if any(name.startswith(f"{setting}__") for name in self._environ):
            raise ConnectionSettingError(
                f"The setting {setting} is an identity's ({setting}__...), which is for Azure alone. Set {setting} to "
                "UseDevelopmentStorage=true for Azurite, or to a connection string."
            )
        raise ConnectionSettingError(
            f"There is no setting {setting}. Set it to UseDevelopmentStorage=true for Azurite, or to a connection "
            "string."
        )

    async def close(self) -> None:
        """Close the connections."""
        for account in self._accounts.values():
            await account.queues.close()
            await account.blobs.close()


def _open(setting: str, text: str) -> Account:
    """Make the clients, which are imported here: most apps have no queues and blobs, and start sooner without."""
    from azure.storage.blob.aio import BlobServiceClient
    from azure.storage.queue.aio import QueueServiceClient

    # What fails is tried again by whoever polls, or by the message's next delivery.
    once = dict.fromkeys(("retry_total", "retry_connect", "retry_read", "retry_status"), 0)
    options: dict[str, Any] = {
        **once,
        "logger": _quiet,
        "use_env_settings": bool(getproxies()),
        "api_version": _API_VERSION,
    }
    try:
        return Account(
            setting,
            QueueServiceClient.from_connection_string(text, **options),
            BlobServiceClient.from_connection_string(text, **options),
        )
    except (ValueError, KeyError) as error:
        raise ConnectionSettingError(
            f"The setting {setting} is not a connection string of a storage account: {error}"
        ) from None


def reason(error: Exception) -> str:
    """Return the first line of what the storage, or the way to it, answered."""
    with contextlib.suppress(IndexError):
        return str(error).splitlines()[0]
    return type(error).__name__
