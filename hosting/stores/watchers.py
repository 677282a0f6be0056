"""Who in this process waits for events of which thread, and for what position."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass

ThreadKey = tuple[str, str]
"""A thread as backends of one machine name it: its hub and its address' key."""


@dataclass(eq=False)
class Watcher:
    """One who waits for events behind position `after`, on an event loop of their own."""

    after: int
    loop: asyncio.AbstractEventLoop
    woken: asyncio.Event
    has_more: bool = False

    def wake(self, has_more: bool) -> None:
        """Let the wait end, from any thread; a loop that is closed has nobody who waits."""
        self.has_more = self.has_more or has_more
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.woken.set)

    async def woken_within(self, seconds: float) -> bool:
        """Wait until there is more, or for so long, or until the store closes; tell whether there is more."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.woken.wait(), seconds)
        return self.has_more


class Watchers:
    """Wakes those who wait for a thread, from whichever thread or event loop the append was made on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_thread: dict[ThreadKey, list[Watcher]] = {}

    @contextlib.contextmanager
    def watching(self, thread: ThreadKey, after: int) -> Iterator[Watcher]:
        """Enter a watcher for as long as the block runs.

        Whoever waits enters first and then looks whether there is more already: so no append falls between the two.
        """
        watcher = Watcher(after, asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._by_thread.setdefault(thread, []).append(watcher)
        try:
            yield watcher
        finally:
            with self._lock:
                self._by_thread[thread].remove(watcher)
                if not self._by_thread[thread]:
                    del self._by_thread[thread]

    def threads(self) -> list[ThreadKey]:
        """Return the threads that somebody waits for, on an event loop that is not closed."""
        with self._lock:
            return [
                thread
                for thread, watchers in self._by_thread.items()
                if not all(watcher.loop.is_closed() for watcher in watchers)
            ]

    def tell(self, thread: ThreadKey, position: int) -> None:
        """Wake those who wait for a position of the thread up to this one."""
        with self._lock:
            waiting = [watcher for watcher in self._by_thread.get(thread, ()) if watcher.after < position]
        for watcher in waiting:
            watcher.wake(has_more=True)

    def release(self) -> None:
        """Wake everybody without news: the store closes, or nobody can look."""
        with self._lock:
            waiting = [watcher for watchers in self._by_thread.values() for watcher in watchers]
        for watcher in waiting:
            watcher.wake(has_more=False)
