"""What is remembered of a timer across restarts, so that a run that fell into a stop is made up for."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from devhost.own_files import make_own_folder, open_own_file

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ScheduleStatus:
    """When a timer last ran and is next due; both in UTC, `last` None before its first run."""

    last: datetime | None
    next: datetime
    updated: datetime


class Monitor:
    """One small file per timer."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str) -> ScheduleStatus | None:
        """Return what was remembered; None when nothing was, or nothing that can be read."""
        try:
            stored = json.loads(self._path(name).read_text(encoding="utf-8"))
            last = stored["last"]
            return ScheduleStatus(
                datetime.fromisoformat(last) if last else None,
                datetime.fromisoformat(stored["next"]),
                datetime.fromisoformat(stored["updated"]),
            )
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            logger.warning("What was remembered of the timer '%s' cannot be read and is ignored: %s", name, error)
            return None

    def write(self, name: str, status: ScheduleStatus) -> None:
        """Remember; a file that cannot be written costs the memory and not the timer."""
        stored = {
            "last": status.last.isoformat() if status.last else None,
            "next": status.next.isoformat(),
            "updated": status.updated.isoformat(),
        }
        path = self._path(name)
        fresh = path.with_suffix(".new")
        try:
            make_own_folder(self._folder)
            with open_own_file(fresh) as file:
                json.dump(stored, file)
            os.replace(fresh, path)
        except OSError as error:
            logger.warning("The timer '%s' cannot be remembered across restarts: %s", name, error)

    def _path(self, name: str) -> Path:
        return self._folder / f"{quote(name, safe='')}.json"
