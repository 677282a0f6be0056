"""The app's own index of chunks in stores of a test."""

from __future__ import annotations

from pathlib import Path

from hosting.core.cells import Cells
from hosting.core.stores.contract import ThreadStore
from hosting.core.stores.sqlite import SqliteThreadStore
from hosting.core.stores.sqlite_objects import ATTACHMENTS, SqliteObjects
from hosting.core.stores.sqlite_writer import StoreFile
from hosting.core.thread_log import ThreadLog
from hosting.errors import AttachmentsUnavailableError
from hosting.features.uploads.search.index.stored import StoredChunkIndex
from hosting.ports import ObjectStore

HUB = "hub"


def stored_index(store: ThreadStore, objects: ObjectStore) -> StoredChunkIndex:
    """Return the app's own index in these stores."""
    return StoredChunkIndex(Cells(store, ThreadLog(store, objects, HUB)), objects, HUB)


def sqlite_index(folder: Path) -> StoredChunkIndex:
    """Return the app's own index in files of that folder, as any process opens it."""
    objects = SqliteObjects(StoreFile(ATTACHMENTS, folder / "objects.sqlite", AttachmentsUnavailableError))
    return stored_index(SqliteThreadStore(folder / "log.sqlite", HUB), objects)
