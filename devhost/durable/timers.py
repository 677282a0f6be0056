"""Messages whose time is still to come, one alarm for all of them."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable
from datetime import datetime

from devhost.durable.clock import Alarm, Clock
from devhost.durable.records import Message, Target

logger = logging.getLogger(__name__)

# A laptop that slept has its wall clock ahead of its loop's: look again at least this often.
_LONGEST_WAIT_SECONDS = 30.0
# Clocks are set right by fractions of a second all the time.
_NOTED_SECONDS = 1.0


class Timers:
    """Hands each message over when it is due, in the order of the due times, never early."""

    def __init__(self, clock: Clock, deliver: Callable[[Message], None]) -> None:
        self._clock = clock
        self._deliver = deliver
        self._queue: list[tuple[datetime, int]] = []
        self._waiting: dict[int, Message] = {}
        self._by_target: dict[Target, set[int]] = {}
        self._alarm: Alarm | None = None
        self._latest = clock.now()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, message: Message, due: datetime) -> None:
        """Keep the message until it is due."""
        self._waiting[message.seq] = message
        self._by_target.setdefault(message.target, set()).add(message.seq)
        heapq.heappush(self._queue, (due, message.seq))
        if self._queue[0][1] == message.seq:
            self._set_alarm()

    def drop(self, target: Target) -> None:
        """Forget what waits for this target."""
        for seq in self._by_target.pop(target, ()):
            del self._waiting[seq]
        if len(self._queue) > 2 * len(self._waiting) + 100:
            self._queue = [(due, seq) for due, seq in self._queue if seq in self._waiting]
            heapq.heapify(self._queue)

    def stop(self) -> None:
        """Hand over nothing more."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _set_alarm(self) -> None:
        self.stop()
        if self._queue:
            seconds = (self._queue[0][0] - self._now()).total_seconds()
            self._alarm = self._clock.call_later(min(seconds, _LONGEST_WAIT_SECONDS), self._ring)

    def _ring(self) -> None:
        now = self._now()
        while self._queue and self._queue[0][0] <= now:
            _, seq = heapq.heappop(self._queue)
            message = self._waiting.pop(seq, None)
            if message is not None:
                self._forget(message)
                self._deliver(message)
        self._set_alarm()

    def _now(self) -> datetime:
        now = self._clock.now()
        back = (self._latest - now).total_seconds()
        if back > _NOTED_SECONDS:
            logger.warning("The clock went back by at least %.0f s; timers wait until it shows their time.", back)
        self._latest = now
        return now

    def _forget(self, message: Message) -> None:
        seqs = self._by_target[message.target]
        seqs.discard(message.seq)
        if not seqs:
            del self._by_target[message.target]
