"""The time of the app, which a test sets ahead: a file has the seconds, for every process of the app."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hosting.ports import SYSTEM_CLOCKS, Clocks
from hosting.testing.case import Lines


def moved_clocks(file: Path) -> Clocks:
    """Return the clocks of an app whose time of day is ahead by what the file says when it is asked."""
    system = SYSTEM_CLOCKS
    return Clocks(wall=lambda: system.wall() + _ahead(file), awake=system.awake)


def _ahead(file: Path) -> float:
    lines = Lines(file, float).read()
    return lines[-1] if lines else 0.0


class AppClock:
    """The time of the app as a test has it. `file` starts the app, if it does not run yet, and returns its file."""

    def __init__(self, file: Callable[[], Path]) -> None:
        self._file = file

    @property
    def now(self) -> datetime:
        """What time it is for the app, in UTC."""
        return datetime.fromtimestamp(moved_clocks(self._file()).wall(), UTC)

    def advance(self, *, days: float = 0.0, hours: float = 0.0, minutes: float = 0.0, seconds: float = 0.0) -> None:
        """Set the app's time ahead by so much. What is due by then begins now; raises `ValueError` for a way back."""
        moved = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds).total_seconds()
        if moved <= 0:
            raise ValueError(f"The time was to move by {moved:g} s. It only goes forward: give more than 0.")
        file = self._file()
        Lines(file, float).add(_ahead(file) + moved)
