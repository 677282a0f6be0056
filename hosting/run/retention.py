"""Run logs by their age: those of runs that ended long ago are removed, a few at a time, for so long and no longer.

What a thread's conversation keeps does not need them, and neither does a repeated `Idempotency-Key`, whose receipt
stays: it gets the answer that the run is no more (410), and begins no other one. A removal that is broken off, or done
by two instances at once, is gone on with by the next. Source: the retention of run logs, docs/data.md.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from hosting.ports import Clock
from hosting.runlog.log import RunLog

logger = logging.getLogger(__name__)

AT_ONCE = 1000
MOST_SECONDS = 300.0
_DAY_SECONDS = 86_400.0


class Retention:
    """Keeps the run logs of an app for so many days."""

    def __init__(
        self, log: RunLog, days: float, clock: Clock, passed_seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._log = log
        self._kept_seconds = days * _DAY_SECONDS
        self._clock = clock
        self._passed_seconds = passed_seconds

    async def run(self) -> int:
        """Remove what is too old, and return of how many runs; raises `LogUnavailableError`."""
        end = self._passed_seconds() + MOST_SECONDS
        removed = 0
        while self._passed_seconds() < end:
            found = await self._log.expire(self._clock() - self._kept_seconds, AT_ONCE)
            removed += found
            if found < AT_ONCE:
                break
        if removed:
            logger.info("The logs of %d runs were removed by their age.", removed)
        return removed
