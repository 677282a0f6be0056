"""Threads whose time may be up are asked to look: a page at a time, a few at once, for so long and no longer.

Theory. The sweep decides nothing. It lists the threads that nobody has touched for their agent's time to live and
sends each the operation `expire`; the entity looks at its own document, clock and runs. So a message that came at the
last second wins, a sweep may be broken off or run twice, and its next one goes on where this one ended: whoever has
looked is either gone from the list, or at its new end. Source: issue of keeping and forgetting, time to live.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hosting.identity import new_id
from hosting.names import entity_name
from hosting.ports import Clock, EntityClient

logger = logging.getLogger(__name__)

PAGE_SIZE = 100
MOST_AT_ONCE = 8
"""Signals under way at one time: each is a call to the engine, which has other work."""

MOST_SECONDS = 120.0
"""After which a sweep begins no further page; the next one goes on."""


@dataclass(frozen=True)
class Swept:
    """How many threads a sweep asked, and whether it came to the end of its lists."""

    asked: int
    is_whole: bool


class Sweep:
    """Asks the threads of the agents that have a time to live, by name and in seconds."""

    def __init__(
        self, ttls: Mapping[str, float], clock: Clock, *, passed_seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._ttls = ttls
        self._clock = clock
        self._passed_seconds = passed_seconds

    async def run(self, client: EntityClient) -> Swept:
        """Sweep once. Raises `EngineUnavailableError`; what was asked until then stays asked."""
        end = self._passed_seconds() + MOST_SECONDS
        asked = 0
        for agent, ttl_seconds in self._ttls.items():
            cursor: str | None = None
            while True:
                page = await client.list(entity_name(agent), PAGE_SIZE, cursor, self._clock() - ttl_seconds)
                await self._ask(agent, [key for key, _ in page.keys], client)
                asked += len(page.keys)
                cursor = page.cursor
                if cursor is None:
                    break
                if self._passed_seconds() >= end:
                    return _told(Swept(asked, is_whole=False))
        return _told(Swept(asked, is_whole=True))

    async def _ask(self, agent: str, keys: list[str], client: EntityClient) -> None:
        gate = asyncio.Semaphore(MOST_AT_ONCE)

        async def ask(key: str) -> None:
            async with gate:
                await client.signal(entity_name(agent), key, "expire", {"id": new_id()})

        await asyncio.gather(*map(ask, keys))


def _told(swept: Swept) -> Swept:
    if swept.asked:
        ending = "all of them" if swept.is_whole else "the next sweep goes on"
        logger.info("%d threads were asked whether their time is up; %s.", swept.asked, ending)
    return swept
