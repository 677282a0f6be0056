"""Archives as tests open them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hosting.errors import ArchiveUnavailableError
from hosting.stores.archive import Archive
from hosting.stores.memory import MemoryObjects
from hosting.stores.sqlite_objects import ARCHIVE, SqliteObjects
from hosting.stores.sqlite_writer import StoreFile


def memory_archive() -> Archive:
    """Return an archive of this process."""
    return Archive(MemoryObjects())


def sqlite_archive(path: Path, **options: Any) -> Archive:
    """Return the archive in the file at `path`; the options are those of its store."""
    return Archive(SqliteObjects(StoreFile(ARCHIVE, path, ArchiveUnavailableError, **options)))
