"""How a store that stands beside the run log is chosen: by its setting, and without one as the run log is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hosting.errors import ConfigurationError
from hosting.runlog.choice import sqlite_path
from hosting.settings import Settings
from hosting.surroundings import needs_shared_stores


@dataclass(frozen=True)
class StoreSetting:
    """The setting of one store: its field in `Settings` and its name, the file it means by 'sqlite', and what to do in
    production, where a file or memory of one instance is refused."""

    field: str
    name: str
    file_name: str
    advice: str

    def chosen(self, settings: Settings, environ: Mapping[str, str]) -> str:
        """Return the setting's value; where it is not set, 'blob' in production, and 'memory' where run logs are there.

        Raises `ConfigurationError` for a file or memory in production.
        """
        must_be_shared = needs_shared_stores(environ)
        chosen: str = getattr(settings, self.field)
        if self.field not in settings.model_fields_set:
            chosen = "blob" if must_be_shared else "memory" if settings.run_log == "memory" else chosen
        if must_be_shared and chosen.startswith(("memory", "sqlite")):
            raise ConfigurationError(f"{self.name} is {chosen!r}, which other instances cannot read. {self.advice}")
        return chosen

    def path(self, chosen: str, settings: Settings, folder: Path) -> Path:
        """Return the file that 'sqlite' or 'sqlite:PATH' means; relative paths are below `folder`."""
        named = chosen.partition(":")[2]
        return folder / named if named else sqlite_path(settings, folder).with_name(self.file_name)
