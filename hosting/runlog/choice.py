"""Which run log the settings ask for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hosting.errors import ConfigurationError
from hosting.ports import RunLogStore
from hosting.runlog.memory import MemoryStore
from hosting.runlog.sqlite import SqliteStore
from hosting.runlog.sqlite_file import refuse_newer
from hosting.settings import Settings

_ON_AZURE = "WEBSITE_INSTANCE_ID"
DEFAULT_PATH = Path(".agents") / "runs.sqlite"


def choose_store(settings: Settings, folder: Path, environ: Mapping[str, str]) -> RunLogStore:
    """Return the store that `AGENT_RUN_LOG` names; relative paths are below `folder`, the app's root.

    On Azure that folder ends with the instance, and a run accepted there would be lost with it: refused until a path is
    named on purpose. A file that a newer version wrote is refused too. Refusals are `ConfigurationError`.
    """
    if settings.run_log == "sqlite" and environ.get(_ON_AZURE):
        raise ConfigurationError(
            "AGENT_RUN_LOG is 'sqlite', a file in the app's folder, which on Azure ends with the instance. "
            "Name a disk that outlives it (sqlite:PATH) and keep to one instance; docs/deploying.md says more."
        )
    if settings.run_log == "memory":
        return MemoryStore()
    _, _, named = settings.run_log.partition(":")
    path = folder / (named or DEFAULT_PATH)
    refuse_newer(path)
    return SqliteStore(path, settings.run_log_synchronous)
