"""Who in this process waits for events of a thread in Redis: `XREAD BLOCK`, which the server answers with the append.

Theory. A wait that blocks takes a connection for as long as it lasts. So those who wait for the same thread behind the
same position share one, and there is a bound on how many there are: above it nobody waits, and callers look in their
own time. Nobody cancels a wait that others may have joined: the server lets it go, and who wants to wait longer blocks
anew.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from hosting.errors import LogUnavailableError
from hosting.storage.outage import Outage
from hosting.storage.redis_server import connection_pool

MOST_WATCHED = 100
_MOST_BLOCKED_SECONDS = 10.0
"""After this a wait is begun anew, so that a server that vanished without a word is noticed."""


@dataclass(frozen=True)
class _Wait:
    """One blocked connection, which the server lets go at `ends` by the loop's clock if not before.

    The task returns whether there is more, and None when the server is away.
    """

    ends: float
    task: asyncio.Task[bool | None]


class RedisWatches:
    """Waits for entries of streams in the server at `url`, on connections of their own, at most `most` at once."""

    def __init__(self, url: str, patience_seconds: float, outage: Outage, most: int = MOST_WATCHED) -> None:
        self._most = most
        self._patience_seconds = patience_seconds
        self._outage = outage
        self._redis: Any = Redis.from_pool(connection_pool(url, patience_seconds, most))
        self._waits: dict[tuple[str, int], _Wait] = {}

    async def more(self, stream: str, after: int, seconds: float) -> bool:
        """Return True as soon as the stream has an entry behind `after`.

        False after so many seconds, and at once where too many streams are watched or all waits are closed. Raises
        `LogUnavailableError` when the server is away.
        """
        until = _now() + seconds
        while (wait := self._joined(stream, after, until)) is not None:
            await asyncio.wait([wait.task], timeout=until - _now() if wait.ends > until else None)
            if not wait.task.done() or wait.task.cancelled():
                return False
            is_more = wait.task.result()
            if is_more is None:
                raise LogUnavailableError.unreached()
            if is_more or _now() >= until:
                return is_more
        return False

    async def close(self) -> None:
        """End all waits and their connections; a later wait opens what it needs."""
        tasks = [wait.task for wait in self._waits.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._redis.aclose()

    def _joined(self, stream: str, after: int, until: float) -> _Wait | None:
        wait = self._waits.get((stream, after))
        if wait is None or wait.task.done():
            if len(self._waits) >= self._most:
                return None
            ends = min(until, _now() + _MOST_BLOCKED_SECONDS)
            wait = _Wait(ends, asyncio.ensure_future(self._is_behind(stream, after, ends - _now())))
            self._waits[stream, after] = wait
        return wait

    async def _is_behind(self, stream: str, after: int, seconds: float) -> bool | None:
        asking = self._redis.xread({stream: f"{after}-0"}, count=1, block=max(math.ceil(seconds * 1000), 1))
        try:
            entries = await asyncio.wait_for(asking, seconds + self._patience_seconds)
        except (RedisError, OSError, asyncio.TimeoutError) as error:
            self._outage.began(error)
            return None
        finally:
            del self._waits[stream, after]
        self._outage.ended()
        return bool(entries)


def _now() -> float:
    return asyncio.get_running_loop().time()
