"""The machine's clock, set ahead by the seconds that a file holds: who writes the file moves the time of a host.

The file is one number a line, and the last whole line holds. Without the file the time is the machine's. What is to
come at a later time comes as soon as the moved clock shows that time, which is looked up some times a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from devhost.durable.clock import Alarm

_LOOK_SECONDS = 0.02


def seconds_ahead(file: Path) -> float:
    """Return by how many seconds the file sets the time ahead."""
    try:
        lines = file.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return 0.0
    return float(lines[-1]) if lines else 0.0


@dataclass(eq=False)
class _MovedAlarm:
    """A call at `due`, by the event loop's time set ahead; `timer` is that of the loop."""

    clock: MovedClock
    due: float
    callback: Callable[[], None]
    timer: asyncio.TimerHandle | None = None

    def cancel(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.clock.forget(self)

    def set(self, loop: asyncio.AbstractEventLoop, ahead: float) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.timer = loop.call_at(self.due - ahead, self._ring)

    def _ring(self) -> None:
        self.clock.forget(self)
        self.callback()


class MovedClock:
    """A clock for the one event loop that sets alarms by it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._ahead = seconds_ahead(file)
        self._alarms: set[_MovedAlarm] = set()
        self._looks: asyncio.TimerHandle | None = None

    def now(self) -> datetime:
        """Return the moved time, in UTC."""
        return datetime.now(UTC) + timedelta(seconds=seconds_ahead(self._file))

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Alarm:
        """Call back once that many seconds have passed, or the time was moved by what is left of them."""
        loop = asyncio.get_running_loop()
        self._catch_up(loop)
        alarm = _MovedAlarm(self, loop.time() + self._ahead + max(0.0, seconds), callback)
        alarm.set(loop, self._ahead)
        self._alarms.add(alarm)
        if self._looks is None:
            self._looks = loop.call_later(_LOOK_SECONDS, self._look, loop)
        return alarm

    def forget(self, alarm: _MovedAlarm) -> None:
        """Let go of an alarm that has come or that nobody waits for."""
        self._alarms.discard(alarm)

    def _catch_up(self, loop: asyncio.AbstractEventLoop) -> None:
        """Set the alarms anew if the time was moved."""
        ahead = seconds_ahead(self._file)
        if ahead != self._ahead:
            self._ahead = ahead
            for alarm in self._alarms:
                alarm.set(loop, ahead)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Catch up, and again soon as long as there are alarms."""
        self._catch_up(loop)
        self._looks = loop.call_later(_LOOK_SECONDS, self._look, loop) if self._alarms else None
