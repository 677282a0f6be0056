"""Which archive the settings ask for."""

from __future__ import annotations

from pathlib import Path

from hosting.archive.memory import MemoryArchive
from hosting.archive.sqlite import ARCHIVE, SqliteArchive
from hosting.ports import ArchiveStore
from hosting.runlog.choice import sqlite_path
from hosting.settings import Settings

FILE_NAME = "archive.sqlite"


def choose_archive(settings: Settings, folder: Path) -> ArchiveStore:
    """Return the archive that `AGENT_ARCHIVE` names; where it names none, one like the run log.

    Relative paths are below `folder`, the app's root. A file that a newer version wrote is a `ConfigurationError`.
    """
    is_named = "archive" in settings.model_fields_set
    chosen = settings.archive if is_named or settings.run_log != "memory" else "memory"
    if chosen == "memory":
        return MemoryArchive()
    named = chosen.partition(":")[2]
    path = folder / named if named else sqlite_path(settings, folder).with_name(FILE_NAME)
    ARCHIVE.refuse_newer(path)
    return SqliteArchive(path, settings.run_log_synchronous)
