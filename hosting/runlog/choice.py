"""Which run log the settings ask for."""

from __future__ import annotations

from pathlib import Path

from hosting.ports import RunLogStore
from hosting.runlog.memory import MemoryStore
from hosting.runlog.sqlite import SqliteStore
from hosting.settings import Settings

DEFAULT_PATH = Path(".agents") / "runs.sqlite"


def choose_store(settings: Settings, folder: Path) -> RunLogStore:
    """Return the store that `AGENT_RUN_LOG` names; relative paths are below `folder`, the app's root."""
    if settings.run_log == "memory":
        return MemoryStore()
    _, _, path = settings.run_log.partition(":")
    return SqliteStore(folder / (path or DEFAULT_PATH), settings.run_log_synchronous)
