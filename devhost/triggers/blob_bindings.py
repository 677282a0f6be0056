"""Blob inputs and outputs."""

from __future__ import annotations

import uuid
from contextlib import suppress

from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.functions.meta import Datum

from devhost.triggers.connections import Account
from devhost.triggers.paths import PathError


async def read_blob(account: Account, path: str, *, is_binary: bool) -> Datum:
    """Return a blob's content, as a text where it is one; nothing when there is no such blob."""
    container, blob = _parts(path)
    try:
        download = await account.blobs.get_blob_client(container, blob).download_blob()
        content = await download.readall()
    except ResourceNotFoundError:
        return Datum(None, None)
    if not is_binary:
        with suppress(UnicodeDecodeError):
            return Datum(content.decode(), "string")
    return Datum(content, "bytes")


async def write_blob(account: Account, path: str, datum: Datum) -> None:
    """Write a blob over the one that is there, in a container that is made if there is none."""
    if datum.type is None:
        return
    container, blob = _parts(path)
    content = datum.value if isinstance(datum.value, bytes) else str(datum.value).encode("utf-8", "replace")
    client = account.blobs.get_blob_client(container, blob)
    metadata = {"AzureWebJobsParentId": str(uuid.uuid4())}
    try:
        await client.upload_blob(content, overwrite=True, metadata=metadata)
    except ResourceNotFoundError:
        with suppress(ResourceExistsError):
            await account.blobs.create_container(container)
        await client.upload_blob(content, overwrite=True, metadata=metadata)


def _parts(path: str) -> tuple[str, str]:
    container, _, blob = path.partition("/")
    if not container or not blob:
        raise PathError(f"'{path}' is no path of a blob; give container/name.")
    return container, blob
