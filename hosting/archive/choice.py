"""Which archive the settings ask for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hosting.archive.memory import MemoryArchive
from hosting.archive.sqlite import ARCHIVE, SqliteArchive
from hosting.errors import ConfigurationError
from hosting.ports import ArchiveStore
from hosting.runlog.choice import sqlite_path
from hosting.settings import Settings
from hosting.surroundings import needs_shared_stores

FILE_NAME = "archive.sqlite"


def choose_archive(settings: Settings, folder: Path, environ: Mapping[str, str]) -> ArchiveStore:
    """Return the archive that `AGENT_ARCHIVE` names; where it names none, one like the run log, in production blobs.

    Relative paths are below `folder`, the app's root. Refusals are `ConfigurationError`: memory and files in
    production, a file that a newer version wrote, an account that no setting names, a package that is not installed.
    """
    must_be_shared = needs_shared_stores(environ)
    chosen = _chosen(settings, must_be_shared=must_be_shared)
    if must_be_shared and chosen.startswith(("memory", "sqlite")):
        raise ConfigurationError(
            f"AGENT_ARCHIVE is {chosen!r}, which other instances cannot read, and which may end with this one. Leave "
            "AGENT_ARCHIVE out in production, which keeps archives in the app's storage account, or set it to 'cosmos'."
        )
    if chosen == "memory":
        return MemoryArchive()
    if chosen == "blob":
        return _blob(environ)
    if chosen == "cosmos":
        return _cosmos(settings, environ)
    named = chosen.partition(":")[2]
    path = folder / named if named else sqlite_path(settings, folder).with_name(FILE_NAME)
    ARCHIVE.refuse_newer(path)
    return SqliteArchive(path, settings.run_log_synchronous)


def _chosen(settings: Settings, *, must_be_shared: bool) -> str:
    if "archive" in settings.model_fields_set:
        return settings.archive
    if must_be_shared:
        return "blob"
    return "memory" if settings.run_log == "memory" else settings.archive


def _blob(environ: Mapping[str, str]) -> ArchiveStore:
    """Imported here, because the storage client takes longer to load than a start on one machine may."""
    from hosting.archive.blob import BlobArchive, archive_container
    from hosting.storage.blob_account import storage_account

    return BlobArchive(archive_container(storage_account(environ, "AGENT_ARCHIVE")))


def _cosmos(settings: Settings, environ: Mapping[str, str]) -> ArchiveStore:
    """Nobody who does not ask for Cosmos DB needs its client."""
    try:
        from hosting.archive.cosmos import CosmosArchive
        from hosting.storage.cosmos_account import cosmos_account
    except ModuleNotFoundError:
        raise ConfigurationError(
            "AGENT_ARCHIVE is 'cosmos', and the package for it is not installed. Add the line of "
            "requirements-cosmos.txt to requirements.txt."
        ) from None
    return CosmosArchive(cosmos_account("AGENT_COSMOS", settings.cosmos, environ), settings.cosmos_database)
