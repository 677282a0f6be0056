"""Where the threads of one app are kept, beside their entities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hosting.archive.choice import choose_archive
from hosting.attachments.choice import choose_attachments
from hosting.ports import ArchiveStore, AttachmentStore
from hosting.runlog.choice import choose_store
from hosting.runlog.log import RunLog
from hosting.settings import Settings


@dataclass(frozen=True)
class Stores:
    """What happened in runs, the older part of conversations, and their large contents."""

    log: RunLog
    archive: ArchiveStore
    attachments: AttachmentStore


def choose_stores(settings: Settings, folder: Path, environ: Mapping[str, str]) -> Stores:
    """Return the stores that the settings name; relative paths are below `folder`.

    Raises `ConfigurationError` as each choice does.
    """
    return Stores(
        log=RunLog(choose_store(settings, folder, environ)),
        archive=choose_archive(settings, folder, environ),
        attachments=choose_attachments(settings, folder, environ),
    )
