"""Named points at which a test can kill this process: `DEVHOST_CRASH_AT=<name>[:<n>]` dies at the n-th passing.

The promise of the engine is that a process may die between any two lines. The points stand around every commit and
every call of the app, because nothing else changes what a restart finds.
"""

from __future__ import annotations

import os
import signal

POINTS = (
    "before-commit",
    "inside-commit",
    "after-sending",
    "after-commit",
    "before-orchestrator",
    "after-orchestrator",
    "before-activity",
    "after-activity",
    "before-entity",
    "after-entity",
)


class CrashPoints:
    """Counts the passings of one armed point; does nothing when none is armed."""

    def __init__(self, armed: str) -> None:
        self.arm(armed)

    def arm(self, armed: str) -> None:
        """Count from now on for that point; `armed` is the environment variable's text, or empty for none.

        Raises ValueError for a name that is no point.
        """
        name, _, count = armed.partition(":")
        if name and name not in POINTS:
            raise ValueError(f"DEVHOST_CRASH_AT names {name!r}; the points are {', '.join(POINTS)}.")
        self._name = name
        self._left = int(count or 1)

    def reached(self, name: str) -> None:
        """Kill this process, as `kill -9` does, when it is this point's turn."""
        if name != self._name:
            return
        self._left -= 1
        if self._left == 0:
            kill_this_process()


def kill_this_process() -> None:
    """End at once: no handlers, no clean-up, no flush."""
    if hasattr(signal, "SIGKILL"):
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(137)


crash_points = CrashPoints(os.environ.get("DEVHOST_CRASH_AT", ""))
