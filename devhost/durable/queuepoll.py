"""Hears of messages that other processes wrote, by looking, as the real host looks into its queues.

A look that finds something is followed by another one soon, each that finds nothing by one after twice the time, up to
the longest. What this process sent itself is heard of without a look (`Ledger`), so polling is on nobody's way who is
alone.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from devhost.durable.errors import DurableError
from devhost.durable.ledger import Deliver
from devhost.durable.store.contract import Store

logger = logging.getLogger(__name__)

_DOUBLINGS = 6  # from the shortest time between two looks to the longest: 16 ms to 1 s


class QueuePoll:
    """Looks for messages from `start` to `stop`; with `longest_seconds` None only where `look` is called."""

    def __init__(self, store: Store, deliver: Deliver, longest_seconds: float | None) -> None:
        self._store = store
        self._deliver = deliver
        self._longest_seconds = longest_seconds
        self._last_seq = 0
        self._task: asyncio.Task[None] | None = None

    async def look(self) -> bool:
        """Deliver what came since the last look, the first time all that waits; tell whether there was anything."""
        arrivals = await self._store.arrivals(self._last_seq)
        self._last_seq = arrivals.last_seq
        for arrival in arrivals.of:
            self._deliver(arrival.target, arrival.due)
        return bool(arrivals.of)

    def start(self) -> None:
        """Go on looking."""
        if self._longest_seconds is not None:
            self._task = asyncio.get_running_loop().create_task(self._keep_looking(self._longest_seconds))

    async def stop(self) -> None:
        """Look no more; nothing when it was never started."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _keep_looking(self, longest: float) -> None:
        seconds = shortest = longest / 2**_DOUBLINGS
        while True:
            await asyncio.sleep(seconds)
            seconds = shortest if await self._try_to_look() else min(2 * seconds, longest)

    async def _try_to_look(self) -> bool:
        try:
            return await self.look()
        except DurableError as error:
            logger.error("Messages of other processes are not heard of: %s", error)
            return False
