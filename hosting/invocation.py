"""The invocation that code works for, kept with a run so that its log records reach Azure.

On Azure the host keeps a log record only if it carries the id of an invocation that still runs. The worker looks for
that id in three places: an attribute of the running asyncio task, then (from Python 3.13 on) a context variable of its
own library, then a thread-local storage that a function gets with its `context`. All three belong to the task or
thread that the worker started, and agents run on a loop and in threads of our own. So the id is held in a context
variable of ours, which each task and each call of a thread inherits from its creator, and is copied from there to
where the worker looks. A context belongs to one run: no id passes from one run to another. Without a worker there is
no id, and none of this does anything.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from msgspec import Struct

TASK_MARK = "__azure_function_invocation_id__"
"""The attribute of a task that both workers read."""

_LIBRARY, _VARIABLE = "azure_functions_runtime", "invocation_id_cv"
"""The worker's library for Python 3.13 and above, which the worker has imported before the app, and its variable."""

_OWN_MARK = "_agent_invocation"

_WORKERS = ("azure_functions_", "azure.functions")
"""How the names of the worker's own loggers begin; the host files their records apart."""

P = ParamSpec("P")
T = TypeVar("T")


class Invocation(Struct, frozen=True):
    """One call of a function by the worker, and the thread-local storage in which the worker looks for ids."""

    id: str
    storage: Any = None
    function: str = ""


_CURRENT: ContextVar[Invocation | None] = ContextVar("agent_invocation", default=None)
current_invocation = _CURRENT.get
"""Returns the invocation that the calling code works for, or None."""


def begin_invocation(context: object = None) -> None:
    """Make the worker's call of a function the invocation of everything that the call begins.

    `context` is what the worker gives a parameter of that name; without it, tool threads have no id on Python 3.12 and
    below, and the function has no name.
    """
    variable = getattr(sys.modules.get(_LIBRARY), _VARIABLE, None)
    invocation_id = getattr(context, "invocation_id", None) or getattr(asyncio.current_task(), TASK_MARK, None)
    if not invocation_id and variable is not None:
        invocation_id = variable.get()
    if not invocation_id:
        return
    function = getattr(context, "function_name", "")
    _CURRENT.set(Invocation(invocation_id, getattr(context, "thread_local_storage", None), function))
    if variable is not None:
        variable.set(invocation_id)


def mark_task(invocation: Invocation | None) -> None:
    """Let the running task, which another task factory made, work for the invocation from here to its end."""
    task = asyncio.current_task()
    if invocation is not None and task is not None:
        _CURRENT.set(invocation)
        setattr(task, TASK_MARK, invocation.id)


def make_task(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
    """Make a task that works for the invocation of its context: a loop's task factory."""
    task = asyncio.Task(work, loop=loop, **options)
    context = options.get("context")
    invocation = _CURRENT.get() if context is None else context.get(_CURRENT)
    if invocation is not None:
        setattr(task, TASK_MARK, invocation.id)
        setattr(task, _OWN_MARK, invocation)
    return task


def invocation_at_work(loop: asyncio.AbstractEventLoop) -> Invocation | None:
    """Return the invocation of the task that a loop runs at this moment; from any thread."""
    invocation: Invocation | None = getattr(asyncio.current_task(loop), _OWN_MARK, None)
    return invocation


@contextmanager
def thread_marked(invocation: Invocation | None) -> Iterator[None]:
    """Let the calling thread, in which no event loop runs, work for the invocation until the block ends."""
    if invocation is None:
        yield
        return
    variable, storage = getattr(sys.modules.get(_LIBRARY), _VARIABLE, None), invocation.storage
    token = variable.set(invocation.id) if variable is not None else None
    before = getattr(storage, "invocation_id", None)
    if storage is not None:
        storage.invocation_id = invocation.id
    current = _CURRENT.set(invocation)  # an executor's call has no context but the thread's own
    try:
        yield
    finally:
        _CURRENT.reset(current)
        if storage is not None:
            storage.invocation_id = before
        if variable is not None:
            variable.reset(token)


def carried(call: Callable[P, T]) -> Callable[P, T]:
    """Return the call, to be made by a thread, for the invocation that is current now."""
    invocation = _CURRENT.get()
    if invocation is None:
        return call

    def call_marked(*args: P.args, **named: P.kwargs) -> T:
        with thread_marked(invocation):
            return call(*args, **named)

    return call_marked


class PrintedRecords(logging.Handler):
    """Prints what is logged at INFO in invocations of the functions that it `takes`: one line for each record."""

    def __init__(self, takes: Callable[[str], bool]) -> None:
        super().__init__(logging.INFO)
        self._takes = takes

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler.emit`."""
        invocation = _CURRENT.get()
        if invocation is None or not self._takes(invocation.function):
            return
        if record.levelno >= logging.WARNING or record.name.startswith(_WORKERS):
            return
        try:
            print(" ".join(self.format(record).splitlines()), flush=True)
        except Exception:
            self.handleError(record)
