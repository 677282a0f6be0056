"""The threads of synchronous tools, which know for which run each of them works.

No thread can be stopped. When a run is stopped while one of them works for it, the thread goes on, holds its place
among the others until it ends, and nobody takes its result: the log has to be able to say so. Look-ups of names, which
an event loop sends to its threads too, have some of their own: else no model could be reached while every thread here
has a tool.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any

from hosting.process.invocation import carried

_LOOKUPS = (socket.getaddrinfo, socket.getnameinfo)
_LOOKUP_THREADS = 4
RUN: ContextVar[str] = ContextVar("agent_run")
"""The run that the code around works for: set by the runner, inherited by whatever the agent starts."""


class ToolThreads(ThreadPoolExecutor):
    """A thread pool that tells who still works for a run."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads, thread_name_prefix="agent-tool")
        self._lookups = ThreadPoolExecutor(_LOOKUP_THREADS, thread_name_prefix="agent-lookup")
        self._runs: dict[Future[Any], str] = {}

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """See `ThreadPoolExecutor.submit`; the call counts for the run of the calling context, and logs for its
        invocation."""
        if fn in _LOOKUPS:
            return self._lookups.submit(fn, *args, **kwargs)
        future = super().submit(carried(fn), *args, **kwargs)
        run_id = RUN.get(None)
        if run_id is not None:
            self._runs[future] = run_id
            future.add_done_callback(lambda done: self._runs.pop(done, None))
        return future

    def working_for(self, run_id: str) -> int:
        """Return how many threads work for the run; of a run that was stopped, those that could not be."""
        return sum(1 for run in list(self._runs.values()) if run == run_id)
