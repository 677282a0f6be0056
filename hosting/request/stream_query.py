"""Which of a run's events a reader asks for in the terms of the Durable Streams protocol: `offset`, `live`, `cursor`.

An offset is the position of the last event that the reader has, with leading zeros, so that offsets sort as text.
Source: durable-streams PROTOCOL.md 1.0, sections 5.6 to 5.8, 8 and 10.1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from hosting.errors import InvalidFieldError
from hosting.parameters import Parameter
from hosting.request.pages import EVENTS_AFTER

Live = Literal["long-poll", "sse"]

BEGINNING = "-1"
NOW = "now"
_DIGITS = 9
_OFFSET = re.compile(rf"{BEGINNING}|{NOW}|[0-9]{{{_DIGITS}}}")
_CURSOR = re.compile("[0-9]{1,15}")

OFFSET = Parameter(
    "offset",
    "query",
    f"Durable Streams: the events behind this one, as JSON. '{BEGINNING}' for all, '{NOW}' for those to come.",
    {"type": "string", "pattern": f"^(?:{_OFFSET.pattern})$"},
)
LIVE = Parameter(
    "live",
    "query",
    "Durable Streams: wait for events behind `offset`, for some time or as long as they come.",
    {"type": "string", "enum": list(get_args(Live))},
)
STREAM_CURSOR = Parameter(
    "cursor",
    "query",
    "Durable Streams: Stream-Cursor of the answer before.",
    {"type": "string", "pattern": f"^{_CURSOR.pattern}$"},
)


@dataclass(frozen=True)
class StreamQuery:
    """Events behind position `after`, None for those to come; `cursor` is 0 when the reader has none."""

    after: int | None
    live: Live | None = None
    cursor: int = 0


def read_stream_query(query: Mapping[str, str]) -> StreamQuery | None:
    """Return what a query asks for, None when it does not speak the protocol; raises `InvalidFieldError`."""
    offset, live, cursor = query.get(OFFSET.name), query.get(LIVE.name), _cursor(query.get(STREAM_CURSOR.name))
    if offset is None and live is None:
        return None
    if EVENTS_AFTER.name in query:
        raise InvalidFieldError("The queries 'offset' and 'after' say the same in two ways. Send one of them.")
    return StreamQuery(_after(offset), _live(live), cursor)


def offset_of(position: int) -> str:
    """Return the offset behind the event at `position`."""
    return f"{position:0{_DIGITS}d}"


def _after(offset: str | None) -> int | None:
    if offset is None or not _OFFSET.fullmatch(offset):
        said = "is missing" if offset is None else f"is {offset[:80]!r}"
        raise InvalidFieldError(
            f"The query 'offset' {said}. Send Stream-Next-Offset of the answer before, "
            f"'{BEGINNING}' for all events or '{NOW}' for those to come."
        )
    if offset == NOW:
        return None
    return 0 if offset == BEGINNING else int(offset)


def _live(live: str | None) -> Live | None:
    for known in get_args(Live):
        if live == known:
            return known  # type: ignore[no-any-return]
    if live is None:
        return None
    raise InvalidFieldError(f"The query 'live' is {live[:80]!r}. Send 'long-poll' or 'sse', or leave it out.")


def _cursor(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not _CURSOR.fullmatch(cursor):
        raise InvalidFieldError(f"The query 'cursor' is {cursor[:80]!r}. Send Stream-Cursor of the answer before.")
    return int(cursor)
