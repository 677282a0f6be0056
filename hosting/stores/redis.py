"""The threads' logs in Redis or Valkey (6.2 and later), for any number of processes.

Theory. The server runs one script at a time, so each step that must be atomic is one script (`redis_scripts`) and one
round trip. A thread's events are a stream whose entry ids are their positions, so another program follows a thread with
plain XREAD, and so does a watch. Keys begin with the hub, and those of one thread are in one hash slot of a cluster:
`{<hub>/<address key>}:head`, `:events`, `:rows`, `:row-positions`.

What the server's configuration decides, and this module cannot promise:
- What was written survives the server's own end as `appendonly` and `appendfsync` say (`always` before the answer,
  `everysec` but for the last second); after a failover, as far as the replica had come.
- What was erased is gone from memory at once. It is in the append-only file until that is rewritten, in a snapshot
  until the next one is saved, and in copies that others made.
- `maxmemory-policy` must be `noeviction`: a server that evicts keys takes parts of threads, of which nothing is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any, TypeVar

from redis.asyncio import Redis
from redis.exceptions import RedisError

from hosting.address import Address
from hosting.errors import LogUnavailableError
from hosting.storage.outage import Outage
from hosting.storage.redis_server import PATIENCE_SECONDS, connection_pool, shown
from hosting.stores import redis_scripts as scripts
from hosting.stores.contract import Append, Appended, AppendOutcome, Conflict, Row, StoredEvent, StoredHead, Unknown
from hosting.stores.redis_watches import MOST_WATCHED, RedisWatches

T = TypeVar("T")
_DONE = 1
_PAGE = 200


class RedisThreadStore:
    """A `ThreadStore` in the server at `url` (redis:// or rediss://), connected at the first use, on one event loop.

    A step is sent once more where its connection was lost, which every script bears: an append done twice is known as
    done. Without an answer after `patience_seconds` the server counts as away. A head is compared by the id of its
    append. `most_watched` is how many threads may be watched at once; a watch above it returns False at once.
    """

    batch_seconds = 0.1

    def __init__(
        self, url: str, hub: str, patience_seconds: float = PATIENCE_SECONDS, most_watched: int = MOST_WATCHED
    ) -> None:
        self._hub = hub
        self._patience_seconds = patience_seconds
        self._outage = Outage(f"The threads' log in {shown(url)}")
        self._redis: Any = Redis.from_pool(connection_pool(url, patience_seconds))
        self._watches = RedisWatches(url, patience_seconds, self._outage, most_watched)
        self._under_way: set[asyncio.Future[Any]] = set()
        self._append = self._redis.register_script(scripts.APPEND)
        self._trim = self._redis.register_script(scripts.TRIM)
        self._erase = self._redis.register_script(scripts.ERASE)
        self._forget = self._redis.register_script(scripts.FORGET)

    async def append(self, address: Address, known: StoredHead | None, append: Append) -> AppendOutcome:
        """See `ThreadStore.append`: one script."""
        first, head = append.first_position(known), append.head
        arguments: list[str | bytes | float] = [known.tag if known else "", head.append_id, first, len(append.events)]
        arguments += [head.payload, *append.events]
        for row in append.rows:
            arguments += [row.name, row.position, int(row.is_new), row.payload]
        try:
            answer = await self._run(self._append, address, *arguments)
        except LogUnavailableError:
            return Unknown()
        return Appended(replace(head, tag=head.append_id)) if answer == _DONE else Conflict(_head(answer))

    async def head(self, address: Address) -> StoredHead | None:
        """See `ThreadStore.head`: one round trip."""
        key = self._keys(address)[0]
        return _head(await self._reached(self._redis.hmget(key, "append", "position", "payload")))

    async def events(self, address: Address, after: int) -> list[StoredEvent]:
        """See `ThreadStore.events`: a round trip for each page.

        Where a trim took what stands between two pages, it took all before it too.
        """
        key = self._keys(address)[1]
        events: list[StoredEvent] = []
        while True:
            page = await self._reached(self._redis.xrange(key, f"{after + 1}-0", count=_PAGE))
            found = [StoredEvent(int(entry.partition(b"-")[0]), fields[b"payload"]) for entry, fields in page]
            if found and found[0].position != after + 1:
                events = []
            events += found
            if len(found) < _PAGE:
                return events
            after = found[-1].position

    async def row(self, address: Address, name: str) -> Row | None:
        """See `ThreadStore.row`: one round trip."""
        kept = await self._reached(self._redis.hget(self._keys(address)[2], name))
        if kept is None:
            return None
        position, _, payload = kept.partition(b" ")
        return Row(name, int(position), payload)

    async def trim(self, address: Address, before: int, rows_before: int) -> None:
        """See `ThreadStore.trim`: a script for each thousand rows. What it removes may share memory with what stays."""
        most = scripts.MOST_ROWS_AT_ONCE
        while await self._run(self._trim, address, before, rows_before, most) == most:
            pass

    async def erase(self, address: Address, through: int) -> None:
        """See `ThreadStore.erase`: one script, which writes anew what stays behind."""
        await self._run(self._erase, address, through)

    async def forget(self, address: Address, known: StoredHead) -> bool:
        """See `ThreadStore.forget`: one script."""
        return bool(await self._run(self._forget, address, known.tag))

    async def watch(self, address: Address, after: int, seconds: float) -> bool:
        """See `ThreadStore.watch`: the server answers with the append."""
        return await self._watches.more(self._keys(address)[1], after, seconds)

    async def close(self) -> None:
        """See `ThreadStore.close`."""
        await self._watches.close()
        if self._under_way:
            await asyncio.wait(self._under_way)
        await self._redis.aclose()

    def _keys(self, address: Address) -> list[str]:
        return [f"{{{self._hub}/{address.key}}}:{name}" for name in scripts.KEYS]

    async def _run(self, script: Any, address: Address, *arguments: str | bytes | float) -> Any:
        return await self._reached(script(self._keys(address), arguments))

    async def _reached(self, work: Awaitable[T]) -> T:
        call = asyncio.ensure_future(work)
        self._under_way.add(call)
        call.add_done_callback(self._under_way.discard)
        try:
            done = await asyncio.wait_for(call, self._patience_seconds)
        except (RedisError, OSError, asyncio.TimeoutError) as error:
            self._outage.began(error)
            raise LogUnavailableError.unreached() from error
        self._outage.ended()
        return done


def _head(fields: list[bytes | None]) -> StoredHead | None:
    append_id, position, payload = fields
    if append_id is None or position is None or payload is None:
        return None
    return StoredHead(int(position), append_id.decode(), payload, tag=append_id.decode())
