"""Turns of those who read much: a whole thread, its log, or everything of an owner.

Theory. What such a read holds is as large as what is stored, and many times as large as the text that is answered. A
caller has one at a time, and a process a few, so what one small request costs is not had as often as somebody sends it.
Nobody is refused: who waits holds next to nothing. Nothing is sent in a turn, for a reader may be slow.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from hosting.names import APP

_AT_ONCE = 4


class LargeReads:
    """The large reads of one process, for one event loop."""

    def __init__(self) -> None:
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._at_once = asyncio.Semaphore(_AT_ONCE)

    @asynccontextmanager
    async def turn(self, owner: str) -> AsyncIterator[None]:
        """Wait for a turn of the owner's; callers of an app that knows no owners have no turns of their own."""
        if owner == APP:
            async with self._at_once:
                yield
        else:
            async with self._turns.setdefault(owner, asyncio.Lock()), self._at_once:
                yield
