"""The indexes of chunks, each as a factory: a second index is a second process's view of the same chunks."""

from __future__ import annotations

import contextlib
import uuid
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from hosting.core.stores.blobs import BlobObjects, blob_account
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore, SharedMemory
from hosting.core.stores.sqlite_objects import ATTACHMENTS, SqliteObjects
from hosting.core.stores.sqlite_writer import StoreFile
from hosting.errors import AttachmentsUnavailableError
from hosting.features.uploads.search.index.azure_search import AzureSearchChunkIndex, search_service
from hosting.features.uploads.search.index.contract import ChunkIndex
from hosting.names import StoreKey, store_space
from hosting.ports import ObjectStore
from tests.support.azurite import Azurite
from tests.support.indexed_files import HUB, sqlite_index, stored_index
from tests.support.vector_service import VectorService

ALWAYS = 4e9
SERVICE = "azure-search"
STORED = ["memory", "sqlite", pytest.param("blob", marks=pytest.mark.slow)]
INDEXES = [*STORED, pytest.param(SERVICE, marks=pytest.mark.slow)]


class OpenedIndexes:
    """The indexes that a test opens, and a look at all that they keep."""

    def __init__(self, open_: Callable[[], ChunkIndex], kept: Callable[[], Awaitable[bytes]]) -> None:
        self._open = open_
        self.kept = kept
        self.opened: list[ChunkIndex] = []

    def open(self) -> ChunkIndex:
        """Open the index as another process does."""
        self.opened.append(self._open())
        return self.opened[-1]


def _memory(request: pytest.FixtureRequest) -> OpenedIndexes:
    shared, objects = SharedMemory(), MemoryObjects()
    return OpenedIndexes(lambda: stored_index(MemoryThreadStore(HUB, shared), objects), lambda: plain(objects))


def _sqlite(request: pytest.FixtureRequest) -> OpenedIndexes:
    folder: Path = request.getfixturevalue("tmp_path")

    async def kept() -> bytes:
        objects = SqliteObjects(StoreFile(ATTACHMENTS, folder / "objects.sqlite", AttachmentsUnavailableError))
        contents = await plain(objects)
        await objects.close()
        return contents + b"".join(path.read_bytes() for path in folder.rglob("*.sqlite*"))

    return OpenedIndexes(lambda: sqlite_index(folder), kept)


async def plain(objects: ObjectStore) -> bytes:
    """Return all objects of the index, with the contents of compressed ones."""
    space = store_space(HUB, "file-index")
    parts = list[bytes]()
    for _, name in await objects.put_between(space, 0, ALWAYS):
        key = StoreKey(space, name)
        for body in (await objects.read(key, list(await objects.names(key)))).values():
            parts.append(body)
            with contextlib.suppress(zlib.error):
                parts.append(zlib.decompress(body))
    return b"".join(parts)


def _blob(request: pytest.FixtureRequest) -> OpenedIndexes:
    emulator: Azurite = request.getfixturevalue("azurite")
    shared, container = SharedMemory(), f"test-{uuid.uuid4().hex}"
    connect = blob_account({"AzureWebJobsStorage": emulator.connection_string}, "AGENT_ATTACHMENTS")

    def objects() -> BlobObjects:
        return BlobObjects(connect, container, AttachmentsUnavailableError)

    async def kept() -> bytes:
        opened = objects()
        contents = await plain(opened)
        await opened.close()
        return contents

    return OpenedIndexes(lambda: stored_index(MemoryThreadStore(HUB, shared), objects()), kept)


def _azure_search(request: pytest.FixtureRequest) -> OpenedIndexes:
    service = VectorService()
    request.addfinalizer(service.stop)
    connect = search_service("TEST", service.address, {})

    async def kept() -> bytes:
        return service.texts().encode()

    return OpenedIndexes(lambda: AzureSearchChunkIndex(connect, HUB), kept)


FACTORIES: dict[str, Callable[[pytest.FixtureRequest], OpenedIndexes]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "blob": _blob,
    SERVICE: _azure_search,
}
