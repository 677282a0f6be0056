"""What happens in threads, told to whoever follows them in this process, in the same loop turn.

Theory. The log is the truth, and what is told here is what was just appended to it by this process, or words that will
be. A follower that hears nothing reads the log; one that hears something need not. Nobody who is told can hold up
whoever tells: each follower has a queue of its own, bounded in bytes, and one that falls behind is sent to the log.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hosting.address import Address
from hosting.thread.events import Delta, Event

MOST_WAITING_CHARACTERS = 1_000_000


@dataclass(frozen=True)
class Appended:
    """An event at its position."""

    position: int
    event: Event


@dataclass(frozen=True)
class Spoken:
    """Words of a run at their offset, which are not in the log yet."""

    run_id: str
    offset: int
    text: str


News = Appended | Spoken


class Follower:
    """Hears one thread from the moment on at which it was made. `has_missed`: it must read the log to go on."""

    def __init__(self) -> None:
        self.has_missed = False
        self._news: deque[News] = deque()
        self._characters = 0
        self._arrived = asyncio.Event()

    def tell(self, news: News) -> None:
        """Put one more into the queue; what does not fit is missed, and the queue with it."""
        self._characters += _length(news)
        if self._characters > MOST_WAITING_CHARACTERS:
            self.has_missed = True
            self._news.clear()
            self._characters = 0
        else:
            self._news.append(news)
        self._arrived.set()

    async def arrives(self, seconds: float) -> bool:
        """Tell as soon as there is something for `next`, or that there is nothing after so many seconds."""
        if not self._news and not self.has_missed:
            try:
                await asyncio.wait_for(self._arrived.wait(), seconds)
            except asyncio.TimeoutError:
                return False
        return True

    async def next(self, seconds: float) -> list[News]:
        """Return what has come, as soon as there is something; nothing after so many seconds."""
        return self.take() if await self.arrives(seconds) else []

    def take(self) -> list[News]:
        """Return what has come."""
        self._arrived.clear()
        found, self._characters = list(self._news), 0
        self._news.clear()
        return found


class Changes:
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

    def tell(self, address: Address, news: News) -> None:
        """Tell all who follow the thread."""
        for follower in self._followers.get(address, ()):
            follower.tell(news)


def _length(news: News) -> int:
    if isinstance(news, Spoken):
        return len(news.text)
    return len(news.event.text) if isinstance(news.event, Delta) else 1000
