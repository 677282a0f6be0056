"""The threads' logs in Redis or Valkey (6.2 and later), for any number of processes.

Theory. The server runs one script at a time, so each step that must be atomic is one Lua script and one
round trip. A thread's events are a stream with their positions as entry ids, so another program follows a thread with
plain XREAD, and so does a watch. Keys begin with the hub, and those of one thread are in one hash slot of a cluster:
`{<hub>/<address key>}:head`, `:events`, `:rows`, `:row-positions`. All threads of a person
with an agent are in one slot: `{<hub>/<agent>.<owner>}~<thread id>:head` and so on, next to
`{<hub>/<agent>.<owner>}:threads` with their ids. `{<hub>/}:agents` has the agents of which anything is, or was, stored.

What the server's configuration decides, and this module cannot promise:
- Written data survives the server's own end as `appendonly` and `appendfsync` say (`always` before the answer,
  `everysec` but for the last second); after a failover, as far as the replica had come.
- Erased data is gone from memory at once. It is in the append-only file until that is rewritten, in a snapshot
  until the next one is saved, and in copies that others made.
- `maxmemory-policy` must be `noeviction`: a server that evicts keys takes parts of threads, and reports nothing.

Theory of watches. A wait that blocks takes a connection for as long as it lasts. So callers that wait for the same
thread after the same position share one wait, and the number of waits is bounded: above it callers poll in their own
time. No caller cancels a wait that others may have joined: the server ends it, and a caller that waits longer blocks
anew.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable
from typing import Any, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace
from redis import Redis as SyncRedis
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from hosting.core.stores.connection import Outage, cause_of
from hosting.core.stores.contract import (
    MOST_POSITION,
    Append,
    Appended,
    AppendOutcome,
    Conflict,
    Processes,
    Row,
    StoredEvent,
    StoredHead,
    Unknown,
)
from hosting.errors import ConfigurationError, LogUnavailableError
from hosting.names import APP, Address, agent_of_key, key_prefix

PATIENCE_SECONDS = 5.0
"""How long a call may take before the server counts as away."""

MOST_CONNECTIONS = 16
_PROBE_SECONDS = 2.0


def connection_pool(url: str, patience_seconds: float, most: int = MOST_CONNECTIONS) -> BlockingConnectionPool:
    """Return a pool in which a burst waits for a connection; the client's own refuses a connection above its number.

    A command is sent once more after its connection was lost. The caller chooses how long an answer may take: a command
    that waits on the server must be let wait. Raises `ValueError` for an address that is none.
    """
    return BlockingConnectionPool.from_url(
        url,
        max_connections=most,
        timeout=patience_seconds,
        socket_connect_timeout=patience_seconds,
        socket_timeout=None,
        retry=Retry(NoBackoff(), 1),
    )


def refuse_unreached(url: str, setting: str) -> None:
    """Raise `ConfigurationError` when no server answers at `url`, which `setting` named, or it refuses us."""
    server = SyncRedis.from_url(url, socket_connect_timeout=_PROBE_SECONDS, socket_timeout=_PROBE_SECONDS)
    try:
        server.ping()
    except (RedisError, OSError) as error:
        raise ConfigurationError(
            f"{setting} is {shown(url)}, which cannot be used: {cause_of(error)} Start a server there, or leave "
            f"{setting} out."
        ) from None
    finally:
        server.close()


def shown(url: str) -> str:
    """Return the address without the user and the password in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


KEYS = ("head", "events", "rows", "row-positions")
"""The keys of a thread, which each script is given in this order: `head` a hash of `append`, `position` and `payload`;
`events` a stream: its entry `<position>-0` has `append` and `payload`; `rows` a hash of `<position> <payload>` by
name; `row-positions` the same names ordered by position, so that a trim reads nothing but what it removes.

A fifth key, `threads`, is given for a person's thread: a sorted set of that person's thread ids.

A script that fails has written nothing: what can refuse it (memory that is full, a replica, a lower position) refuses
its first write.
"""

MOST_ROWS_AT_ONCE = 1000

APPEND = """
local head, events, rows, row_positions = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local known, id, first, count, payload = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local stands = redis.call('HMGET', head, 'append', 'position', 'payload')
if stands[1] == id then return 1 end
if (stands[1] or '') ~= known then
  local there = redis.call('XRANGE', events, first .. '-0', first .. '-0')[1]
  if count > 0 and there and there[2][2] == id then return 1 end
  return stands
end
for at = 7 + count, #ARGV, 4 do
  if ARGV[at + 2] == '1' and redis.call('HEXISTS', rows, ARGV[at]) == 1 then return stands end
end
for n = 1, count do
  redis.call('XADD', events, (first + n - 1) .. '-0', 'append', id, 'payload', ARGV[6 + n])
end
for at = 7 + count, #ARGV, 4 do
  redis.call('HSET', rows, ARGV[at], ARGV[at + 1] .. ' ' .. ARGV[at + 3])
  redis.call('ZADD', row_positions, ARGV[at + 1], ARGV[at])
end
redis.call('HSET', head, 'append', id, 'position', first + count - 1, 'payload', payload)
if KEYS[5] and known == '' then redis.call('ZADD', KEYS[5], 0, ARGV[6]) end
return 1
"""
"""tag of the known head or '', append id, first position, how many events, head, thread id, events..., and of each row
its name, position, '1' if it must be new, payload -> 1 when it stands there, or append id, position and payload
of the head."""

TRIM = """
local names = redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', ARGV[2], 'LIMIT', 0, ARGV[3])
if #names > 0 then
  redis.call('HDEL', KEYS[3], unpack(names))
  redis.call('ZREM', KEYS[4], unpack(names))
end
if #names < tonumber(ARGV[3]) then
  redis.call('XTRIM', KEYS[2], 'MINID', (tonumber(ARGV[1]) + 1) .. '-0')
end
return #names
"""
"""last position of events, last position of rows, most rows -> how many rows were removed."""

ERASE = """
local events, rows, row_positions, through = KEYS[2], KEYS[3], KEYS[4], tonumber(ARGV[1])
redis.call('XTRIM', events, 'MINID', (through + 1) .. '-0')
local kept = redis.call('XRANGE', events, '-', '+')
if #kept > 0 then redis.call('DEL', events) end
for _, entry in ipairs(kept) do redis.call('XADD', events, entry[1], unpack(entry[2])) end
for _, name in ipairs(redis.call('ZRANGEBYSCORE', row_positions, '-inf', through)) do
  redis.call('HSET', rows, name, redis.call('ZSCORE', row_positions, name) .. ' ')
end
"""
"""last position -> nothing.

What stays is written anew: entries share blocks of memory, in which a removed one stands on, and is saved with them,
until the whole block goes.
"""

FORGET = """
if redis.call('HGET', KEYS[1], 'append') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
if KEYS[5] then redis.call('ZREM', KEYS[5], ARGV[2]) end
return 1
"""
"""tag of the known head, thread id -> 1 when it was the thread's."""


MOST_WATCHED = 100
_MOST_BLOCKED_SECONDS = 10.0
"""After this a wait is begun anew, so that a server that vanished without a word is noticed."""


class _Wait(Struct, frozen=True):
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
        """Return True as soon as the stream has an entry after `after`.

        False after so many seconds, and at once where too many streams are watched or all waits are closed. Raises
        `LogUnavailableError` when the server is away.
        """
        now = asyncio.get_running_loop().time
        until = now() + seconds
        while True:
            wait = self._waits.get((stream, after))
            if wait is None or wait.task.done():
                if len(self._waits) >= self._most:
                    return False
                ends = min(until, now() + _MOST_BLOCKED_SECONDS)
                wait = _Wait(ends, asyncio.ensure_future(self._has_newer(stream, after, ends - now())))
                self._waits[stream, after] = wait
            await asyncio.wait([wait.task], timeout=until - now() if wait.ends > until else None)
            if not wait.task.done() or wait.task.cancelled():
                return False
            is_more = wait.task.result()
            if is_more is None:
                raise LogUnavailableError()
            if is_more or now() >= until:
                return is_more

    async def close(self) -> None:
        """End all waits and their connections; a later wait opens new ones."""
        tasks = [wait.task for wait in self._waits.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._redis.aclose()

    async def _has_newer(self, stream: str, after: int, seconds: float) -> bool | None:
        calling = self._redis.xread({stream: f"{after}-0"}, count=1, block=max(math.ceil(seconds * 1000), 1))
        try:
            with self._outage.guarded():
                return bool(await asyncio.wait_for(calling, seconds + self._patience_seconds))
        except LogUnavailableError:
            return None
        finally:
            del self._waits[stream, after]


T = TypeVar("T")
_DONE = 1
_PAGE = 200


class RedisThreadStore:
    """A `ThreadStore` in the server at `url` (redis:// or rediss://), connected at the first use, on one event loop.

    A step is sent once more where its connection was lost, which every script bears: an append done twice is known as
    done. Without an answer after `patience_seconds` the server counts as away. A head is compared by the id of its
    append. `most_watched` is how many threads may be watched at once; a watch above it returns False at once.
    """

    batch_seconds = 0.035
    processes = Processes()

    def __init__(
        self, url: str, hub: str, patience_seconds: float = PATIENCE_SECONDS, most_watched: int = MOST_WATCHED
    ) -> None:
        self._hub = hub
        self._patience_seconds = patience_seconds
        log = f"The threads' log in {shown(url)}"
        self._outage = Outage(log, LogUnavailableError, RedisError, OSError)
        self._redis: Any = Redis.from_pool(connection_pool(url, patience_seconds))
        self._watches = RedisWatches(url, patience_seconds, self._outage, most_watched)
        self._agents = f"{{{hub}/}}:agents"
        self._under_way: set[asyncio.Future[Any]] = set()
        self._append = self._redis.register_script(APPEND)
        self._trim = self._redis.register_script(TRIM)
        self._erase = self._redis.register_script(ERASE)
        self._forget = self._redis.register_script(FORGET)

    async def append(self, address: Address, base: StoredHead | None, append: Append) -> AppendOutcome:
        """One script; before the first one of a thread, another round trip."""
        first, head = append.first_position(base), append.head
        arguments: list[str | bytes | float] = [base.tag if base else "", head.append_id, first, len(append.events)]
        arguments += [head.payload, _listed(address), *append.events]
        for row in append.rows:
            arguments += [row.name, row.position, int(row.is_new), row.payload]
        try:
            if base is None:  # first, so that nothing is stored of an unlisted agent
                await self._reached(self._redis.zadd(self._agents, {agent_of_key(address.agent): 0}))
            answer = await self._run(self._append, address, *arguments)
        except LogUnavailableError:
            return Unknown()
        return Appended(replace(head, tag=head.append_id)) if answer == _DONE else Conflict(_head(answer))

    async def head(self, address: Address) -> StoredHead | None:
        """One round trip."""
        key = self._keys(address)[0]
        return _head(await self._reached(self._redis.hmget(key, "append", "position", "payload")))

    async def heads(self, agent: str, owner: str, after: str, limit: int) -> list[tuple[str, StoredHead]]:
        """Two round trips."""
        slot = self._slot(agent, owner)
        least = f"({after}" if after else "-"
        ids = [
            thread_id.decode()
            for thread_id in await self._reached(
                self._redis.zrange(f"{slot}:threads", least, "+", bylex=True, offset=0, num=limit)
            )
        ]
        pipeline = self._redis.pipeline(transaction=False)
        for thread_id in ids:
            pipeline.hmget(f"{slot}~{thread_id}:head", "append", "position", "payload")
        heads = [_head(fields) for fields in await self._reached(pipeline.execute())] if ids else []
        return [(thread_id, head) for thread_id, head in zip(ids, heads, strict=True) if head is not None]

    async def agents(self) -> list[str]:
        """One round trip."""
        return [name.decode() for name in await self._reached(self._redis.zrange(self._agents, 0, -1))]

    async def events(self, address: Address, after: int, through: int = MOST_POSITION) -> list[StoredEvent]:
        """A round trip for each page.

        Where a trim took what stands between two pages, it took all before it too.
        """
        key = self._keys(address)[1]
        events: list[StoredEvent] = []
        while True:
            page = await self._reached(self._redis.xrange(key, f"{after + 1}-0", f"{through}-0", count=_PAGE))
            batch = [StoredEvent(int(entry.partition(b"-")[0]), fields[b"payload"]) for entry, fields in page]
            if batch and batch[0].position != after + 1:
                events = []
            events += batch
            if len(batch) < _PAGE:
                return events
            after = batch[-1].position

    async def row(self, address: Address, name: str) -> Row | None:
        """One round trip."""
        value = await self._reached(self._redis.hget(self._keys(address)[2], name))
        if value is None:
            return None
        position, _, payload = value.partition(b" ")
        return Row(name, int(position), payload)

    async def trim(self, address: Address, before: int, rows_before: int) -> None:
        """A script for each thousand rows. Removed data may share memory with the rest."""
        most = MOST_ROWS_AT_ONCE
        while await self._run(self._trim, address, before, rows_before, most) == most:
            pass

    async def erase(self, address: Address, through: int) -> None:
        """One script, which writes the remaining data anew."""
        await self._run(self._erase, address, through)

    async def forget(self, address: Address, base: StoredHead) -> bool:
        """One script."""
        return bool(await self._run(self._forget, address, base.tag, _listed(address)))

    async def scrub(self) -> None:
        """Replaced data cannot be read from the server; its append-only file is the operator's (data.md)."""

    async def watch(self, address: Address, after: int, seconds: float) -> bool:
        """The server answers with the append."""
        return await self._watches.more(self._keys(address)[1], after, seconds)

    async def close(self) -> None:
        await self._watches.close()
        if self._under_way:
            await asyncio.wait(self._under_way)
        await self._redis.aclose()

    def _keys(self, address: Address) -> list[str]:
        if address.owner == APP:
            return [f"{{{self._hub}/{address.key}}}:{name}" for name in KEYS]
        slot = self._slot(address.agent, address.owner)
        return [*(f"{slot}~{address.thread_id}:{name}" for name in KEYS), f"{slot}:threads"]

    def _slot(self, agent: str, owner: str) -> str:
        return f"{{{self._hub}/{key_prefix(agent, owner).removesuffix('~')}}}"

    async def _run(self, script: Any, address: Address, *arguments: str | bytes | float) -> Any:
        return await self._reached(script(self._keys(address), arguments))

    async def _reached(self, work: Awaitable[T]) -> T:
        call = asyncio.ensure_future(work)
        self._under_way.add(call)
        call.add_done_callback(self._under_way.discard)
        with self._outage.guarded():
            return await asyncio.wait_for(call, self._patience_seconds)


def _listed(address: Address) -> str:
    """Return the list of a person's threads; the app's own are in no list, because their ids may hold anything."""
    return "" if address.owner == APP else address.thread_id


def _head(fields: list[bytes | None]) -> StoredHead | None:
    append_id, position, payload = fields
    if append_id is None or position is None or payload is None:
        return None
    return StoredHead(int(position), append_id.decode(), payload, tag=append_id.decode())
