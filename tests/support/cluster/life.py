"""A process's life, which ends when a test says so: at a call of what outlives it, or between any two of its steps."""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVar
from weakref import WeakSet

from hosting.invocation import make_task

T = TypeVar("T")


class DiedError(BaseException):
    """The process ended here."""


class Life:
    """It ends before call number `ends_at`, counted from 1, or after it with `is_done`; or at step `ends_at_step`.

    A call is one of a store or of the engine. A step is what one of its tasks does between two awaits. Somebody else
    has a turn `meanwhile`, before call number `turn_at`.
    """

    def __init__(
        self,
        ends_at: int = 0,
        *,
        is_done: bool = False,
        ends_at_step: int = 0,
        turn_at: int = 0,
        meanwhile: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        self.calls = self.steps = 0
        self.is_over = False
        self._ends_at, self._is_done, self._ends_at_step = ends_at, is_done, ends_at_step
        self._turn_at, self._meanwhile = turn_at, meanwhile
        self._over: set[asyncio.Future[None]] = set()
        self._work = WeakSet[_Steps]()
        self._running = asyncio.Event()
        self._running.set()

    def end(self) -> None:
        """Have the process do nothing more."""
        self.is_over = True
        for steps in self._work:
            steps.leave()
        for over in self._over:
            if not over.done():
                over.set_result(None)

    def freeze(self) -> None:
        """Have none of its calls made or answered, as in a process that is stopped, until `thaw`."""
        self._running.clear()

    def thaw(self) -> None:
        """Go on."""
        self._running.set()

    async def is_awake(self) -> None:
        """Return once it is not frozen."""
        await self._running.wait()

    def end_at(self, call: int, *, is_done: bool) -> None:
        """Have it end at that call from now, counted from 1: before it, or after it is done."""
        self._ends_at, self._is_done = self.calls + call, is_done

    def end_after(self, steps: int) -> None:
        """Have it end so many steps from now."""
        self._ends_at_step = self.steps + steps

    async def through(self, call: Coroutine[Any, Any, T]) -> T:
        """Make a call, unless the life ends before it."""
        await self.is_awake()
        self.calls += 1
        if self.calls == self._turn_at and self._meanwhile is not None:
            await self._meanwhile()
        if self.is_over or (self.calls == self._ends_at and not self._is_done):
            call.close()
            self._die()
        answer = await call
        await self.is_awake()
        if self.is_over or self.calls == self._ends_at:
            self._die()
        return answer

    def begin(self, steps: _Steps) -> None:
        """Take note of what the process is at."""
        self._work.add(steps)

    def step(self) -> bool:
        """Count one step more of a task; return whether there is one."""
        self.steps += 1
        if self.steps == self._ends_at_step:
            self.end()
        return not self.is_over

    async def live(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of work that this process does, with all tasks that come of it; raise `DiedError`."""
        context = copy_context()
        context.run(_LIFE.set, self)
        task: asyncio.Task[T] = context.run(asyncio.ensure_future, work)
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._over.add(over)
        both: tuple[asyncio.Future[Any], ...] = (task, over)
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._over.discard(over)
            if not task.done():
                task.cancel()
        if self.is_over:
            raise DiedError
        return task.result()

    def _die(self) -> None:
        self.end()
        raise DiedError


_LIFE: ContextVar[Life | None] = ContextVar("life", default=None)


def make_living_task(
    loop: asyncio.AbstractEventLoop, work: Any, *, context: Context | None = None
) -> asyncio.Task[Any]:
    """Make the task of a loop: where it begins in the work of a process, its steps are those of that process."""
    life = _LIFE.get() if context is None else context.get(_LIFE)
    return make_task(loop, work if life is None else _Steps(life, work), context=context)


class _Steps(Coroutine[Any, Any, Any]):
    """A coroutine, step by step. In a process that is dead it stays where it is: not even its `finally` is reached."""

    def __init__(self, life: Life, work: Any) -> None:
        self._life, self._work = life, work
        life.begin(self)

    def leave(self) -> None:
        """Keep the work as it is for good: Python would run its `finally` when it is collected, or ends itself."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._work))

    def send(self, value: Any) -> Any:
        if self._life.step():
            return self._work.send(value)
        raise asyncio.CancelledError

    def throw(self, *error: Any) -> Any:
        if self._life.step():
            return self._work.throw(*error)
        raise asyncio.CancelledError

    def close(self) -> None:
        if not self._life.is_over:
            self._work.close()

    def __await__(self) -> Any:
        return self


class Mortal:
    """Passes on every call of what outlives the process."""

    def __init__(self, life: Life, lasting: Any) -> None:
        vars(self).update(_life=life, _lasting=lasting)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._lasting, name, value)

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._lasting, name)
        if not asyncio.iscoroutinefunction(member):
            return member
        return lambda *given, **named: self._life.through(member(*given, **named))
