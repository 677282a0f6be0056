"""Calls of a user's callbacks, on a loop of their own: whatever they do, no run fails or waits because of it.

Synchronous ones have threads of their own. Each call has its time; what goes on after it is left behind, and what could
not even begin, because others block everything, is reported, so that it is tried again.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from enum import Enum

from hosting.agent.loop import AgentLoop
from hosting.callback.protocol import AgentCallbackContext, Callback

logger = logging.getLogger(__name__)

_THREADS = 32


class Called(Enum):
    """How a call went."""

    ENDED = "ended"
    FAILED = "failed"
    LATE = "late"
    NOT_BEGUN = "not begun"


class CallbackCalls:
    """Calls callbacks, each for `most_seconds` at most."""

    def __init__(self, most_seconds: float) -> None:
        self.loop = AgentLoop(_THREADS, name="callback-loop")
        self.most_seconds = most_seconds

    async def call(self, callback: Callback, said: object, context: AgentCallbackContext) -> Called:
        """Call it from another loop than the callbacks' own, and tell how that went; never raises."""
        begun = threading.Event()
        work = self.loop.run(self._call(callback, said, context, begun))
        try:
            return await asyncio.wait_for(work, self.most_seconds + 1)
        except asyncio.TimeoutError:  # something blocks the loop, perhaps this very call
            return Called.LATE if begun.is_set() else Called.NOT_BEGUN

    async def call_here(self, callback: Callback, said: object, context: AgentCallbackContext) -> Called:
        """See `call`; on the callbacks' loop."""
        return await self._call(callback, said, context, threading.Event())

    async def _call(
        self, callback: Callback, said: object, context: AgentCallbackContext, begun: threading.Event
    ) -> Called:
        task = asyncio.ensure_future(_invoke(callback, said, context, begun))
        await asyncio.wait((task,), timeout=self.most_seconds)
        if task.done():
            return task.result()
        task.cancel()
        if not begun.is_set():
            return Called.NOT_BEGUN
        logger.error("A callback for run %s took longer than %g s.", context.run_id, self.most_seconds)
        return Called.LATE


async def _invoke(callback: Callback, said: object, context: AgentCallbackContext, begun: threading.Event) -> Called:
    def begin() -> object:
        begun.set()
        return callback(said, context)

    try:
        answer = begin() if inspect.iscoroutinefunction(callback) else await asyncio.to_thread(begin)
        if inspect.isawaitable(answer):
            await answer
    except (Exception, SystemExit, KeyboardInterrupt):
        logger.exception("A callback for run %s failed.", context.run_id)
        return Called.FAILED
    return Called.ENDED
