"""The backends of attachments, each as a factory: a second store is a second process's view of the same ones."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from hosting.ports import AttachmentStore
from hosting.stores.blobs import BlobAttachments, storage_account
from hosting.stores.memory import MemoryAttachments
from hosting.stores.sqlite_contents import SqliteAttachments
from tests.support.azurite import Azurite

OpenAttachments = Callable[[], AttachmentStore]
STORES = ["memory", "sqlite", pytest.param("blob", marks=pytest.mark.slow)]


def _memory(request: pytest.FixtureRequest) -> OpenAttachments:
    store = MemoryAttachments()
    return lambda: store


def _sqlite(request: pytest.FixtureRequest) -> OpenAttachments:
    folder: Path = request.getfixturevalue("tmp_path")
    return lambda: SqliteAttachments(folder / "new" / "attachments.sqlite")


def _blob(request: pytest.FixtureRequest) -> OpenAttachments:
    emulator: Azurite = request.getfixturevalue("azurite")
    connect = storage_account({"AzureWebJobsStorage": emulator.connection_string}, "AGENT_ARCHIVE")
    container = f"test-{uuid.uuid4().hex}"
    return lambda: BlobAttachments(connect, container)


FACTORIES: dict[str, Callable[[pytest.FixtureRequest], OpenAttachments]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "blob": _blob,
}
