"""When to look at a target again: the time of the first message that is still to come, one alarm for all of them."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable
from datetime import datetime

from devhost.durable.clock import Alarm, Clock
from devhost.durable.records import Target

logger = logging.getLogger(__name__)

# A laptop that slept has its wall clock ahead of its loop's: look again at least this often.
_LONGEST_WAIT_SECONDS = 30.0
# Clocks are set right by fractions of a second all the time.
_NOTED_SECONDS = 1.0
# Entries that were set anew stay in the queue until there are so many more of them than targets.
_MOST_OLD_ENTRIES = 100


class Timers:
    """Calls `wake` with each target when its time has come, in the order of the times, never early."""

    def __init__(self, clock: Clock, wake: Callable[[Target], None]) -> None:
        self._clock = clock
        self._wake = wake
        self._due: dict[Target, datetime] = {}
        self._queue: list[tuple[datetime, int, Target]] = []
        self._added = 0
        self._alarm: Alarm | None = None
        self._latest = clock.now()

    def __len__(self) -> int:
        return len(self._due)

    def add(self, target: Target, due: datetime) -> None:
        """Wake the target then, or when it is due already, if that is earlier."""
        known = self._due.get(target)
        if known is None or due < known:
            self.set(target, due)

    def set(self, target: Target, due: datetime | None) -> None:
        """Wake the target then, and at no other time; with None not at all."""
        if due == self._due.get(target):
            return
        if due is None:
            del self._due[target]
            self._sweep()
            return
        self._due[target] = due
        self._added += 1
        heapq.heappush(self._queue, (due, self._added, target))
        if self._queue[0][2] == target:
            self._set_alarm()
        self._sweep()

    def stop(self) -> None:
        """Wake nobody any more."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _sweep(self) -> None:
        if len(self._queue) > 2 * len(self._due) + _MOST_OLD_ENTRIES:
            self._queue = [entry for entry in self._queue if self._due.get(entry[2]) == entry[0]]
            heapq.heapify(self._queue)

    def _set_alarm(self) -> None:
        self.stop()
        if self._queue:
            seconds = (self._queue[0][0] - self._now()).total_seconds()
            self._alarm = self._clock.call_later(min(seconds, _LONGEST_WAIT_SECONDS), self._ring)

    def _ring(self) -> None:
        now = self._now()
        while self._queue and self._queue[0][0] <= now:
            due, _, target = heapq.heappop(self._queue)
            if self._due.get(target) == due:
                del self._due[target]
                self._wake(target)
        self._set_alarm()

    def _now(self) -> datetime:
        now = self._clock.now()
        back = (self._latest - now).total_seconds()
        if back > _NOTED_SECONDS:
            logger.warning("The clock went back by at least %.0f s; timers wait until it shows their time.", back)
        self._latest = now
        return now
