"""Attachments in Azure blobs, `<agent>/<thread>/<hash>`: the default on Azure, in the storage account of the app."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Final

from hosting.errors import AttachmentsUnavailableError
from hosting.events import Place
from hosting.storage.blob_account import Connect
from hosting.storage.blob_container import PATIENCE_SECONDS, BlobContainer
from state.attached import Attachment

CONTAINER: Final = "agent-attachments"


def attachments_container(
    connect: Connect, name: str = CONTAINER, patience_seconds: float = PATIENCE_SECONDS
) -> BlobContainer:
    """Return the container for attachments, which says of itself that they cannot be reached."""
    return BlobContainer(connect, name, AttachmentsUnavailableError.unreached, patience_seconds)


class BlobAttachments:
    """An `AttachmentStore` in a blob container.

    Where the account keeps versions or deleted blobs, it keeps them for as long as its policy says.
    """

    def __init__(self, container: BlobContainer) -> None:
        self._blobs = container

    async def put(self, place: Place, attachments: Collection[Attachment]) -> None:
        """See `AttachmentStore.put`: a call for each, which does nothing where it is there."""
        await asyncio.gather(*(self._blobs.put(_prefix(place) + one.sha256, one.body) for one in attachments))

    async def read(self, place: Place, hashes: Collection[str]) -> dict[str, bytes]:
        """See `AttachmentStore.read`: two calls for each."""
        names = list(hashes)
        blobs = await asyncio.gather(*(self._blobs.read(_prefix(place) + name) for name in names))
        return {name: blob.body for name, blob in zip(names, blobs, strict=True) if blob is not None}

    async def hashes(self, place: Place) -> list[str]:
        """See `AttachmentStore.hashes`: one listing."""
        return sorted(name.rpartition("/")[2] for name in await self._blobs.list(_prefix(place)))

    async def erase(self, place: Place) -> None:
        """See `AttachmentStore.erase`."""
        await asyncio.gather(*map(self._blobs.delete, await self._blobs.list(_prefix(place))))

    async def close(self) -> None:
        """See `AttachmentStore.close`."""
        await self._blobs.close()


def _prefix(place: Place) -> str:
    return f"{place.agent}/{place.thread_id}/"
