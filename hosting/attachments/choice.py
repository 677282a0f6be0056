"""Which store of attachments the settings ask for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hosting.attachments.memory import MemoryAttachments
from hosting.attachments.sqlite import ATTACHMENTS, SqliteAttachments
from hosting.ports import AttachmentStore
from hosting.settings import Settings
from hosting.storage.beside_run_log import StoreSetting

SETTING = StoreSetting(
    field="attachments",
    name="AGENT_ATTACHMENTS",
    file_name="attachments.sqlite",
    advice="Leave it out in production, which keeps attachments in the app's storage account.",
)


def choose_attachments(settings: Settings, folder: Path, environ: Mapping[str, str]) -> AttachmentStore:
    """Return the store that `AGENT_ATTACHMENTS` names.

    Where it names none: a file beside the run log, memory where run logs are there, and the storage account in
    production. Relative paths are below `folder`, the app's root. Refusals are `ConfigurationError`: memory and files
    in production, a file that cannot be used, an account that no setting names.
    """
    chosen = SETTING.chosen(settings, environ)
    if chosen == "memory":
        return MemoryAttachments()
    if chosen == "blob":
        return _blob(environ)
    path = SETTING.path(chosen, settings, folder)
    ATTACHMENTS.refuse_unusable(path, settings.run_log_synchronous, environ)
    return SqliteAttachments(path, settings.run_log_synchronous)


def _blob(environ: Mapping[str, str]) -> AttachmentStore:
    """Imported here, because the storage client takes longer to load than a start on one machine may."""
    from hosting.attachments.blob import BlobAttachments, attachments_container
    from hosting.storage.blob_account import storage_account

    return BlobAttachments(attachments_container(storage_account(environ, "AGENT_ATTACHMENTS")))
