"""Where the threads of one app are kept, beside their entities."""

from __future__ import annotations

from dataclasses import dataclass

from hosting.ports import ArchiveStore, AttachmentStore
from hosting.runlog.log import RunLog


@dataclass(frozen=True)
class Stores:
    """What happened in runs, the older part of conversations, and their large contents."""

    log: RunLog
    archive: ArchiveStore
    attachments: AttachmentStore
