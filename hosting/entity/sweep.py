"""Threads whose time may be up are asked to look: a page at a time, a few at once, for so long and no longer.

Theory. The sweep decides nothing. It lists the threads that nobody has touched for their agent's time to live and
sends each the operation `expire`; the entity looks at its own document, clock and runs. So a message that came at the
last second wins, a sweep may be broken off or run twice, and its next one goes on where this one ended: whoever has
looked is either gone from the list, or at its new end. A sweep waits a moment for the receipts of those that it asked,
because the instances that they name are for a durable client to purge; what it does not live to see stays pending in
the receipt until somebody deletes the thread again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from hosting.entity.settling import Settling
from hosting.events import Place
from hosting.identity import new_id
from hosting.names import entity_name
from hosting.ports import Clock, EntityClient

logger = logging.getLogger(__name__)

PAGE_SIZE = 100
MOST_AT_ONCE = 8
"""Signals under way at one time: each is a call to the engine, which has other work."""

MOST_SECONDS = 120.0
"""After which a sweep begins no further page; the next one goes on."""

SETTLE_SECONDS = (0.0, 0.5, 2.0)
"""How long a sweep waits each time before it looks for the receipts of those that it asked."""


@dataclass(frozen=True)
class _Page:
    """Threads that nobody has touched for long, and whether there are more."""

    places: list[Place]
    is_last: bool


@dataclass(frozen=True)
class Swept:
    """How many threads a sweep asked, and whether it came to the end of its lists."""

    asked: int
    is_whole: bool


class Sweep:
    """Asks the threads of the agents that have a time to live, by name and in seconds."""

    def __init__(
        self,
        ttls: Mapping[str, float],
        clock: Clock,
        settling: Settling,
        *,
        passed_seconds: Callable[[], float] = time.monotonic,
        settle_seconds: Sequence[float] = SETTLE_SECONDS,
    ) -> None:
        self._ttls = ttls
        self._clock = clock
        self._settling = settling
        self._passed_seconds = passed_seconds
        self._settle_seconds = settle_seconds

    async def run(self, client: EntityClient) -> Swept:
        """Sweep once. Raises `EngineUnavailableError` and `LogUnavailableError`; what was asked stays asked."""
        end = self._passed_seconds() + MOST_SECONDS
        asked: list[Place] = []
        is_whole = True
        async for page in self._pages(client):
            is_whole = page.is_last
            await _gently(self._ask, page.places, client)
            asked += page.places
            if self._passed_seconds() >= end:
                break
        await self._settle(asked, client)
        if asked:
            ending = "all of them" if is_whole else "the next sweep goes on"
            logger.info("%d threads were asked whether their time is up; %s.", len(asked), ending)
        return Swept(len(asked), is_whole)

    async def _pages(self, client: EntityClient) -> AsyncIterator[_Page]:
        agents = list(self._ttls.items())
        for agent, ttl_seconds in agents:
            cursor: str | None = None
            is_begun = False
            while not is_begun or cursor is not None:
                is_begun = True
                page = await client.list(entity_name(agent), PAGE_SIZE, cursor, self._clock() - ttl_seconds)
                cursor = page.cursor
                places = [Place.of(agent, key) for key, _ in page.keys]
                yield _Page(places, is_last=cursor is None and agent == agents[-1][0])

    async def _ask(self, place: Place, client: EntityClient) -> bool:
        await client.signal(entity_name(place.agent), place.thread_id, "expire", {"id": new_id()})
        return True

    async def _settle(self, places: list[Place], client: EntityClient) -> None:
        """Purge what the receipts of these threads name; those that were not deleted have none."""
        for seconds in self._settle_seconds:
            if not places:
                return
            await asyncio.sleep(seconds)
            settled = await _gently(self._settling.settle, places, client)
            places = [place for place, is_settled in zip(places, settled, strict=True) if not is_settled]


async def _gently(
    work: Callable[[Place, EntityClient], Awaitable[bool]], places: list[Place], client: EntityClient
) -> list[bool]:
    """Do the work for each place, a few at once."""
    gate = asyncio.Semaphore(MOST_AT_ONCE)

    async def one(place: Place) -> bool:
        async with gate:
            return await work(place, client)

    return await asyncio.gather(*map(one, places))
