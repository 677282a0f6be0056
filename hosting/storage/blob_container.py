"""One blob container as a few conditional verbs, each of one storage call and a bounded time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from azure.core import MatchConditions
from azure.core.exceptions import AzureError, HttpResponseError
from azure.storage.blob.aio import ContainerClient

from hosting.errors import HostingError
from hosting.storage.blob_account import Connect
from hosting.storage.outage import Outage

T = TypeVar("T")
PATIENCE_SECONDS = 20.0
MOST_READ_BYTES = 4 * 1024 * 1024
_MISSING, _CONFLICT, _CHANGED, _NOTHING_THERE = 404, 409, 412, 416


@dataclass(frozen=True)
class Version:
    """A blob as it was at one moment. `blocks` is how many appends it has taken, of 50,000 that it can."""

    etag: str
    length: int
    blocks: int = 0


@dataclass(frozen=True)
class Blob:
    """A blob's content and metadata at a version."""

    body: bytes
    metadata: Mapping[str, str]
    version: Version


class BlobContainer:
    """A container, connected to and made at the first use.

    Every verb raises the error that `unavailable` makes when the account does not answer within `patience_seconds`, is
    throttling beyond the client's own repeats, or refuses.
    """

    def __init__(
        self,
        connect: Connect,
        name: str,
        unavailable: Callable[[], HostingError],
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._connect = connect
        self._name = name
        self._unavailable = unavailable
        self._outage = Outage(f"The blob container {name}")
        self._patience_seconds = patience_seconds
        self._connecting = asyncio.Lock()
        self._client: ContainerClient | None = None
        self._is_made = False
        self._open = AsyncExitStack()

    async def create_log(self, name: str, metadata: dict[str, str], *, replace: bool = False) -> Version | None:
        """Make an empty append blob; None when there is one already and it was not to be replaced."""
        return await self._bounded(self._create_log(name, metadata, replace))

    async def append(self, name: str, body: bytes, at: Version) -> Version | None:
        """Append one block if the blob is still at that version; None when it is not, or not there."""
        return await self._bounded(self._append(name, body, at))

    async def read(self, name: str, *, has_content: bool = False) -> Blob | None:
        """Return the blob, or None when it is not there.

        One call where there is no content, else two; the other way round for who says that the blob `has_content`.
        """
        return await self._bounded(self._read(name, has_content))

    async def read_from(self, name: str, offset: int) -> bytes | None:
        """Return what stands behind the first `offset` bytes, b"" for nothing; None when the blob is not there."""
        return await self._bounded(self._read_from(name, offset))

    async def put(self, name: str, body: bytes, metadata: dict[str, str] | None = None, at: str | None = None) -> bool:
        """Write a whole blob if there is none, or if `at` is its etag; tell whether that was done."""
        return await self._bounded(self._put(name, body, metadata or {}, at))

    async def put_anyway(self, name: str, body: bytes) -> None:
        """Write a whole blob over what was there."""
        await self._bounded(self._put_anyway(name, body))

    async def delete(self, name: str) -> None:
        """Remove the blob, if it is there."""
        await self._bounded(self._delete(name))

    async def list(self, prefix: str) -> dict[str, Mapping[str, str]]:
        """Return the names behind the prefix, with each blob's metadata. One call for each 5,000."""
        return await self._bounded(self._list(prefix))

    async def times(self, prefix: str) -> dict[str, datetime]:
        """Return the names behind the prefix, with the time at which each blob was written. Calls as `list`."""
        return await self._bounded(self._times(prefix))

    async def content(self, name: str) -> bytes | None:
        """Return what is in a blob, or None when it is not there. One call; a blob that is empty is an error."""
        return await self._bounded(self._content(name))

    async def close(self) -> None:
        """Let go of connections; the next use opens new ones."""
        opened, self._open, self._client = self._open, AsyncExitStack(), None
        await opened.aclose()

    async def _bounded(self, work: Awaitable[T]) -> T:
        try:
            done = await asyncio.wait_for(work, self._patience_seconds)
        except (AzureError, OSError, asyncio.TimeoutError) as error:
            self._outage.began(error)
            raise self._unavailable() from error
        self._outage.ended()
        return done

    async def _container(self) -> ContainerClient:
        async with self._connecting:
            if self._client is None:
                service = await self._open.enter_async_context(self._connect())
                self._client = service.get_container_client(self._name)
            if not self._is_made:
                await _make(self._client)
                self._is_made = True
            return self._client

    async def _create_log(self, name: str, metadata: dict[str, str], replace: bool) -> Version | None:
        blob = (await self._container()).get_blob_client(name)
        condition: dict[str, Any] = {} if replace else {"match_condition": MatchConditions.IfMissing}
        try:
            made = await blob.create_append_blob(metadata=metadata, **condition)
        except HttpResponseError as error:
            _raise_unless(error, _CONFLICT, _CHANGED)
            return None
        return Version(str(made["etag"]), 0)

    async def _append(self, name: str, body: bytes, at: Version) -> Version | None:
        blob = (await self._container()).get_blob_client(name)
        condition: dict[str, Any] = {"etag": at.etag, "match_condition": MatchConditions.IfNotModified}
        try:
            done = await blob.append_block(body, len(body), appendpos_condition=at.length, **condition)
        except HttpResponseError as error:
            _raise_unless(error, _MISSING, _CHANGED)
            return None
        return Version(str(done["etag"]), at.length + len(body), at.blocks + 1)

    async def _read(self, name: str, has_content: bool) -> Blob | None:
        blob = (await self._container()).get_blob_client(name)
        try:
            found = None if has_content else await blob.get_blob_properties()
            if found and not found.size:  # a ranged GET of nothing would be refused and repeated
                return Blob(b"", found.metadata, Version(found.etag, 0))
            stream = await blob.download_blob()
            body = await stream.readall()
        except HttpResponseError as error:
            _raise_unless(error, _MISSING)
            return None
        blocks = stream.properties.append_blob_committed_block_count or 0
        return Blob(body, stream.properties.metadata, Version(stream.properties.etag, len(body), blocks))

    async def _read_from(self, name: str, offset: int) -> bytes | None:
        blob = (await self._container()).get_blob_client(name)
        try:
            stream = await blob.download_blob(offset=offset, length=MOST_READ_BYTES)
            return bytes(await stream.readall())
        except HttpResponseError as error:
            _raise_unless(error, _MISSING, _NOTHING_THERE)
            return None if error.status_code == _MISSING else b""

    async def _content(self, name: str) -> bytes | None:
        blob = (await self._container()).get_blob_client(name)
        try:
            return await (await blob.download_blob()).readall()
        except HttpResponseError as error:
            _raise_unless(error, _MISSING)
            return None

    async def _put(self, name: str, body: bytes, metadata: dict[str, str], at: str | None) -> bool:
        blob = (await self._container()).get_blob_client(name)
        condition: dict[str, Any] = (
            {"etag": at, "match_condition": MatchConditions.IfNotModified, "overwrite": True}
            if at
            else {"match_condition": MatchConditions.IfMissing}
        )
        try:
            await blob.upload_blob(body, metadata=metadata, **condition)
        except HttpResponseError as error:
            _raise_unless(error, _CONFLICT, _CHANGED)
            return False
        return True

    async def _put_anyway(self, name: str, body: bytes) -> None:
        await (await self._container()).upload_blob(name, body, overwrite=True)

    async def _delete(self, name: str) -> None:
        try:
            await (await self._container()).delete_blob(name)
        except HttpResponseError as error:
            _raise_unless(error, _MISSING)

    async def _list(self, prefix: str) -> dict[str, Mapping[str, str]]:
        container = await self._container()
        found = container.list_blobs(name_starts_with=prefix, include=["metadata"])
        return {str(blob.name): blob.metadata or {} async for blob in found}

    async def _times(self, prefix: str) -> dict[str, datetime]:
        container = await self._container()
        return {str(blob.name): blob.last_modified async for blob in container.list_blobs(name_starts_with=prefix)}


async def _make(container: ContainerClient) -> None:
    try:
        await container.create_container()
    except HttpResponseError as error:
        _raise_unless(error, _CONFLICT)


def _raise_unless(error: HttpResponseError, *expected: int) -> None:
    if error.status_code not in expected:
        raise error
