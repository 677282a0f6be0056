"""Passes on what this process appends to threads, in the same loop turn, to whoever follows them here.

Theory. The log is the truth. A follower gets what this process has just appended to it, and the text of deltas that are
not in it yet; what another process appends it reads from the log. A slow follower holds up nobody: each has a bounded
queue of its own, and one whose queue overflows goes on from the log.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hosting.names import Address
from hosting.thread.events import Delta, Event

MOST_WAITING_CHARACTERS = 1_000_000


@dataclass(frozen=True)
class LoggedEvent:
    """An event at its position."""

    position: int
    event: Event


@dataclass(frozen=True)
class DeltaText:
    """Words of a run at their offset, which are not in the log yet.

    Whoever follows a run is told `after` which position of the log they came.
    """

    run_id: str
    offset: int
    text: str
    after: int = 0


News = LoggedEvent | DeltaText


class Wakeup:
    """Wakes the task that waits last. An event with a time limit would cost a task for each wait."""

    def __init__(self) -> None:
        self._waiting: asyncio.Future[bool] | None = None

    def wake(self) -> None:
        """End the wait that is under way; without one nothing is remembered."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(True)

    async def wait(self, seconds: float) -> bool:
        """Return whether somebody woke this task before so many seconds were over."""
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[bool] = loop.create_future()
        self._waiting = waiting
        timer = loop.call_later(seconds, lambda: None if waiting.done() else waiting.set_result(False))
        try:
            return await waiting
        finally:
            timer.cancel()
            if self._waiting is waiting:  # a wait that was cancelled ends after the next one's beginning
                self._waiting = None


class Follower:
    """Hears one thread from the moment on at which it was made. `has_missed`: it must read the log to go on."""

    def __init__(self) -> None:
        self.has_missed = False
        self._news: deque[News] = deque()
        self._characters = 0
        self._arrived = Wakeup()

    def put(self, news: News) -> None:
        """Put one more into the queue; what does not fit is missed, and the queue with it."""
        delta = news.event if isinstance(news, LoggedEvent) else news
        self._characters += len(delta.text) if isinstance(delta, Delta | DeltaText) else 1000
        if self._characters > MOST_WAITING_CHARACTERS:
            self.has_missed = True
            self._news.clear()
            self._characters = 0
        else:
            self._news.append(news)
        self._arrived.wake()

    async def arrives(self, seconds: float) -> bool:
        """Tell as soon as there is something for `next`, or that there is nothing after so many seconds."""
        return bool(self._news) or self.has_missed or await self._arrived.wait(seconds)

    async def next(self, seconds: float) -> list[News]:
        """Return what has come, as soon as there is something; nothing after so many seconds."""
        return self.take() if await self.arrives(seconds) else []

    def take(self) -> list[News]:
        """Return what has come."""
        found, self._characters = list(self._news), 0
        self._news.clear()
        return found


class Broadcast:
    """The followers of this process."""

    def __init__(self) -> None:
        self._followers: dict[Address, set[Follower]] = {}

    @contextmanager
    def followed(self, address: Address) -> Iterator[Follower]:
        """Have a follower told of the thread until the block ends."""
        follower = Follower()
        self._followers.setdefault(address, set()).add(follower)
        try:
            yield follower
        finally:
            self._followers[address].discard(follower)
            if not self._followers[address]:
                del self._followers[address]

    def publish(self, address: Address, news: News) -> None:
        """Tell all who follow the thread."""
        for follower in self._followers.get(address, ()):
            follower.put(news)
