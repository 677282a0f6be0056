"""Which store of attachments the settings ask for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hosting.attachments.memory import MemoryAttachments
from hosting.attachments.sqlite import ATTACHMENTS, SqliteAttachments
from hosting.errors import ConfigurationError
from hosting.ports import AttachmentStore
from hosting.runlog.choice import sqlite_path
from hosting.settings import Settings
from hosting.surroundings import needs_shared_stores

FILE_NAME = "attachments.sqlite"


def choose_attachments(settings: Settings, folder: Path, environ: Mapping[str, str]) -> AttachmentStore:
    """Return the store that `AGENT_ATTACHMENTS` names.

    Where it names none: a file beside the run log, memory where run logs are there, and the storage account in
    production. Relative paths are below `folder`, the app's root. Refusals are `ConfigurationError`: memory and files
    in production, a file that a newer version wrote, an account that no setting names.
    """
    must_be_shared = needs_shared_stores(environ)
    chosen = _chosen(settings, must_be_shared=must_be_shared)
    if chosen == "blob":
        return _blob(environ)
    if must_be_shared:
        raise ConfigurationError(
            f"AGENT_ATTACHMENTS is {chosen!r}, which other instances cannot read. Leave it out in production, which "
            "keeps attachments in the app's storage account."
        )
    if chosen == "memory":
        return MemoryAttachments()
    named = chosen.partition(":")[2]
    path = folder / named if named else sqlite_path(settings, folder).with_name(FILE_NAME)
    ATTACHMENTS.refuse_newer(path)
    return SqliteAttachments(path, settings.run_log_synchronous)


def _chosen(settings: Settings, *, must_be_shared: bool) -> str:
    if "attachments" in settings.model_fields_set:
        return settings.attachments
    if must_be_shared:
        return "blob"
    return "memory" if settings.run_log == "memory" else settings.attachments


def _blob(environ: Mapping[str, str]) -> AttachmentStore:
    """Imported here, because the storage client takes longer to load than a start on one machine may."""
    from hosting.attachments.blob import BlobAttachments, attachments_container
    from hosting.storage.blob_account import storage_account

    return BlobAttachments(attachments_container(storage_account(environ, "AGENT_ATTACHMENTS")))
