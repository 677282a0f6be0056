"""Ctrl-C and SIGTERM: the first asks the host to drain, the second stops it where it stands."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from types import FrameType

_SIGNALS = ("SIGINT", "SIGTERM", "SIGBREAK")
_EXIT_SECONDS = 2.0
INTERRUPTED_EXIT_CODE = 130


class StopRequest:
    """Becomes set by the first signal. Stopping by the second loses nothing: the engine commits every step."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._seen = False

    def install(self) -> None:
        """Take over the signals; works on Windows too, where event loops cannot."""
        for name in _SIGNALS:
            if number := getattr(signal, name, None):
                signal.signal(number, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._seen:
            os._exit(INTERRUPTED_EXIT_CODE)
        self._seen = True
        self._loop.call_soon_threadsafe(self.ask)

    def ask(self) -> None:
        """Ask for the stop, as the first signal does."""
        self._asked.set()

    async def wait(self) -> None:
        """Return when a stop was asked for."""
        await self._asked.wait()


def end_process_soon(exit_code: int) -> None:
    """End the process a little later even when the app's own threads still run: no thread can be stopped."""
    timer = threading.Timer(_EXIT_SECONDS, os._exit, (exit_code,))
    timer.daemon = True
    timer.start()
