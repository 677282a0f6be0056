"""Gives this process's appends to their followers here, in the same turn of the event loop.

Theory. The log is the truth. A follower gets what this process has just appended, and the text of deltas that are not
logged yet. It reads from the log what another process appends. Publishing never waits: each follower has a bounded
queue of its own. If that overflows, the follower loses it and reads the log.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from msgspec import Struct

from hosting.core.thread.events import Delta, Event
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import Superstep
from hosting.errors import LogUnavailableError
from hosting.names import Address

MOST_WAITING_CHARACTERS = 1_000_000


class LoggedEvent(Struct, frozen=True):
    """An event at its position."""

    position: int
    event: Event


class DeltaText(Struct, frozen=True):
    """Text of a run at its offset, not logged yet, that the run's `attempt` of that number streams.

    `after`: the position of the log after which a follower got it.
    """

    run_id: str
    offset: int
    text: str
    attempt: int = 1
    after: int = 0


class UnderWay(Struct, frozen=True):
    """The work of a workflow's executors in a superstep of a run, which is logged when it ends."""

    run_id: str
    superstep: Superstep


Update = LoggedEvent | DeltaText
News = Update | UnderWay


class Follower:
    """A queue of one thread's updates from now on. `has_missed`: it overflowed, so the log must be read.

    With `kinds` it gets events of those kinds alone.
    """

    def __init__(self, kinds: tuple[type[Event], ...] = ()) -> None:
        self.has_missed = False
        self._kinds = kinds
        self._updates: deque[News] = deque()
        self._characters = 0
        self._waiting: asyncio.Future[None] | None = None

    def push(self, update: News) -> None:
        """Queue one more update; if it does not fit, drop it and the queue."""
        if self._kinds and not (isinstance(update, LoggedEvent) and isinstance(update.event, self._kinds)):
            return
        delta = update.event if isinstance(update, LoggedEvent) else update
        self._characters += len(delta.text) if isinstance(delta, Delta | DeltaText) else 1000
        if self._characters > MOST_WAITING_CHARACTERS:
            self.has_missed = True
            self._updates.clear()
            self._characters = 0
        else:
            self._updates.append(update)
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def wake(self) -> None:
        """End the present wait."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def wait(self, seconds: float) -> None:
        """Return as soon as `drain` has something to return, by `wake`, or after so many seconds.

        One task waits at a time.

        An `asyncio.Event` with a time limit would cost a task for each wait.
        """
        if self._updates or self.has_missed:
            return
        loop = asyncio.get_running_loop()
        waiting = self._waiting = loop.create_future()
        timer = loop.call_later(seconds, lambda: None if waiting.done() else waiting.set_result(None))
        try:
            await waiting
        finally:
            timer.cancel()
            if self._waiting is waiting:  # a wait that was cancelled ends after the next one's beginning
                self._waiting = None

    async def wait_beside(self, watch: Coroutine[Any, Any, bool], seconds: float) -> None:
        """Return as `wait` does, or as soon as a store's `watch` for so long says that its log has more."""
        arriving, watching = asyncio.ensure_future(self.wait(seconds)), asyncio.ensure_future(watch)
        try:
            await asyncio.wait((arriving, watching), return_when=asyncio.FIRST_COMPLETED)
            with suppress(LogUnavailableError):  # a store that is away cannot push
                if watching.done() and watching.result():
                    return
            await arriving
        finally:
            arriving.cancel()
            watching.cancel()

    def drain(self) -> list[News]:
        """Return the queued updates."""
        updates, self._characters = list(self._updates), 0
        self._updates.clear()
        return updates


class Broadcast:
    """The followers of this process."""

    def __init__(self) -> None:
        self._followers: dict[Address, set[Follower]] = {}

    @contextmanager
    def subscribe(self, address: Address, kinds: tuple[type[Event], ...] = ()) -> Iterator[Follower]:
        """Queue the thread's updates for a follower until the block ends; with `kinds`, those events alone."""
        follower = Follower(kinds)
        self._followers.setdefault(address, set()).add(follower)
        try:
            yield follower
        finally:
            self._followers[address].discard(follower)
            if not self._followers[address]:
                del self._followers[address]

    def publish(self, address: Address, update: News) -> None:
        """Queue an update for all followers of the thread."""
        for follower in self._followers.get(address, ()):
            follower.push(update)

    def wake(self) -> None:
        """End the present wait of every follower."""
        for followers in self._followers.values():
            for follower in followers:
                follower.wake()


def with_updates(run: Run, updates: Sequence[News]) -> Run:
    """Return the run after these events, the same one if none is its own."""
    for update in updates:
        if isinstance(update, LoggedEvent) and update.position > run.last:
            run = run.after(update.position, update.event)
    return run
