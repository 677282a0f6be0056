"""A run's events by the read half of the Durable Streams protocol in JSON mode: each event is one message.

Theory. The stream is the run's log, an offset the position of an event in it, and the terminal event closes it; so what
stands behind an offset never changes, and every offset stays good for as long as the run is kept. Events without a
frame have no message, and offsets pass over them. Answers are a person's conversation: nobody on the way may keep them,
so a cursor has nothing to do here but to grow. Source: durable-streams PROTOCOL.md 1.0, sections 5.5 to 5.8 and 10.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from hosting.errors import HostingError
from hosting.ports import Clock, EntityClient
from hosting.reply.frames import PING, Frame
from hosting.reply.run_replies import Reply, Streamed, run_headers
from hosting.request.stream_query import StreamQuery, offset_of
from hosting.run.following import Batch, Following
from hosting.run_record import RunRecord

logger = logging.getLogger(__name__)

_CURSOR_SECONDS = 20
_CURSOR_EPOCH = 1_728_432_000
"""2024-10-09T00:00:00Z, the protocol's."""

_TOLD = ("etag", "stream-next-offset", "stream-cursor", "stream-up-to-date", "stream-closed")
_HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "cross-origin",
    "access-control-expose-headers": ", ".join(_TOLD),
}
"""The last is for browsers of another origin, which the host's CORS lets in: without it they see none of these."""


class StreamReads:
    """Answers reads of an app's runs."""

    def __init__(self, following: Following, clock: Clock) -> None:
        self._following = following
        self._clock = clock

    def tail(self, record: RunRecord) -> Reply:
        """Return where the stream ends and whether it is closed, without events."""
        at_end = _place(record.told, record.terminal is not None)
        return Reply(200, "", "application/json", {**run_headers(record), **_HEADERS, **at_end})

    async def reply(
        self, record: RunRecord, client: EntityClient, asked: StreamQuery, known_tags: str
    ) -> Reply | Streamed:
        """Return the events that were asked for, at once, or once there are some, or as they come.

        304 where `known_tags` (If-None-Match) say that the reader has them; 204 for a wait that brought none. Raises
        `ThreadDeletedError` and `LogUnavailableError`.
        """
        after = record.told if asked.after is None else asked.after
        cursor = self._cursor(asked.cursor)
        headers = {**run_headers(record), **_HEADERS}
        if asked.live == "sse":
            live = {"cache-control": "no-cache, no-store", "x-accel-buffering": "no"}
            return Streamed(self._events(record, client, after, cursor), {**headers, **live})
        tag = _tag(record, after, record.told)
        if asked.live is None and asked.after is not None and tag in known_tags:
            return Reply(304, "", None, {**headers, "etag": tag})
        batch = await self._batch(record, client, after, waits=asked.live is not None)
        headers |= _place(batch.position, batch.is_last)
        if asked.live is not None and not batch.is_last:
            headers["stream-cursor"] = cursor
        if asked.live is not None and not batch.frames:
            return Reply(204, "", None, headers)
        if asked.after is not None:
            headers["etag"] = _tag(record, after, batch.position)
        return Reply(200, _messages(batch), "application/json", headers)

    async def _batch(self, record: RunRecord, client: EntityClient, after: int, *, waits: bool) -> Batch:
        """Return what is there; when that is nothing and the reader `waits`, what comes before the first silence."""
        async with aclosing(self._following.batches(record, client, after)) as batches:
            async for batch in batches:
                if batch.frames or batch.is_last or batch.is_silence or not waits:
                    return batch
        raise AssertionError("A run's batches end with its last one.")

    async def _events(
        self, record: RunRecord, client: EntityClient, after: int, cursor: str
    ) -> AsyncGenerator[bytes, None]:
        """Yield messages and, behind each batch of them, where the reader stands; the first place at once.

        A stream that breaks off just ends: the reader asks again from where it stands, and is told why.
        """
        is_first = True
        try:
            async for batch in self._following.batches(record, client, after):
                if batch.frames or is_first or batch.is_last:
                    yield _event_frames(batch, cursor)
                elif batch.is_silence:
                    yield PING
                is_first = False
        except HostingError as error:
            logger.warning("A stream of run %s breaks off: %s", record.run_id, error.detail)
        except Exception:
            logger.exception("A stream of run %s failed.", record.run_id)

    def _cursor(self, given: int) -> str:
        interval = int(self._clock() - _CURSOR_EPOCH) // _CURSOR_SECONDS
        return str(max(interval, given + 1))


def _place(position: int, is_closed: bool) -> dict[str, str]:
    """Return the headers that say where the reader stands: there is never more behind an answer than it told."""
    closed = {"stream-closed": "true"} if is_closed else {}
    return {"stream-next-offset": offset_of(position), "stream-up-to-date": "true", **closed}


def _tag(record: RunRecord, after: int, position: int) -> str:
    """Return the tag of the events from `after` to `position`; the event that closes a stream changes it, too."""
    return f'"{record.run_id}:{after}:{max(after, position)}"'


def _messages(batch: Batch) -> str:
    return json.dumps([_message(frame) for frame in batch.frames], ensure_ascii=False)


def _message(frame: Frame) -> Mapping[str, Any]:
    return {"id": frame.id, "event": frame.event, "data": frame.fields}


def _event_frames(batch: Batch, cursor: str) -> bytes:
    """Return the batch and the reader's place in one piece; without blanks behind `data:`, as the suite reads it."""
    control: dict[str, Any] = {"streamNextOffset": offset_of(batch.position), "upToDate": True}
    control |= {"streamClosed": True} if batch.is_last else {"streamCursor": cursor}
    told = f"event: data\ndata:{_messages(batch)}\n\n" if batch.frames else ""
    return f"{told}event: control\ndata:{json.dumps(control)}\n\n".encode()
