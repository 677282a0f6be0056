"""Objects in blobs: the default on Azure, in the storage account that the app already has.

An object is the blob `<agent>/<thread>/<epoch>/<name>`, in a container for the archive or in one for attachments. Where
the account keeps versions or deleted blobs, it keeps them as long as its policy requires.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from operator import itemgetter
from typing import Any

from azure.core.exceptions import AzureError, HttpResponseError
from azure.storage.blob.aio import BlobServiceClient, ContainerClient, ExponentialRetry

from hosting.core.stores.connection import ENDLESS, BoundedConnection
from hosting.core.stores.storage_account import account_connection
from hosting.errors import StoreUnavailableError
from hosting.listing import Cursors
from hosting.names import StoreKey

PATIENCE_SECONDS = 20.0
_CONNECT_SECONDS = 3
_ANSWER_SECONDS = 5
_DELETED_AT_ONCE = 64
_MISSING, _CONFLICT, _CHANGED = 404, 409, 412

_calls = logging.getLogger(f"{__name__}.calls")

Connect = Callable[[], AbstractAsyncContextManager[BlobServiceClient]]


def blob_account(environ: Mapping[str, str], setting: str) -> Connect:
    """Return a function that connects to the account's blobs; see `account_connection` for refusals."""
    return account_connection(
        BlobServiceClient, "blob", environ, setting=setting, kept_in="blob", options=client_options()
    )


def client_options() -> dict[str, Any]:
    """Return how the client behaves: two repeats where the account is busy or the connection lost, and a quiet log.

    The container's patience is above all repeats. By itself the client writes a page of headers for each call.
    """
    _calls.setLevel(logging.WARNING)
    return {
        "logger": _calls,
        "retry_policy": ExponentialRetry(initial_backoff=1, increment_base=2, retry_total=2, random_jitter_range=1),
        "connection_timeout": _CONNECT_SECONDS,
        "read_timeout": _ANSWER_SECONDS,
    }


class BlobObjects:
    """An `ObjectStore` in a blob container, `agent-archive` or `agent-attachments`, which is made at the first use.

    Every method raises `unavailable` when the account does not answer within `patience_seconds`, is throttling beyond
    the client's own repeats, or refuses.
    """

    def __init__(
        self,
        connect: Connect,
        container: str,
        unavailable: type[StoreUnavailableError],
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        @asynccontextmanager
        async def made() -> AsyncIterator[ContainerClient]:
            async with connect() as service:
                client = service.get_container_client(container)
                try:
                    await client.create_container()
                except HttpResponseError as error:
                    _raise_unless(error, _CONFLICT)
                yield client

        name = f"The blob container {container}"
        self._container = BoundedConnection(name, made, unavailable, patience_seconds, AzureError)

    async def put(self, store_key: StoreKey, objects: Mapping[str, bytes]) -> None:
        """A call for each. Existing blobs are written again, so that they count as put now."""

        async def upload(container: ContainerClient, name: str, body: bytes) -> None:
            await container.upload_blob(_prefix(store_key) + name, body, overwrite=True)

        uploads = (partial(upload, name=name, body=body) for name, body in objects.items())
        await asyncio.gather(*map(self._container.call, uploads))

    async def read(self, store_key: StoreKey, names: Collection[str]) -> dict[str, bytes]:
        """A call for each."""

        async def download(container: ContainerClient, name: str) -> bytes | None:
            try:
                return await (await container.download_blob(_prefix(store_key) + name)).readall()
            except HttpResponseError as error:
                _raise_unless(error, _MISSING)
                return None

        blob_names = list(names)
        bodies = await asyncio.gather(*(self._container.call(partial(download, name=name)) for name in blob_names))
        return {name: body for name, body in zip(blob_names, bodies, strict=True) if body is not None}

    async def names(self, store_key: StoreKey, prefix: str = "") -> dict[str, float]:
        """One call for each 5,000, by the account's clock; names of other keys may begin with this one's."""
        folder = _prefix(store_key)
        times = {name[len(folder) :]: time for name, time in (await self._times(folder + prefix)).items()}
        return {name: time.timestamp() for name, time in sorted(times.items(), key=itemgetter(1)) if "/" not in name}

    async def put_between(self, space: str, after: float, before: float) -> list[tuple[float, str]]:
        """One call for each 5,000 objects of that space, by the account's clock.

        Each page has a patience of its own: there may be more of them than one call's is for.
        """
        first: dict[str, float] = {}
        token: str | None = None
        cursors = Cursors()
        while token != "":

            async def page(container: ContainerClient, token: str | None = token) -> tuple[dict[str, datetime], str]:
                pages = container.list_blobs(name_starts_with=f"{space}/").by_page(token)
                times = {str(blob.name): blob.last_modified async for blob in await anext(pages)}
                following = str(getattr(pages, "continuation_token", None) or "")
                if not cursors.is_new(following):
                    raise AzureError(ENDLESS)
                return times, following

            times, token = await self._container.call(page)
            for name, written_at in times.items():
                key, put_at = name[len(space) + 1 :].rpartition("/")[0], written_at.timestamp()
                if after <= put_at < before:
                    first[key] = min(put_at, first.get(key, put_at))
        return sorted((put_at, key) for key, put_at in first.items())

    async def epochs(self, thread: StoreKey) -> list[int]:
        """One listing."""
        names = await self._times(_prefix(thread))
        return thread.epochs_in(name.rpartition("/")[0].partition("/")[2] for name in names)

    async def erase(
        self, store_key: StoreKey, names: Collection[str] | None = None, *, before: float = math.inf
    ) -> None:
        """A call for each, and one listing where no names are given."""
        moment = None if math.isinf(before) else datetime.fromtimestamp(before, UTC)
        condition: dict[str, Any] = {} if moment is None else {"if_unmodified_since": moment}

        async def remove(container: ContainerClient, name: str) -> None:
            try:
                await container.delete_blob(_prefix(store_key) + name, **condition)
            except HttpResponseError as error:
                _raise_unless(error, _MISSING, _CHANGED)

        left = list(await self.names(store_key) if names is None else names)
        while left:
            part, left = left[:_DELETED_AT_ONCE], left[_DELETED_AT_ONCE:]
            await asyncio.gather(*(self._container.call(partial(remove, name=name)) for name in part))

    async def close(self) -> None:
        await self._container.close()

    async def _times(self, prefix: str) -> dict[str, datetime]:
        """Return the names that begin so, with the time at which each was written. One call for each 5,000."""

        async def listed(container: ContainerClient) -> dict[str, datetime]:
            blobs = container.list_blobs(name_starts_with=prefix)
            return {str(blob.name): blob.last_modified async for blob in blobs}

        return await self._container.call(listed)


def _prefix(key: StoreKey) -> str:
    return f"{key.space}/{key.name}/"


def _raise_unless(error: HttpResponseError, *expected: int) -> None:
    if error.status_code not in expected:
        raise error
