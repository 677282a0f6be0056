"""Turns within a process: to change one thing of a store, and to read much of it.

Theory. What each of a crowd may do, the crowd may not do at once. Of those who change one thing each would cost the
others a call of the store, for it is compared. What a large read holds is a thread, its log, or everything of an
owner: as large as what is stored, and many times as large as the text that is answered. Nobody is refused for it, and
who waits holds next to nothing. Nothing is sent in a turn, for a reader may be slow.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager
from typing import TypeVar
from weakref import WeakValueDictionary

from hosting.errors import LogUnavailableError
from hosting.names import APP, Address


class _Line:
    """The callers that wait for their turn, and how often one of them has found the store away."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.times_away = 0


class Turns:
    """The turns of one event loop; other processes do not know them."""

    def __init__(self) -> None:
        self._lines: WeakValueDictionary[Address, _Line] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, address: Address) -> AsyncIterator[None]:
        """Wait for the turn.

        Raises `LogUnavailableError` for all who wait when one finds the store away: ten who came at once would else be
        refused one after the other, each after the patience of those before.
        """
        line = self._lines.setdefault(address, _Line())
        times_away = line.times_away
        async with line.lock:
            if line.times_away > times_away:
                raise LogUnavailableError()
            try:
                yield
            except LogUnavailableError:
                line.times_away += 1
                raise


T = TypeVar("T")
_LARGE_AT_ONCE = 4
_READS_AT_ONCE = 16


class LargeReads:
    """The large reads of one process, for one event loop: a caller has one at a time, the process a few."""

    def __init__(self) -> None:
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._at_once = asyncio.Semaphore(_LARGE_AT_ONCE)

    @asynccontextmanager
    async def turn(self, owner: str) -> AsyncIterator[None]:
        """Wait for a turn of the owner's; callers of an app that knows no owners have no turns of their own."""
        if owner == APP:
            async with self._at_once:
                yield
        else:
            async with self._turns.setdefault(owner, asyncio.Lock()), self._at_once:
                yield


async def gathered(reads: Iterable[Awaitable[T]]) -> list[T]:
    """Return the results of these small reads, a few of which are made at once."""
    gate = asyncio.Semaphore(_READS_AT_ONCE)

    async def gated(read: Awaitable[T]) -> T:
        async with gate:
            return await read

    return list(await asyncio.gather(*map(gated, reads)))
