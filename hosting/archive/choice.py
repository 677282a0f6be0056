"""Which archive the settings ask for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hosting.archive.memory import MemoryArchive
from hosting.archive.sqlite import ARCHIVE, SqliteArchive
from hosting.errors import ConfigurationError
from hosting.ports import ArchiveStore
from hosting.settings import Settings
from hosting.storage.beside_run_log import StoreSetting

SETTING = StoreSetting(
    field="archive",
    name="AGENT_ARCHIVE",
    file_name="archive.sqlite",
    advice="Leave AGENT_ARCHIVE out in production, which keeps archives in the app's storage account, or set it to "
    "'cosmos'.",
)


def choose_archive(settings: Settings, folder: Path, environ: Mapping[str, str]) -> ArchiveStore:
    """Return the archive that `AGENT_ARCHIVE` names; where it names none, one like the run log, in production blobs.

    Relative paths are below `folder`, the app's root. Refusals are `ConfigurationError`: memory and files in
    production, a file that cannot be used, an account that no setting names, a package that is not installed.
    """
    chosen = SETTING.chosen(settings, environ)
    if chosen == "memory":
        return MemoryArchive()
    if chosen == "blob":
        return _blob(environ)
    if chosen == "cosmos":
        return _cosmos(settings, environ)
    path = SETTING.path(chosen, settings, folder)
    ARCHIVE.refuse_unusable(path, settings.run_log_synchronous, environ)
    return SqliteArchive(path, settings.run_log_synchronous)


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
