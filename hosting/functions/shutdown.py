"""The end of the process: no new runs, running ones may end, and the agents' connections are closed.

The first signal that asks the process to end (host, container, Ctrl-C) stops the admission of runs. A handler that was
set before ours is then called as if we were not there, so a host that drains by itself does so. Without one the process
would have died at once: it now dies by the same signal once its turns have ended, or after a time. A run that is not
done by then is delivered again, as after any crash. The second signal finds the handlers of before. Ours are set at the
first request and not at import, so that they come after the host's own.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from queue import SimpleQueue
from types import FrameType
from typing import Any

from hosting.errors import ShuttingDownError

logger = logging.getLogger(__name__)

GRACE_SECONDS = 10.0
_RELEASE_SECONDS = 3.0
"""After the grace, time to stop the held runs and to append their release."""

_ANSWER_SECONDS = 0.5
_SIGNALS = ("SIGINT", "SIGTERM", "SIGBREAK")

SignalHandler = Callable[[int, FrameType | None], Any] | int | None


class StoppingError(Exception):
    """The process is about to end: the delivery is given back to the host."""


class Shutdown:
    """Knows whether the process is to end, and calls `close` when its turns have ended, or when the interpreter does.

    `close` is never called under a turn: the turn would fail, and be recorded so instead of delivered again. `leave`
    gets the seconds of grace, on the event loop of the runs, and returns once the process holds no run.
    """

    def __init__(
        self,
        close: Callable[[], None],
        leave: Callable[[float], Coroutine[Any, Any, None]] | None = None,
        *,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        self.is_ending = False
        self._close, self._leave = close, leave
        self._loop: asyncio.AbstractEventLoop | None = None
        self._grace_seconds = grace_seconds
        self._watches = False
        self._turns = 0
        self._changed = threading.Condition()
        self._signals: SimpleQueue[int | None] = SimpleQueue()

    def watch(self) -> None:
        """Announce the end of the process: all who wait here are released then."""
        if not self._watches:
            self._watch()

    def admit(self) -> None:
        """Let a new run in; raises `ShuttingDownError` when the process is to end."""
        if not self._watches:
            self._watch()
        if self.is_ending:
            raise ShuttingDownError("The app is shutting down and takes no new runs. Try again in a moment.")

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the end of the process up until the block is left; raises `StoppingError` when it is to end already."""
        if not self._watches:
            self._watch()
        if self.is_ending:
            raise StoppingError("This process is about to end. Another process continues.")
        with self._changed:
            self._turns += 1
        try:
            yield
        finally:
            with self._changed:
                self._turns -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """End the app and not its process, which has other things to do: running turns are left to redelivery."""
        self.is_ending = True
        self._close()

    def _watch(self) -> None:
        """Take the signals over. Only a process's main thread can, and hosts call async functions there."""
        if threading.current_thread() is not threading.main_thread():
            return
        self._watches = True
        with suppress(RuntimeError):
            self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._end, name="agent-shutdown", daemon=True).start()
        atexit.register(self._close)
        for name in _SIGNALS:
            number = getattr(signal, name, None)
            previous = number and signal.getsignal(number)
            if number and previous not in (None, signal.SIG_IGN):
                signal.signal(number, partial(self._take, previous))

    def _take(self, previous: SignalHandler, number: int, frame: FrameType | None) -> None:
        """Nothing here takes a lock: the main thread may have been stopped while it held it."""
        self.is_ending = True
        signal.signal(number, previous)
        self._signals.put(number if previous is signal.SIG_DFL else None)
        if callable(previous):
            previous(number, frame)

    def _end(self) -> None:
        number = self._signals.get()
        # No invocation has it, so Azure drops it: at INFO a local host would name this logger at each restart.
        logger.debug("The process was asked to end. It takes no new runs; running ones have %g s.", self._grace_seconds)
        end = time.monotonic() + self._grace_seconds + _RELEASE_SECONDS
        has_left = True
        if self._leave is not None and self._loop is not None:
            leaving = asyncio.run_coroutine_threadsafe(self._leave(self._grace_seconds), self._loop)
            try:
                leaving.result(max(0.0, end - time.monotonic()))
            except Exception:
                has_left = False
        with self._changed:
            is_done = self._changed.wait_for(lambda: self._turns == 0, max(0.0, end - time.monotonic()))
        if is_done and has_left:
            self._close()
        else:
            logger.warning("Runs were neither finished nor released in time. They continue once their leases expire.")
        if number is not None:
            time.sleep(_ANSWER_SECONDS)  # the last turns' answers are on their way out
            signal.raise_signal(number)
