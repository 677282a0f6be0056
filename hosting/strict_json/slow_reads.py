"""Requests are read without holding up others: quick ones on the event loop, slow ones in a thread.

Theory. The size of a request does not say what it costs: a schema of a few hundred bytes can ask for a tenth of a
second. So whatever may take long says so before it begins (`takes_long`), and the request is read once more from its
beginning, in one of a few threads that do nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from typing import TypeVar

_MOST_BYTES_ON_THE_LOOP = 1024
_THREADS = ThreadPoolExecutor(4, "reading")
_ON_THE_LOOP: ContextVar[bool] = ContextVar("reads_on_the_loop", default=False)

T = TypeVar("T")


class _TakesLongError(Exception):
    """The next read is too slow for the event loop."""


def takes_long() -> None:
    """Announce that the next read may take many milliseconds; it must be the first work for the request."""
    if _ON_THE_LOOP.get():
        raise _TakesLongError


async def read_aside(size_bytes: int, read: Callable[[], T]) -> T:
    """Return the result of `read` for a request of that size. `read` may be called twice."""
    if size_bytes <= _MOST_BYTES_ON_THE_LOOP:
        token = _ON_THE_LOOP.set(True)
        try:
            return read()
        except _TakesLongError:
            pass
        finally:
            _ON_THE_LOOP.reset(token)
    return await asyncio.get_running_loop().run_in_executor(_THREADS, copy_context().run, read)
