"""Archives as tests open them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hosting.core.stores.archive import Archive
from hosting.core.stores.memory import MemoryObjects
from hosting.core.stores.sqlite_objects import ARCHIVE, SqliteObjects
from hosting.core.stores.sqlite_writer import StoreFile
from hosting.core.thread_log import store_key
from hosting.errors import ArchiveUnavailableError
from hosting.host_settings import task_hub
from hosting.names import Address
from hosting.settings import read_settings
from hosting.store_choice import choose_archive


def memory_archive() -> Archive:
    return Archive(MemoryObjects())


def sqlite_archive(path: Path, **options: Any) -> Archive:
    """Return the archive in the file at `path`; the options are those of its store."""
    return Archive(SqliteObjects(StoreFile(ARCHIVE, path, ArchiveUnavailableError, **options)))


@asynccontextmanager
async def archive_of_app(folder: Path, environ: Mapping[str, str]) -> AsyncIterator[Archive]:
    """The archive of the app in that folder, which another process has open."""
    archive = choose_archive(read_settings(environ), folder, environ)
    try:
        yield archive
    finally:
        await archive.close()


async def archived_epochs(folder: Path, environ: Mapping[str, str], address: Address) -> list[int]:
    """Return the epochs of a thread of which the app's archive has anything."""
    async with archive_of_app(folder, environ) as archive:
        return await archive.epochs(store_key(task_hub(folder, environ), address))
