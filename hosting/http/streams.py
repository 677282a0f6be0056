"""Answers that are streams: a run's events as they come, as an event stream or by the Durable Streams protocol.

Theory. Frames are a fold of what follows the run (streaming.md). The id of a logged event is its position in
the thread's log; that of a delta which is sent before it is logged is the newest position before it, a dot and its
number after it. So a reader that comes back with the last id it has seen gets everything that was logged after that
position: its events, and its deltas again, which it puts where their `offset` says. Events that are none of a caller's
business have no frame and leave a gap in the ids.

The read half of the Durable Streams protocol, in JSON mode, has the same frames as messages, those of logged events
alone: an offset is the position of an event in the log, and the run's end closes the stream. So what stands after an
offset never changes, and every offset stays good for as long as the run is kept. Answers are a person's conversation:
nobody on the way may keep them, so a cursor has nothing to do here but to grow (durable-streams PROTOCOL.md 1.0,
sections 5.5 to 5.8 and 10).
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from msgspec import Struct

from hosting.core.broadcast import DeltaText, News, UnderWay
from hosting.core.following import Following
from hosting.core.outcome import (
    approval_fields,
    completed_fields,
    ids,
    labelled_ids,
    open_status,
    outcome_fields,
    problem,
    run_error,
)
from hosting.core.thread import events
from hosting.core.thread.run import Ended, Run
from hosting.core.thread.run_request import Superstep, messages_text
from hosting.core.transcript import CalledTools
from hosting.errors import HostingError, InternalError, ThreadDeletedError
from hosting.http.parameters import StreamQuery, offset_of
from hosting.http.replies import Reply, Streamed, run_headers, run_url
from hosting.http.timeline import CUT_OFF, executor_fields
from hosting.names import is_step_key
from hosting.ports import Clock, EntityClient, iso

logger = logging.getLogger(__name__)

_UNBUFFERED = {"x-accel-buffering": "no"}
"""Nothing between us and the reader may hold frames back: nginx's header for it."""

_CURSOR_SECONDS = 20
_CURSOR_EPOCH = 1_728_432_000
"""2024-10-09T00:00:00Z, the protocol's."""

_READ_HEADERS = {
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "cross-origin",
    "access-control-expose-headers": "etag, stream-next-offset, stream-cursor, stream-up-to-date, stream-closed",
}
"""The last is for browsers of another origin, which the host's CORS lets in: without it they see none of these."""


class Frame(Struct, frozen=True):
    """One event of a stream. `id` is None for events that are not stored: a resumed stream sends them with the next."""

    id: str | None
    event: str
    fields: Mapping[str, Any]

    def encode(self) -> bytes:
        """Return the frame in the event stream format: JSON has no line breaks of its own."""
        head = "" if self.id is None else f"id: {self.id}\n"
        return f"{head}event: {self.event}\ndata: {json.dumps(self.fields, ensure_ascii=False)}\n\n".encode()


class Frames:
    """Folds the updates of one run into the frames after position `after`."""

    def __init__(self, run: Run, after: int, clock: Clock, *, names_causes: bool = False) -> None:
        """`names_causes`: the reader is the app's developer, and gets the tools' exceptions."""
        self._run = run.begun
        self._after = after
        self._clock = clock
        self._position = 0
        self._number = 0
        self._calls = CalledTools(names_causes=names_causes)
        self._sent: set[tuple[tuple[str, float, int], str]] = set()

    @property
    def position(self) -> int:
        """The position of the last event of the run itself that was folded."""
        return self._run.streamed_through

    @property
    def has_ended(self) -> bool:
        """Whether the last event was folded."""
        return isinstance(self._run.state, Ended)

    def next(self, update: News) -> list[Frame]:
        """Fold an update; return its frame, if any, after the frames of its requests or of failed executors."""
        if isinstance(update, UnderWay):
            return self._executors(update.superstep)
        if isinstance(update, DeltaText):
            if update.after < self._after:
                return []
            self._number = self._number + 1 if update.after == self._position else 1
            self._position = update.after
            delta = {"text": update.text, "offset": update.offset, "at": iso(self._clock())}
            return [Frame(f"{self._position}.{self._number}", "delta", delta)]
        position, event = update.position, update.event
        self._run = self._run.after(position, event)
        named = self._named_fields(event, self._run)
        if named is None or position <= self._after:
            return []
        at = iso(event.at)
        approvals = approval_fields(self._run, event.approvals) if isinstance(event, events.Completed) else []
        before = [Frame(None, "approval_requested", {**approval, "at": at}) for approval in approvals]
        if isinstance(event, events.NoAnswer) and event.under_way is not None:
            before = self._executors(event.under_way)
        elif isinstance(event, events.Checkpointed):
            before = self._executors(Superstep(number=event.superstep, calls=event.calls))
        name, fields = named
        return [*before, Frame(str(position), name, {**fields, "at": at})]

    def _executors(self, under_way: Superstep) -> list[Frame]:
        """Return the news of the executors in the current superstep."""
        frames, same = [], Counter[tuple[str, float]]()
        for call in under_way.calls:  # a step of a functional workflow may go on in the next superstep
            place = (call.executor, call.began_at, same[call.executor, call.began_at])
            same[call.executor, call.began_at] += 1
            fields = {"executor": call.executor, "superstep": under_way.number}
            begun = {**fields, "at": iso(call.began_at)}
            ended = {**fields, "yielded": call.yielded, "asked": call.asked, "at": iso(call.ended_at)}
            now = [("executor_invoked", begun)]
            if call.ended_at:
                now.append(("executor_failed" if call.failed else "executor_completed", ended))
            frames += [Frame(None, name, sent) for name, sent in now if (place, name) not in self._sent]
            self._sent |= {(place, name) for name, _ in now}
        return frames

    def _named_fields(self, event: events.Event, run: Run) -> tuple[str, Mapping[str, Any]] | None:
        """Return the name and the fields of an event's frame, None for an event without a frame."""
        match event:
            case events.Accepted():
                return "accepted", {"status": "accepted", **labelled_ids(run.accepted)}
            case events.Claimed():
                self._sent = set()
                return "restarted" if event.attempt > 1 else "started", {"attempt": event.attempt}
            case events.Delta() | events.Thought():
                name = "delta" if isinstance(event, events.Delta) else "reasoning"
                return name, {"text": event.text, "offset": event.offset}
            case events.ModelResult():
                self._calls.asked(event)
            case events.ToolStarted() if not is_step_key(event.key):
                call = self._calls.of(event)
                return "tool_call", {"id": call.key, "tool": call.tool, "arguments": call.arguments}
            case events.ToolResult() if not is_step_key(event.key):
                call = self._calls.of(event)
                code = {"code": CUT_OFF} if event.interrupted else {}
                return "tool_result", {"id": call.key, "tool": call.tool or None, **call.outcome, **code}
            case events.Checkpointed() if event.calls:
                calls = [{"executor": call.executor, **executor_fields(call)} for call in event.calls]
                return "superstep", {"superstep": event.superstep, "executors": calls}
            case events.Completed():
                return "completed", completed_fields(run, event)
            case events.Joined():
                if event.run_id != run.run_id:
                    return "message_joined", {"run_id": event.run_id, "message": messages_text(event.messages)}
                return "joined", outcome_fields(run, event)
            case events.Cancelled():
                return "cancelled", problem(run_error(event), ids(run.accepted))
            case events.Failed() | events.TimedOut():
                return "failed", problem(run_error(event), ids(run.accepted))
        return _standing_fields(event, run)


def _standing_fields(event: events.Event, run: Run) -> tuple[str, Mapping[str, Any]] | None:
    """Return the same of an event that says how far the run is, or whether it goes on."""
    if isinstance(event, events.Progressed):
        return "progress", {"share": event.share, "text": event.text}
    if isinstance(event, events.Paused) or (isinstance(event, events.Released) and run.paused):
        return "paused", {"status": open_status(run)}
    return ("resumed", {"status": open_status(run)}) if isinstance(event, events.Resumed) else None


def broken(error: HostingError, run: Run, at: float) -> Frame:
    """Return the frame that ends a stream which cannot continue, for the reason of `error`.

    A deleted thread took the run with it; of every other reason the run knows nothing.
    """
    fields = {**problem(error, ids(run.accepted)), "at": iso(at)}
    if isinstance(error, ThreadDeletedError):
        return Frame(None, "cancelled", fields)
    return Frame(None, "unavailable" if error.status == 503 else "failed", fields)


class FrameBatch(Struct, frozen=True):
    """Frames that came together, up to `position`; none of them where the events have none, or nothing came."""

    frames: tuple[Frame, ...]
    position: int
    is_quiet: bool
    is_last: bool

    @property
    def messages(self) -> str:
        """The frames as a JSON list of messages."""
        messages = [{"id": frame.id, "event": frame.event, "data": frame.fields} for frame in self.frames]
        return json.dumps(messages, ensure_ascii=False)


class Streams:
    """Makes the streams of an app's runs, and answers reads of them by the Durable Streams protocol."""

    def __init__(self, following: Following, clock: Clock = time.time, *, names_causes: bool = False) -> None:
        self._names_causes = names_causes
        self._following = following
        self._clock = clock

    def reply(self, run: Run, client: EntityClient, thread_url: str, after: int = 0) -> Streamed:
        """Return the run's events after position `after` as an event stream, deltas as they come, up to its end."""
        location = {"content-location": f"{run_url(run.run_id, thread_url)}/events"}
        return Streamed(
            self._frames(run, self._batches(run, client, after)), {**run_headers(run), **_UNBUFFERED, **location}
        )

    async def frames(self, run: Run, client: EntityClient) -> AsyncGenerator[Frame, None]:
        """Yield the run's frames, deltas as they come, up to its end; raises as `Following.follow` does."""
        async with aclosing(self._batches(run, client, 0)) as batches:
            async for batch in batches:
                for frame in batch.frames:
                    yield frame

    def tail(self, run: Run) -> Reply:
        """Return where the stream ends and whether it is closed, without events."""
        at_end = _position_headers(run.streamed_through, is_closed=isinstance(run.state, Ended))
        return Reply(200, "", "application/json", {**run_headers(run), **_READ_HEADERS, **at_end})

    async def read(self, run: Run, client: EntityClient, query: StreamQuery, known_tags: str) -> Reply | Streamed:
        """Return the events that a query wants, at once, or once there are some, or as they come.

        304 where `known_tags` (If-None-Match) say that the reader has them; 204 for a wait that brought none. Raises
        `ThreadDeletedError` and `LogUnavailableError`.
        """
        after = run.streamed_through if query.after is None else query.after
        interval = int(self._clock() - _CURSOR_EPOCH) // _CURSOR_SECONDS
        cursor = str(max(interval, query.cursor + 1))
        headers = {**run_headers(run), **_READ_HEADERS}
        if query.live == "sse":
            live = {"cache-control": "no-cache, no-store", **_UNBUFFERED}
            batches = self._batches(run, client, after, logged_only=True)
            return Streamed(self._protocol_events(run, batches, cursor), {**headers, **live})
        tag = _tag(run, after, run.streamed_through)
        if query.live is None and query.after is not None and tag in known_tags:
            return Reply(304, "", None, {**headers, "etag": tag})
        batch = await _next_batch(self._batches(run, client, after, logged_only=True), waits=query.live is not None)
        headers |= _position_headers(batch.position, is_closed=batch.is_last)
        if query.live is not None and not batch.is_last:
            headers["stream-cursor"] = cursor
        if query.live is not None and not batch.frames:
            return Reply(204, "", None, headers)
        if query.after is not None:
            headers["etag"] = _tag(run, after, batch.position)
        return Reply(200, batch.messages, "application/json", headers)

    async def _batches(
        self, run: Run, client: EntityClient, after: int, *, logged_only: bool = False
    ) -> AsyncGenerator[FrameBatch, None]:
        """Yield the run's frames after position `after`; see `Following.follow`. The first batch comes at once.

        What is before is folded and not sent. The follower is let go when the generator is closed.
        """
        frames = Frames(run, after, self._clock, names_causes=self._names_causes)
        following = self._following.follow(run, client, logged_only=logged_only, with_executors=True)
        async with aclosing(following) as update_lists:
            async for updates in update_lists:
                new = tuple(frame for one in updates for frame in frames.next(one))
                yield FrameBatch(new, max(after, frames.position), not updates, frames.has_ended)

    async def _frames(self, run: Run, batches: AsyncGenerator[FrameBatch, None]) -> AsyncGenerator[bytes, None]:
        try:
            async with aclosing(batches):
                async for batch in batches:
                    if batch.frames:
                        yield b"".join(frame.encode() for frame in batch.frames)
        except HostingError as error:
            yield broken(error, run, self._clock()).encode()
        except Exception:
            logger.exception("The stream of run %s failed.", run.run_id)
            defect = InternalError("The stream broke off. The app's log has the cause. Resume it.")
            yield broken(defect, run, self._clock()).encode()

    async def _protocol_events(
        self, run: Run, batches: AsyncGenerator[FrameBatch, None], cursor: str
    ) -> AsyncGenerator[bytes, None]:
        """Yield messages and, after each batch of them, the reader's new offset; the first offset comes at once.

        A stream that breaks off just ends: the reader comes back with its offset, and that read says why.
        """
        is_first = True
        try:
            async with aclosing(batches):
                async for batch in batches:
                    if batch.frames or is_first or batch.is_last:
                        control: dict[str, Any] = {"streamNextOffset": offset_of(batch.position), "upToDate": True}
                        control |= {"streamClosed": True} if batch.is_last else {"streamCursor": cursor}
                        # One piece, and no blanks after `data:`, as the protocol's own suite reads it.
                        messages = f"event: data\ndata:{batch.messages}\n\n" if batch.frames else ""
                        yield f"{messages}event: control\ndata:{json.dumps(control)}\n\n".encode()
                    is_first = False
        except HostingError as error:
            logger.warning("A stream of run %s broke off: %s", run.run_id, error.detail)
        except Exception:
            logger.exception("A stream of run %s failed.", run.run_id)


async def _next_batch(batches: AsyncGenerator[FrameBatch, None], *, waits: bool) -> FrameBatch:
    """Return the available events; if there are none and the reader `waits`, those before the first silence."""
    async with aclosing(batches):
        async for batch in batches:
            if batch.frames or batch.is_last or batch.is_quiet or not waits:
                return batch
    raise AssertionError("A run's batches end with its last one.")


def _position_headers(position: int, *, is_closed: bool) -> dict[str, str]:
    """Return the headers that say where the reader stands: there is never more after an answer than it has."""
    closed = {"stream-closed": "true"} if is_closed else {}
    return {"stream-next-offset": offset_of(position), "stream-up-to-date": "true", **closed}


def _tag(run: Run, after: int, position: int) -> str:
    """Return the tag of the events from `after` to `position`; the event that closes a stream changes it, too."""
    return f'"{run.run_id}:{after}:{max(after, position)}"'
