"""Turns of those who change one thing of a store: one after the other in a process, and none waits for each before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from hosting.errors import LogUnavailableError
from hosting.names import Address


class _Line:
    """Those who wait for their turn, and how often one of them has found the store away."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.times_away = 0


class Turns:
    """The turns of one event loop; other processes know nothing of them."""

    def __init__(self) -> None:
        self._lines: WeakValueDictionary[Address, _Line] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, address: Address) -> AsyncIterator[None]:
        """Wait for the turn.

        Raises `LogUnavailableError` for all who wait when one finds the store away: ten who came at once would else be
        told one after the other, each after the patience of those before.
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
