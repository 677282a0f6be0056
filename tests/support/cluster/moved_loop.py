"""An event loop whose time passes only while nobody has anything to do: then it is at once that of the next timer.

A lease of twenty seconds runs out within a test of milliseconds, and in the same order each time.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from typing import Any

GUARD_SECONDS = 5.0
"""So long (of real time) a loop without a timer waits for another thread, or for a socket."""
MOST_SECONDS = 30 * 86_400.0
"""A test that has waited for so long (of moved time) waits for ever, beside some work that is done again and again."""
MOST_TURNS = 100_000
"""So many turns of a loop take no time in a test that ends."""
TURN_SECONDS = 1e-6
"""What a turn of the loop takes: who waits until a moment must see it come."""
_BEGIN = 1000.0


class MovedLoop(asyncio.SelectorEventLoop):
    """Its `time` begins at 1000 s. Work in its threads takes no time; `slowness` is for what other threads do."""

    def __init__(self, slowness_seconds: float = 0.0) -> None:
        self.now = _BEGIN
        self.slowness_seconds = slowness_seconds
        self.turns_at_once = 0
        self.calls_in_threads = 0
        super().__init__(_Selector(self))

    def time(self) -> float:
        """Return the moved time."""
        return self.now

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:  # type: ignore[override]
        """Call in a thread; until that is done no time passes."""
        call = super().run_in_executor(executor, func, *args)
        self.calls_in_threads += 1
        call.add_done_callback(self._called)
        return call

    def _called(self, call: asyncio.Future[Any]) -> None:
        self.calls_in_threads -= 1


class _Selector(selectors.DefaultSelector):
    """Waits for files only while threads work; else it moves the loop's time by what it was to wait."""

    def __init__(self, loop: MovedLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        """Return what is ready; None as a timeout is a loop that waits for others."""
        self._loop.turns_at_once = self._loop.turns_at_once + 1 if timeout == 0 else 0
        if self._loop.turns_at_once > MOST_TURNS:
            raise RuntimeError("Something is done again and again, and no time passes.")
        self._loop.now += TURN_SECONDS
        ready = super().select(0 if timeout == 0 else self._loop.slowness_seconds)
        if ready or timeout == 0:
            return ready
        if timeout is not None and not self._loop.calls_in_threads:
            self._loop.now += timeout
            if self._loop.now > _BEGIN + MOST_SECONDS:
                raise RuntimeError("Nothing happens for ever, but what is done again and again.")
            return ready
        ready = super().select(GUARD_SECONDS if timeout is None else 0.001)
        if timeout is None and not ready:
            raise RuntimeError("Everybody waits for somebody else, and no time is set for any of them.")
        return ready
