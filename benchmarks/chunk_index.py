"""The app's own index of files' chunks over SQLite files, without a host."""

from __future__ import annotations

from pathlib import Path

from hosting.core.cells import Cells
from hosting.core.stores.sqlite import SqliteThreadStore
from hosting.core.stores.sqlite_objects import ATTACHMENTS, SqliteObjects
from hosting.core.stores.sqlite_writer import StoreFile
from hosting.core.thread_log import ThreadLog
from hosting.errors import AttachmentsUnavailableError
from hosting.features.uploads.search.index.contract import IndexSpace
from hosting.features.uploads.search.index.stored import StoredChunkIndex

_HUB = "benchmark"


def space_of(size: int) -> IndexSpace:
    """Return where the chunks are, with vectors of that size."""
    return IndexSpace("assistant", "person", model="model", size=size)


def opened_index(folder: Path) -> StoredChunkIndex:
    """Return the index in the folder as a process has it that has read nothing of it yet."""
    objects = SqliteObjects(StoreFile(ATTACHMENTS, folder / "objects.sqlite", AttachmentsUnavailableError))
    store = SqliteThreadStore(folder / "log.sqlite", _HUB)
    return StoredChunkIndex(Cells(store, ThreadLog(store, objects, _HUB)), objects, _HUB)
