"""Time as the engine sees it: a port, so that tests move it by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol


class Alarm(Protocol):
    """A call that is still to come."""

    def cancel(self) -> None:
        """Make the call never happen; nothing when it has happened."""
        ...


class Clock(Protocol):
    """Wall-clock time in UTC, and calls at a later time."""

    def now(self) -> datetime:
        """Return the present moment, in UTC."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Alarm:
        """Call back on the running event loop after that many seconds; at once when the number is not positive."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Alarm:
        return asyncio.get_running_loop().call_later(max(0.0, seconds), callback)


async def sleep(clock: Clock, seconds: float) -> None:
    """Return after that many seconds of the clock."""
    over = asyncio.Event()
    alarm = clock.call_later(seconds, over.set)
    try:
        await over.wait()
    finally:
        alarm.cancel()
