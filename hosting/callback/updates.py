"""What agents say, told to callbacks while they say it, at best effort: never waited for, and bounded.

One update of a run at a time, in order. Who listens too slowly misses what does not fit; who fails or takes too long
hears no more of that run's, and its final response all the same.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from concurrent.futures import Future
from typing import Any

from agent_framework import AgentResponseUpdate

from hosting.callback.callback_calls import CallbackCalls, Called
from hosting.callback.protocol import AgentCallbackContext, Callback

logger = logging.getLogger(__name__)

MOST_WAITING = 1000
"""Updates of one run that wait for its listener."""


class Listener:
    """Hears one attempt of a run."""

    def __init__(self, calls: CallbackCalls, callback: Callback, context: AgentCallbackContext) -> None:
        self._calls = calls
        self._callback = callback
        self._context = context
        self._waiting: deque[AgentResponseUpdate] = deque()
        self._is_deaf = False
        self._missed = 0
        self._telling: Future[Any] | None = None

    def hear(self, update: AgentResponseUpdate) -> None:
        """Take one more; from one thread at a time, and returns at once."""
        if self._is_deaf:
            return
        if len(self._waiting) >= MOST_WAITING:
            self._missed += 1
            return
        self._waiting.append(update)
        if self._telling is None or self._telling.done():
            self._telling = self._calls.loop.submit(self._tell())

    def stop(self) -> None:
        """Tell no more: another attempt is heard from now on."""
        self._is_deaf = True

    async def heard(self) -> None:
        """Return once everything was told, or after the time that a call may take."""
        if self._missed:
            logger.warning("Run %s: its callback missed %d updates.", self._context.run_id, self._missed)
        if self._telling is not None:
            await asyncio.wait([asyncio.wrap_future(self._telling)], timeout=self._calls.most_seconds)
        self._is_deaf = True

    async def _tell(self) -> None:
        while self._waiting and not self._is_deaf:
            called = await self._calls.call_here(self._callback, self._waiting.popleft(), self._context)
            if called is not Called.ENDED:
                self._is_deaf = True
                self._waiting.clear()
