"""Clocks for tests: one that runs fast, one that moves only when told."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from devhost.durable.clock import Alarm

START = datetime(2026, 1, 1, tzinfo=UTC)


class FastClock:
    """Real time, twenty times as fast, from when it `began` (the machine's monotonic time: one for all processes)."""

    def __init__(self, factor: float = 20.0, began: float | None = None) -> None:
        self._factor = factor
        self._began = time.monotonic() if began is None else began

    def now(self) -> datetime:
        return START + timedelta(seconds=(time.monotonic() - self._began) * self._factor)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Alarm:
        return asyncio.get_running_loop().call_later(max(0.0, seconds) / self._factor, callback)


class _ManualAlarm:
    def __init__(self) -> None:
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class ManualClock:
    """Stands still until `advance`; `alarms` says in how many seconds each pending call is due."""

    def __init__(self) -> None:
        self._now = START
        self._numbers = itertools.count()
        self._queue: list[tuple[datetime, int, _ManualAlarm, Callable[[], None]]] = []
        self._set = asyncio.Event()

    def now(self) -> datetime:
        return self._now

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Alarm:
        alarm = _ManualAlarm()
        due = self._now + timedelta(seconds=max(0.0, seconds))
        heapq.heappush(self._queue, (due, next(self._numbers), alarm, callback))
        self._set.set()
        return alarm

    @property
    def alarms(self) -> list[float]:
        pending = [due for due, _, alarm, _ in self._queue if not alarm.is_cancelled]
        return sorted((due - self._now).total_seconds() for due in pending)

    def set_back(self, seconds: float) -> None:
        """Show an earlier time from now on; pending calls come as soon as they would have, as on a real loop."""
        jump = timedelta(seconds=seconds)
        self._queue = [(due - jump, number, alarm, callback) for due, number, alarm, callback in self._queue]
        self._now -= jump

    def advance(self, seconds: float) -> None:
        """Move on, and make the calls that are due on the way, in their order."""
        end = self._now + timedelta(seconds=seconds)
        while self._queue and self._queue[0][0] <= end:
            due, _, alarm, callback = heapq.heappop(self._queue)
            self._now = due
            if not alarm.is_cancelled:
                callback()
        self._now = end

    async def next_alarm(self) -> float:
        """Return in how many seconds the next call is due, waiting until there is one."""
        while not self.alarms:
            self._set.clear()
            await asyncio.wait_for(self._set.wait(), 5.0)
        return self.alarms[0]
