"""What a route may answer: statuses, each with the type of its body and its headers (http-api.md sections 1 to 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Header:
    """A header of an answer; one that is not `always` there comes where the sentence says."""

    name: str
    says: str
    type: Literal["string", "integer"] = "string"
    always: bool = True


@dataclass(frozen=True)
class Answer:
    """One status of a route. Without a `body` there is none; with `or_text` it is text for those who prefer that, with
    `or_events` an event stream."""

    status: int
    says: str
    body: Any = None
    headers: tuple[Header, ...] = ()
    or_text: bool = False
    or_events: bool = False


THREAD_HEADERS = (Header("x-ms-thread-id", "The thread."), Header("x-ms-session-id", "The thread."))
RUN_HEADERS = (*THREAD_HEADERS, Header("x-ms-run-id", "The run."))
RETRY_AFTER = Header("Retry-After", "Seconds until it is worth asking again.", "integer")
PENDING_HEADERS = (Header("Location", "Where the run's end will be."), RETRY_AFTER)
PREFERENCE = Header("Preference-Applied", "What was taken of Prefer.", always=False)
START_HEADERS = (
    Header("Idempotency-Replayed", "true: the key had begun this run before.", always=False),
    PREFERENCE,
)
RESUMED_RUN = Header("x-ms-run-id", "The run that went on.", always=False)
STREAM_PLACE_HEADERS = (
    Header("Stream-Next-Offset", "Durable Streams: the offset behind the last event that was told.", always=False),
    Header("Stream-Up-To-Date", "Durable Streams: true, there is no more yet.", always=False),
    Header("Stream-Closed", "Durable Streams: true, the run has ended and there is no more.", always=False),
)
STREAM_READ_HEADERS = (
    *STREAM_PLACE_HEADERS,
    Header("Stream-Cursor", "Durable Streams: to be sent as `cursor` with the next wait.", always=False),
    Header("ETag", "Durable Streams: to be sent as If-None-Match with the same read.", always=False),
)
