"""The end of the process: no new runs, those that run may end, what agents hold open is closed.

Theory. The first signal that asks the process to end (host, container, Ctrl-C) closes the doors. Whoever had taken
that signal before us gets it as if we were not there: a host that drains by itself does so. Where nobody had, the
process would have died at once, and so it does once its turns have ended, or after a time: a run that is not done by
then is left to redelivery, as with any crash. The second signal finds things as they were before us. The handlers are
set at the first run and not at import, so that they come after the host's own. Source: turn.md, Shutdown.
"""

from __future__ import annotations

import atexit
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType
from typing import Any

from hosting.errors import ShuttingDownError

logger = logging.getLogger(__name__)

GRACE_SECONDS = 10.0
_ANSWER_SECONDS = 0.5
_SIGNALS = ("SIGINT", "SIGTERM", "SIGBREAK")

Handler = Callable[[int, FrameType | None], Any] | int | None


class StoppingError(Exception):
    """The process is about to end: the delivery is given back to the host."""


class Shutdown:
    """Knows whether the process is to end, and calls `close` when its turns have ended, or when the interpreter does.

    Never under a turn that goes on: it would fail by what was closed, and be recorded so instead of delivered again.
    """

    def __init__(self, close: Callable[[], None], *, grace_seconds: float = GRACE_SECONDS) -> None:
        self.is_asked = False
        self._close = close
        self._grace_seconds = grace_seconds
        self._watches = False
        self._turns = 0
        self._changed = threading.Condition()
        self._asked: SimpleQueue[int | None] = SimpleQueue()

    def admit(self) -> None:
        """Let a new run in; raises `ShuttingDownError` when the process is to end."""
        self._watch()
        if self.is_asked:
            raise ShuttingDownError("The app is shutting down and takes no new runs. Try again in a moment.")

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the end of the process up until the block is left; raises `StoppingError` when it is to end already."""
        self._watch()
        if self.is_asked:
            raise StoppingError("The process is about to end; this is left to another.")
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, more: int) -> None:
        with self._changed:
            self._turns += more
            self._changed.notify_all()

    def _watch(self) -> None:
        """Take the signals over, once. Only a process's main thread can, and hosts call async functions there."""
        if self._watches or threading.current_thread() is not threading.main_thread():
            return
        self._watches = True
        threading.Thread(target=self._end, name="agent-shutdown", daemon=True).start()
        atexit.register(self._close)
        for name in _SIGNALS:
            number = getattr(signal, name, None)
            previous = number and signal.getsignal(number)
            if number and previous not in (None, signal.SIG_IGN):
                signal.signal(number, self._taking(number, previous))

    def _taking(self, number: int, previous: Handler) -> Callable[[int, FrameType | None], None]:
        def ask(_: int, frame: FrameType | None) -> None:
            """Nothing here takes a lock: the main thread may have been stopped while it held it."""
            self.is_asked = True
            signal.signal(number, previous)
            self._asked.put(number if previous is signal.SIG_DFL else None)
            if callable(previous):
                previous(number, frame)

        return ask

    def _end(self) -> None:
        number = self._asked.get()
        logger.info("The process is asked to end: no new runs; those that run have %g s.", self._grace_seconds)
        with self._changed:
            is_done = self._changed.wait_for(lambda: self._turns == 0, self._grace_seconds)
        if is_done:
            self._close()
        else:
            logger.warning("%d turns did not end and are left to redelivery.", self._turns)
        if number is not None:
            time.sleep(_ANSWER_SECONDS)  # what the last turns answered is on its way out
            signal.raise_signal(number)
