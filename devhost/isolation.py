"""The app's code, kept apart from the task that waits for it.

Whatever the app raises ends its own call and nothing else, so its end comes back as a value, not as an exception.
`asyncio.CancelledError` is why async code gets a task of its own: raised by the app or thrown in because the host
stops, it looks the same in one task. In two it does not: what comes out of the app's task is the app's, what arrives
at the waiting one is the host's, and is handed on once the app's code has unwound. `SystemExit` and
`KeyboardInterrupt` would end the event loop if they left a task; here they never do. Ctrl-C is a signal to the host
(`stopping`), so neither can be the person's at the keyboard.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from devhost.ports import FunctionFailedError

_UNWIND_SECONDS = 2.0


@dataclass(frozen=True)
class Returned:
    """The code came to its end."""

    value: object


@dataclass(frozen=True)
class Raised:
    """The code raised, or cancelled itself."""

    error: BaseException


@dataclass(frozen=True)
class TimedOut:
    """The code was cancelled because its time was over; what it made of the cancellation is lost."""


def run_caught(code: Callable[[], object]) -> Returned | Raised:
    """Run sync code, in whichever thread this is called.

    A future would not do instead: it refuses to carry `StopIteration`, and nobody would learn of the end.
    """
    try:
        return Returned(code())
    except BaseException as error:
        return Raised(error)


async def run_apart(
    code: Callable[[], Awaitable[object]], timeout_seconds: float | None = None
) -> Returned | Raised | TimedOut:
    """Run async code in a task of its own, for so long at most.

    When the caller is cancelled, so is the code, and the cancellation goes on only after the code has unwound; a
    second one does not wait for that. Code that does not heed its own time-out is left behind after a while, as a
    thread is: its caller is answered.
    """
    task = asyncio.get_running_loop().create_task(_caught(code))
    try:
        await _end_of(task, timeout_seconds)
        if task.done():
            return task.result()
        task.cancel()
        await _end_of(task, _UNWIND_SECONDS)
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait((task,))
        raise
    return TimedOut()


async def _end_of(task: asyncio.Task[Any], seconds: float | None) -> None:
    """Return when the task is done or the time is over: `asyncio.wait` at half its cost, which each call would bear."""
    loop = asyncio.get_running_loop()
    over = loop.create_future()

    def end(_: object = None) -> None:
        if not over.done():
            over.set_result(None)

    task.add_done_callback(end)
    alarm = None if seconds is None else loop.call_later(seconds, end)
    try:
        await over
    finally:
        task.remove_done_callback(end)
        if alarm is not None:
            alarm.cancel()


async def run_here(code: Callable[[], Awaitable[object]]) -> Returned | Raised:
    """Run async code that is not the app's in the caller's task, whose cancellation it shares."""
    try:
        return Returned(await code())
    except Exception as error:
        return Raised(error)


async def _caught(code: Callable[[], Awaitable[object]]) -> Returned | Raised:
    try:
        return Returned(await code())
    except BaseException as error:
        return Raised(error)


class Chunks:
    """The chunks of a stream; an exit that one of them raises is a failure like any other.

    For senders that read the stream in a task which nobody here waits for. They find the stream's own methods too.
    """

    def __init__(self, stream: AsyncIterable[Any]) -> None:
        self._stream = aiter(stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> Chunks:
        return self

    async def __anext__(self) -> Any:
        try:
            return await anext(self._stream)
        except (SystemExit, KeyboardInterrupt) as error:
            raise FunctionFailedError.of(error) from error
