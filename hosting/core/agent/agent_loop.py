"""The loop on which agents run: a thread of its own, so that a tool that blocks stops no HTTP and no other trigger.

Synchronous tools run in this loop's thread pool (agent-framework sends them there). No thread can be stopped: when a
run is stopped while a tool works for it, the thread continues to its end and its result is dropped. So the pool knows
for which run each thread works, and the log can say so. What still blocks the loop itself is an agent's own code, and a
watchdog names it in the log: while it does, and with the time it took. Nothing can stop it. So once it blocks the loop
for longer than a limit no new run is admitted, and the host sends callers to another process, or restarts this one.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import math
import socket
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from types import FrameType
from typing import Any, TypeVar

from msgspec import Struct

from hosting.core.agent.lifespans import CLOSE_SECONDS, Lifespans
from hosting.errors import AgentsBlockedError
from hosting.invocation import carried, invocation_at_work, make_task, thread_marked

logger = logging.getLogger(__name__)

_LOOKUPS = (socket.getaddrinfo, socket.getnameinfo)
_LOOKUP_THREADS = 4
_PING_SECONDS = 0.5
_BLOCKED_SECONDS = 0.5
_STILL_BLOCKED_SECONDS = 2.0
"""After so long, and then each time after twice as long, the log says that the loop still is blocked."""
_PROCESSOR = "the processor, or for a thread that keeps it"
_OF_THE_LOOP = ("asyncio.", "selectors", "threading", __name__)
"""The modules with the code that a loop's thread runs while it has no work, or is between two pieces of it."""

T = TypeVar("T")
RUN: ContextVar[str] = ContextVar("agent_run")
"""The run that the code around works for: set by the runner, inherited by whatever the agent starts."""


class ToolThreads(ThreadPoolExecutor):
    """A thread pool that knows for which run each of its threads works (`runs`).

    Look-ups of names, which an event loop sends to its threads too, have some of their own: otherwise no model
    could be reached while every thread has a tool.
    """

    def __init__(self, threads: int) -> None:
        super().__init__(threads, thread_name_prefix="agent-tool")
        self._lookups = ThreadPoolExecutor(_LOOKUP_THREADS, thread_name_prefix="agent-lookup")
        self.runs: dict[Future[Any], str] = {}

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start the call in a thread; it counts for the run of the calling context, and logs for its invocation."""
        if fn in _LOOKUPS:
            return self._lookups.submit(fn, *args, **kwargs)
        future = super().submit(carried(fn), *args, **kwargs)
        run_id = RUN.get(None)
        if run_id is not None:
            self.runs[future] = run_id
            future.add_done_callback(lambda done: self.runs.pop(done, None))
        return future


class AgentLoop:
    """An event loop in a daemon thread, started by the first run.

    It admits no run once it is blocked for `most_blocked_seconds`; `names_code`: callers learn by which line, and
    `names_causes`: what a failed run's agent raised, or a tool.
    """

    def __init__(
        self,
        tool_threads: int,
        name: str = "agent-loop",
        *,
        most_blocked_seconds: float = math.inf,
        names_code: bool = False,
        names_causes: bool = False,
    ) -> None:
        self._name = name
        self._most_blocked_seconds = most_blocked_seconds
        self._names_code = names_code
        self.names_causes = names_causes
        self._blocked_since: float | None = None
        self._thread: threading.Thread | None = None
        self._most_tools = tool_threads
        self._tools: ToolThreads | None = None
        self._starting = threading.Lock()
        self.lifespans = Lifespans()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work`, run on the agent loop, or raise its error; cancelling the wait cancels it."""
        return await asyncio.wrap_future(self.submit(work))

    def result_of(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work`, run on the loop for a waiting thread, or raise its exception."""
        return self.submit(work).result()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin `work` on the agent loop and return its future; from any thread."""
        with self._starting:
            if self._loop is None:
                self._loop = loop = asyncio.new_event_loop()
                loop.set_task_factory(make_task)
                self._tools = ToolThreads(self._most_tools)
                loop.set_default_executor(self._tools)
                self._thread = threading.Thread(target=self._serve, args=(loop,), name=self._name, daemon=True)
                self._thread.start()
                threading.Thread(target=self._watch, args=(loop,), daemon=True).start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def admit(self) -> None:
        """Let a new run in; raises `AgentsBlockedError` while the loop is blocked for too long."""
        seconds = self._blocked_seconds()
        if seconds is None:
            return
        where = self._where() if self._names_code else "some code"
        raise AgentsBlockedError(
            f"The agents have been blocked for {seconds:.0f} s by {where}, and no new runs start. Try again later."
        )

    def takes_runs(self) -> bool:
        """Return whether a run may be claimed for this loop now: not while it is blocked for too long."""
        return self._blocked_seconds() is None

    def _blocked_seconds(self) -> float | None:
        since = self._blocked_since
        seconds = 0.0 if since is None else time.monotonic() - since
        return None if since is None or seconds < self._most_blocked_seconds else seconds

    def tools_at_work(self, run_id: str) -> int:
        """Return how many synchronous tools of the run work now; those of a stopped run work to their end."""
        return 0 if self._tools is None else sum(run == run_id for run in list(self._tools.runs.values()))

    def close(self) -> None:
        """Close the agents' open connections, then stop the loop; its remaining work is left to redelivery.

        Called from another thread than the loop's, which waits for 6 s at most; a second call waits for the first.
        """
        with self._starting:
            loop, self._loop = self._loop, None
            if loop is None:
                return
            closing = asyncio.run_coroutine_threadsafe(self.lifespans.close(), loop)
            try:
                closing.result(CLOSE_SECONDS + 1)
            except Exception:
                logger.warning("The agents' open connections could not be closed.", exc_info=True)
            loop.call_soon_threadsafe(loop.stop)

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run the loop until it is closed. A tool's `sys.exit()` comes out of it and must not end it for others."""
        while loop is self._loop:
            try:
                loop.run_forever()
            except (SystemExit, KeyboardInterrupt):  # one try for each stop
                logger.exception("An agent's code tried to end the process. Only its run ends.")

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Log the line of code that blocks the loop, until the loop is closed."""
        while loop is self._loop:
            answered = threading.Event()
            began = time.monotonic()
            loop.call_soon_threadsafe(answered.set)
            if not answered.wait(_BLOCKED_SECONDS):
                self._blocked_since = began
                with thread_marked(invocation_at_work(loop)):
                    self._log_blocked(loop, answered, began)
            time.sleep(_PING_SECONDS)

    def _log_blocked(self, loop: asyncio.AbstractEventLoop, answered: threading.Event, began: float) -> None:
        """Log for as long as the loop is blocked that it is, more and more seldom, and once it no longer is."""
        name, where, most = self._name.replace("-", " "), self._where(), self._most_blocked_seconds
        due = min(_STILL_BLOCKED_SECONDS, most)
        while not answered.wait(max(0.0, min(began + due - time.monotonic(), threading.TIMEOUT_MAX))):
            if loop is not self._loop:
                return
            seconds, where = time.monotonic() - began, self._where()
            refused = " The app takes no new runs until then." if seconds >= most else ""
            if where == _PROCESSOR:
                logger.error("The %s has waited %.1f s for %s and is still waiting.%s", name, seconds, where, refused)
            else:
                logger.error("The %s has been blocked for %.1f s by %s and still is.%s", name, seconds, where, refused)
            due = most if seconds < most < 2 * seconds else 2 * seconds
        self._blocked_since = None
        seconds = time.monotonic() - began
        if where == _PROCESSOR:
            logger.info("The %s waited %.1f s for %s.", name, seconds, where)
            return
        advice = "Make it async, or move it to a synchronous function."
        logger.warning("The %s was blocked for %.1f s by %s. %s", name, seconds, where, advice)

    def _where(self) -> str:
        """Return the line at which the loop's thread is; a loop that waits for work is blocked by none."""
        frame = _frame_of(self._thread) if self._thread is not None else None
        if frame is None:
            return "code that has ended"
        modules = (caller.f_globals.get("__name__", "") for caller, _ in traceback.walk_stack(frame))
        if all(module.startswith(_OF_THE_LOOP) for module in modules):
            return _PROCESSOR
        last = traceback.extract_stack(frame)[-1]
        return f"{last.filename}:{last.lineno} in {last.name}"


def _frame_of(thread: threading.Thread) -> FrameType | None:
    """Return the thread's current frame, None once it has ended.

    `sys._current_frames` holds the interpreter's lock on its threads. A garbage collection in there may close a socket
    and wait for the global lock, while a thread that ends has that one and waits for the other: the process would stand
    still for good. So Python does not collect meanwhile; newer Pythons see to it themselves (gh-106883).
    """
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames().get(thread.ident or 0)
    finally:
        if is_collecting:
            gc.enable()


class Stop(Struct, eq=False):
    """The wish that a run ends, from any thread: cancels the task that is bound now, or the next one."""

    is_requested: bool = False
    _task: Callable[[], asyncio.Task[Any] | None] = lambda: None

    def request(self) -> None:
        """Have the run end; from any thread, and again changes nothing."""
        self.is_requested = True
        task = self._task()
        if task is not None:
            task.get_loop().call_soon_threadsafe(task.cancel)

    def bind(self, task: asyncio.Task[Any]) -> None:
        """Name the task that is cancelled then; called on the task's own loop.

        It is not kept: a task that was cancelled keeps the frames that it ended in, and those their attempt.
        """
        self._task = weakref.ref(task)
        if self.is_requested:
            self.request()
