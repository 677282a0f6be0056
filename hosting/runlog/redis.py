"""The run log in Redis or Valkey (6.2 and later): a stream per run, for any number of processes.

Theory. Redis runs one script at a time, so each step that must be atomic is one script (`redis_scripts`) and one round
trip; what the port promises is exact here, the bound on a thread's open runs too. A stream's entry ids are the
positions, so another program follows a run with plain XREAD. How durable a write is, is the server's configuration
(appendonly, appendfsync), and so is how long its files remember what was deleted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Iterable
from typing import Any, TypeVar

from redis.asyncio import Redis
from redis.exceptions import RedisError

from hosting.errors import LogUnavailableError
from hosting.events import TERMINAL_KINDS, Accepted, CancelRequested, Event, Place, decode, encode
from hosting.ports import Deleting, Deletion, Erased, Found, Opened, Opening, QueueFull
from hosting.run_record import RunRecord, fold
from hosting.runlog import redis_scripts as scripts
from hosting.runlog.marks import decode_mark, encode_mark
from hosting.runlog.receipts import receipt_digest
from hosting.storage.outage import Outage
from hosting.storage.redis_server import PATIENCE_SECONDS, connection_pool, shown

T = TypeVar("T")
PREFIX = "{agents}:"
"""Begins every key; the braces keep them in one slot of a cluster, which scripts ask for."""


class RedisStore:
    """A `RunLogStore` in the server at `url` (redis:// or rediss://), connected at the first use.

    A step is repeated once where its connection was lost, which every script bears: an opening done twice is found, an
    append done twice is known as done. Without an answer after `patience_seconds` it is reported as unavailable.
    """

    batch_seconds = 0.1

    def __init__(self, url: str, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._patience_seconds = patience_seconds
        self._outage = Outage(f"The run log in {shown(url)}")
        self._redis: Any = Redis.from_pool(connection_pool(url, patience_seconds))

    async def open(self, accepted: Accepted, receipt: str | None = None, most_open: int | None = None) -> Opening:
        """See `RunLogStore.open`: one script."""
        key = receipt_digest(receipt) if receipt else ""
        most = -1 if most_open is None else most_open
        place = _key(accepted.place)
        answer = await self._run(scripts.OPEN, place, accepted.run_id, accepted.at, encode(accepted), key, most)
        return _opening(answer, accepted)

    async def append(self, run_id: str, *events: Event, after: int) -> bool:
        """See `RunLogStore.append`: one script."""
        ends = any(event.kind in TERMINAL_KINDS for event in events)
        cancels = any(isinstance(event, CancelRequested) for event in events)
        bodies = [encode(event) for event in events]
        return bool(await self._run(scripts.APPEND, run_id, after, int(ends), int(cancels), *bodies))

    async def read(self, run_id: str) -> RunRecord | Erased | None:
        """See `RunLogStore.read`: one round trip."""
        events = await self.events(run_id, 0)
        return events if isinstance(events, Erased) else fold(events or ())

    async def events(self, run_id: str, after: int) -> tuple[Event, ...] | Erased | None:
        """See `RunLogStore.events`: one round trip."""
        log = f"{PREFIX}run:{run_id}"
        async with self._redis.pipeline(transaction=True) as pipeline:
            pipeline.xrange(log, f"{after + 1}-0").exists(log).exists(f"{PREFIX}erased:{run_id}")
            entries, is_there, is_erased = await self._reached(pipeline.execute())
        if is_erased:
            return Erased(run_id)
        return _events(entries) if is_there else None

    async def cancel_requests(self, run_ids: Collection[str]) -> frozenset[str]:
        """See `RunLogStore.cancel_requests`: one round trip."""
        asked = list(run_ids)
        if not asked:
            return frozenset()
        answers = await self._reached(self._redis.smismember(f"{PREFIX}cancels", asked))
        return frozenset(run_id for run_id, is_member in zip(asked, answers, strict=True) if is_member)

    async def runs_of(self, place: Place, limit: int) -> list[RunRecord]:
        """See `RunLogStore.runs_of`: two round trips."""
        run_ids = await self._reached(self._redis.zrevrange(f"{PREFIX}runs:{_key(place)}", 0, limit - 1))
        async with self._redis.pipeline(transaction=False) as pipeline:
            for run_id in run_ids if limit else ():
                pipeline.xrange(f"{PREFIX}run:{run_id.decode()}")
            logs = await self._reached(pipeline.execute())
        return [record for record in map(_record, logs) if record is not None]

    async def mark_deleting(self, place: Place, deletion_id: str) -> Deletion:
        """See `RunLogStore.mark_deleting`: one script."""
        return decode_mark(await self._run(scripts.MARK, _key(place), encode_mark(Deletion(deletion_id))))

    async def deletion(self, place: Place) -> Deletion | None:
        """See `RunLogStore.deletion`."""
        mark = await self._reached(self._redis.get(f"{PREFIX}mark:{_key(place)}"))
        return None if mark is None else decode_mark(mark)

    async def erase(self, place: Place, deletion: Deletion, *, unless_open: bool = False) -> Deletion | None:
        """See `RunLogStore.erase`: one script. An append-only file forgets it with its next rewrite."""
        mark = await self._run(scripts.ERASE, _key(place), encode_mark(deletion), int(unless_open))
        return None if mark is None else decode_mark(mark)

    async def settle(self, place: Place, deletion: Deletion) -> None:
        """See `RunLogStore.settle`: one script."""
        await self._run(scripts.SETTLE, _key(place), deletion.id, encode_mark(deletion))

    async def expire(self, before: float, limit: int) -> int:
        """See `RunLogStore.expire`: a walk over the threads' keys, and a script for each that has old runs."""
        expired = 0
        cursor: int | None = None
        while cursor != 0 and expired < limit:
            cursor, keys = await self._reached(self._redis.scan(cursor or 0, match=f"{PREFIX}runs:*", count=1000))
            for key in keys:
                place = key.decode().removeprefix(f"{PREFIX}runs:")
                expired += await self._run(scripts.EXPIRE, place, before, limit - expired)
        return expired

    async def close(self) -> None:
        """See `RunLogStore.close`."""
        await self._redis.aclose()

    async def _run(self, script: str, *arguments: str | bytes | float) -> Any:
        return await self._reached(self._redis.eval(script, 1, PREFIX, *arguments))

    async def _reached(self, work: Awaitable[T]) -> T:
        try:
            done = await asyncio.wait_for(work, self._patience_seconds)
        except (RedisError, OSError, asyncio.TimeoutError) as error:
            self._outage.began(error)
            raise LogUnavailableError.unreached() from error
        self._outage.ended()
        return done


def _key(place: Place) -> str:
    return f"{place.agent}/{place.thread_id}"


def _opening(answer: list[Any], accepted: Accepted) -> Opening:
    outcome, *rest = answer
    if outcome == b"opened":
        return Opened(RunRecord(accepted=accepted, signalled_at=accepted.at))
    if outcome == b"erased":
        return Erased(rest[0].decode())
    if outcome == b"full":
        return QueueFull(rest[0])
    record = _record((name, {fields[0]: fields[1]}) for name, fields in rest[1]) if outcome == b"found" else None
    return Deleting() if record is None else Found(record)


def _record(entries: Iterable[tuple[Any, dict[bytes, bytes]]]) -> RunRecord | None:
    return fold(_events(entries))


def _events(entries: Iterable[tuple[Any, dict[bytes, bytes]]]) -> tuple[Event, ...]:
    return tuple(decode(fields[b"body"]) for _, fields in entries)
