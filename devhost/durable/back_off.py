"""The real dispatcher's answer to a commit that failed: one work item in ten seconds, until five of them succeeded.

Its orchestrations and entities have one dispatcher, so all of them wait, whoever's commit it was. Activities have
another one; but what they return is for orchestrations.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from devhost.durable.clock import Clock, sleep
from devhost.durable.records import TargetKind

SECONDS = 10
SUCCESSES = 5


class BackOff:
    """Lets work begin: at once, or after a failure one item at a time."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._pause = timedelta(seconds=seconds)
        self._left = 0
        self._next: datetime | None = None

    async def admit(self, kind: TargetKind) -> None:
        """Return when work of this kind may begin."""
        if kind is TargetKind.ACTIVITY:
            return
        while self._next is not None and (seconds := (self._next - self._clock.now()).total_seconds()) > 0:
            await sleep(self._clock, seconds)
        self._next = self._clock.now() + self._pause if self._left else None

    def failed(self) -> None:
        """Wait before whatever begins after the next item."""
        self._left = SUCCESSES

    def succeeded(self, kind: TargetKind) -> None:
        """Count one item towards the end of the waiting."""
        if kind is not TargetKind.ACTIVITY and self._left:
            self._left -= 1
