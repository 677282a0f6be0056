"""How the engine learns of messages that other processes wrote: it looks, as the real host looks into its queues."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from devhost.durable.ledger import Deliver
from devhost.durable.store.contract import Store
from devhost.errors import DurableError

logger = logging.getLogger(__name__)

_DOUBLINGS = 6  # from the shortest time between two looks to the longest: 16 ms to 1 s


class QueuePoll:
    """Finds messages that other processes wrote.

    It looks from `start` to `stop`; with `longest_seconds` None only where `look` is called. A look that finds
    something is followed by another one soon, each that finds nothing by one after twice the time, up to the longest.
    What this process sent itself needs no look (`Ledger`), so a process that is alone never waits for one.
    """

    def __init__(self, store: Store, deliver: Deliver, longest_seconds: float | None) -> None:
        self._store = store
        self._deliver = deliver
        self._longest_seconds = longest_seconds
        self._last_seq = 0
        self._seen_version: int | None = None
        self._task: asyncio.Task[None] | None = None

    async def look(self) -> bool:
        """Deliver what came since the last look, the first time all that waits; return whether there was anything.

        Where no other process has written since, there is nothing.
        """
        version = await self._store.version_of_others()
        if version == self._seen_version:
            return False
        arrivals = await self._store.arrivals(self._last_seq)
        self._last_seq, self._seen_version = arrivals.last_seq, version
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
            logger.error("Messages of other processes cannot be read now: %s", error)
            return False
