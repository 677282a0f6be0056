"""The invocation that code works for, carried along with a run, so that what is logged on its way arrives.

Theory. On Azure the host keeps a log record of an app only while the invocation runs whose id the record carries, and
the worker gives it that id as it is logged: the one that stands on the running asyncio task; else, from Python 3.13 on,
that of a variable of the worker's library; else that of a thread-local storage, which a function gets with its
`context`. All three belong to the task or thread that the worker started. Agents run on a loop and in threads of our
own, so the id is held in a context variable, which every task and every call of a thread inherits from whoever began
it, and is put from there where the workers look. A context belongs to one run: no id passes from a run to another.
Where there is no worker there is no id, and none of this does anything.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from hosting.process.start_up import tell_start_up

P = ParamSpec("P")
T = TypeVar("T")

TASK_MARK = "__azure_function_invocation_id__"
"""The attribute of a task that both workers read."""

_LIBRARY = "azure_functions_runtime"
"""The worker's library for Python 3.13 and above, which the worker has imported before the app. It offers the variable
`invocation_id_cv`."""


@dataclass(frozen=True)
class Invocation:
    """One call of a function by the worker, and the thread-local storage in which the worker looks for ids."""

    id: str
    storage: Any = None


_OWN_MARK = "_agent_invocation"
_CURRENT: ContextVar[Invocation | None] = ContextVar("agent_invocation", default=None)


def begin_invocation(context: object = None) -> None:
    """Take up the invocation that the worker began with this call of a function, for all that the call begins.

    `context` is what the worker gives a parameter of that name; without it, tool threads have no id on Python 3.12 and
    below. The first call of a process logs again what was logged at start-up.
    """
    invocation_id = getattr(context, "invocation_id", None) or _task_mark() or _library_mark()
    if not invocation_id:
        return
    _CURRENT.set(Invocation(invocation_id, getattr(context, "thread_local_storage", None)))
    if (variable := _library_variable()) is not None:
        variable.set(invocation_id)
    tell_start_up()


def current_invocation() -> Invocation | None:
    """Return the invocation that the calling code works for, if there is one."""
    return _CURRENT.get()


def mark_task(invocation: Invocation | None) -> None:
    """Let the running task, which the worker's web server began, work for the invocation from here to its end."""
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
    variable = _library_variable()
    token = None if variable is None else variable.set(invocation.id)
    before = getattr(invocation.storage, "invocation_id", None)
    if invocation.storage is not None:
        invocation.storage.invocation_id = invocation.id
    try:
        yield
    finally:
        if invocation.storage is not None:
            invocation.storage.invocation_id = before
        if variable is not None and token is not None:
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


def _task_mark() -> str | None:
    return getattr(asyncio.current_task(), TASK_MARK, None)


def _library_variable() -> ContextVar[str | None] | None:
    return getattr(sys.modules.get(_LIBRARY), "invocation_id_cv", None)


def _library_mark() -> str | None:
    variable = _library_variable()
    return None if variable is None else variable.get()
