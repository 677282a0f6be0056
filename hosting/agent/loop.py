"""The loop on which agents run: a thread of its own, so that a tool that blocks stops no HTTP and no other trigger.

Synchronous tools run in this loop's thread pool (agent-framework sends them there); what still blocks the loop itself
is an agent's own code, and the watchdog names it in the log with the time it took.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from hosting.agent.lifespans import CLOSE_SECONDS, Lifespans
from hosting.agent.tool_threads import ToolThreads
from hosting.process.invocation import invocation_at_work, make_task, thread_marked

logger = logging.getLogger(__name__)

T = TypeVar("T")
_PING_SECONDS = 0.5
_BLOCKED_SECONDS = 0.5


class AgentLoop:
    """An event loop in a daemon thread, started by the first run."""

    def __init__(self, tool_threads: int, name: str = "agent-loop") -> None:
        self._name = name
        self._most_tools = tool_threads
        self._tools: ToolThreads | None = None
        self._starting = threading.Lock()
        self.lifespans = Lifespans()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what `work` returns or raise what it raises, run on the agent loop; cancelling the wait cancels it."""
        return await asyncio.wrap_future(self.submit(work))

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin `work` on the agent loop and return its future; from any thread."""
        return asyncio.run_coroutine_threadsafe(work, self._started())

    def result_of(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what `work` returns or raise what it raises, run on the loop for a thread that waits for it."""
        return asyncio.run_coroutine_threadsafe(work, self._started()).result()

    def tools_at_work(self, run_id: str) -> int:
        """Return how many synchronous tools of the run work at this moment."""
        return self._tools.working_for(run_id) if self._tools is not None else 0

    def close(self) -> None:
        """Close what agents hold open, then stop the loop; what still runs on it is left to redelivery.

        Called from another thread than the loop's, which waits for 6 s at most; a second call waits for the first.
        """
        with self._starting:
            loop, self._loop = self._loop, None
            if loop is not None:
                self._close(loop)

    def _close(self, loop: asyncio.AbstractEventLoop) -> None:
        closing = asyncio.run_coroutine_threadsafe(self.lifespans.close(), loop)
        try:
            closing.result(CLOSE_SECONDS + 1)
        except Exception:
            logger.warning("What the agents hold open could not be closed.", exc_info=True)
        loop.call_soon_threadsafe(loop.stop)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._loop.set_task_factory(make_task)
                self._tools = ToolThreads(self._most_tools)
                self._loop.set_default_executor(self._tools)
                self._thread = threading.Thread(target=self._serve, args=(self._loop,), name=self._name, daemon=True)
                self._thread.start()
                threading.Thread(target=self._watch, args=(self._loop, self._thread), daemon=True).start()
            return self._loop

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        while loop is self._loop:
            _run_on(loop)

    def _watch(self, loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
        while loop is self._loop:
            answered = threading.Event()
            asked = time.monotonic()
            loop.call_soon_threadsafe(answered.set)
            if not answered.wait(_BLOCKED_SECONDS):
                where, invocation = _where(thread), invocation_at_work(loop)
                answered.wait()
                with thread_marked(invocation):
                    logger.warning(
                        "The %s was blocked for %.1f s by %s. Make it async, or move it to a synchronous function.",
                        self._name.replace("-", " "),
                        time.monotonic() - asked,
                        where,
                    )
            time.sleep(_PING_SECONDS)


def _run_on(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop until it stops, or until a tool's `sys.exit()` comes out of it, which must not end it for others."""
    try:
        loop.run_forever()
    except (SystemExit, KeyboardInterrupt):
        logger.exception("An agent's code tried to end the process; only its run ends.")


def _where(thread: threading.Thread) -> str:
    frame = sys._current_frames().get(thread.ident or 0)
    if frame is None:
        return "code that has ended"
    last = traceback.extract_stack(frame)[-1]
    return f"{last.filename}:{last.lineno} in {last.name}"
