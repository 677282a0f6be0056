"""The parameters of a request next to its body: which part of a list or of a stream it wants.

Each `Parameter` says once how a value is read and refused, and what the OpenAPI document says of it. Lists take
`limit`, `before`, `after`, `order` and `cursor`. A run's events are also read by the Durable
Streams protocol: `offset`, `live`, `cursor`. An offset is the position of the last event that the reader has, with
leading zeros, so that offsets sort as text (durable-streams PROTOCOL.md 1.0, sections 5.6 to 5.8, 8 and 10.1).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar, cast, get_args

from msgspec import Struct

from hosting.errors import HostingError, InvalidFieldError
from hosting.listing import Window
from hosting.names import APP, OWNER_LENGTH, id_pattern
from hosting.strict_json.parsing import Schema

Live = Literal["long-poll", "sse"]
T = TypeVar("T")


@dataclass(frozen=True)
class Parameter:
    """A named value in a request's path, query or headers; `schema` is its JSON Schema.

    `pattern` and `advice` are for those that `read` reads: what the whole text matches, and what to send instead.
    `refusals` are the errors of every route that has the parameter.
    """

    name: str
    location: Literal["path", "query", "header"]
    description: str
    schema: Schema = field(hash=False)
    pattern: re.Pattern[str] | None = None
    advice: str = ""
    refusals: tuple[type[HostingError], ...] = (InvalidFieldError,)

    def described(self) -> dict[str, Any]:
        """Return it as the OpenAPI document has it."""
        return {
            "name": self.name,
            "in": self.location,
            "description": self.description,
            "required": self.location == "path",
            "schema": dict(self.schema),
        }

    def read(self, source: Mapping[str, str]) -> str | None:
        """Return the text in the query or the headers, None when it is absent; raises `InvalidFieldError`."""
        text = source.get(self.name)
        if text is None or self.pattern is None or self.pattern.fullmatch(text):
            return text
        raise InvalidFieldError(f"The {self.location} {self.name!r} is {text[:80]!r}. Send {self.advice}")


DEFAULT_LIMIT = 50
MOST = 200
BEGINNING = "-1"
NOW = "now"
_LONGEST_CURSOR = 1024
_DIGITS = 9
_NUMBER = re.compile(f"[0-9]{{1,{_DIGITS}}}")
_EVENT_ID = rf"([0-9]{{1,{_DIGITS}}})(?:\.[0-9]{{1,{_DIGITS}}})?"
_ORDER = re.compile("asc|desc")
_LIVE = re.compile("|".join(get_args(Live)))

_POSITION: Schema = {"type": "integer", "minimum": 0, "maximum": 10**_DIGITS - 1}
_NUMBER_ADVICE = f"a whole number of at most {_DIGITS} digits."


def in_path(
    name: str, description: str, *refusals: type[HostingError], pattern: str | None = id_pattern()
) -> Parameter:
    """Return the parameter of a path for one of this library's ids, for another `pattern`, or for any text."""
    schema = {"type": "string"} if pattern is None else {"type": "string", "pattern": f"^{pattern}$"}
    return Parameter(name, "path", description, schema, refusals=refusals)


def text_in_query(name: str, description: str, pattern: str, advice: str) -> Parameter:
    """Return the parameter of a query for a text that matches a pattern; `advice` is what to send instead."""
    schema = {"type": "string", "pattern": f"^{pattern}$"}
    return Parameter(name, "query", description, schema, re.compile(pattern), advice)


def number_in_query(name: str, description: str, most: int, default: int) -> Parameter:
    """Return the parameter of a query for a whole number of 1 to `most`, which `read_number` reads."""
    schema = {"type": "integer", "minimum": 1, "maximum": most, "default": default}
    return Parameter(name, "query", description, schema, _NUMBER, _NUMBER_ADVICE)


def read_number(parameter: Parameter, query: Mapping[str, str]) -> int:
    """Return the number in a query, or its default; raises `InvalidFieldError` for one that is out of its range."""
    most, default = parameter.schema["maximum"], parameter.schema["default"]
    number = int(parameter.read(query) or default)
    if not 1 <= number <= most:
        raise InvalidFieldError(
            f"The query {parameter.name!r} is {number}. Send 1 to {most}, or leave it out for {default}."
        )
    return number


OWNER = text_in_query(
    "owner",
    "For administrators: the owner of the threads.",
    rf"[a-z0-9]{{{OWNER_LENGTH}}}|{APP}",
    "the 16 characters of an owner, or 'app'.",
)
LIMIT = number_in_query("limit", "The number of items.", MOST, DEFAULT_LIMIT)
ORDER = Parameter(
    "order",
    "query",
    "Oldest or newest first.",
    {"type": "string", "enum": ["asc", "desc"], "default": "asc"},
    _ORDER,
    "'asc' (oldest first) or 'desc'.",
)
AFTER = Parameter("after", "query", "Only entries after this position.", _POSITION, _NUMBER, _NUMBER_ADVICE)
BEFORE = Parameter("before", "query", "Only entries before this position.", _POSITION, _NUMBER, _NUMBER_ADVICE)
CURSOR = Parameter(
    "cursor",
    "query",
    "next_cursor of the last page; empty for the first page.",
    {"type": "string", "pattern": f"^[ -~]{{0,{_LONGEST_CURSOR}}}$"},
)
MODEL_CALL_ID = Parameter(
    "id", "query", "The id of a model call in the run's timeline.", {"type": "string"}, refusals=()
)
EVENTS_AFTER = text_in_query("after", "Only events after this id.", _EVENT_ID, "the id of an event, or 0 for all.")
LAST_EVENT_ID = replace(
    EVENTS_AFTER,
    name="last-event-id",
    location="header",
    description="Only events after this id. It wins over `after`.",
)
IF_NONE_MATCH = Parameter("if-none-match", "header", "ETag of an earlier answer to the same read.", {"type": "string"})
OFFSET = text_in_query(
    "offset",
    f"Durable Streams: the events after this offset, as JSON. '{BEGINNING}' for all, '{NOW}' for new ones only.",
    rf"(?:{BEGINNING}|{NOW}|[0-9]{{{_DIGITS}}})",
    f"Stream-Next-Offset of the last answer, '{BEGINNING}' for all events or '{NOW}' for new ones only.",
)
LIVE = Parameter(
    "live",
    "query",
    "Durable Streams: wait for events after `offset`: long-poll for a while, sse to the end of the run.",
    {"type": "string", "enum": list(get_args(Live))},
    _LIVE,
    "'long-poll' or 'sse', or leave it out.",
)
STREAM_CURSOR = text_in_query(
    "cursor", "Durable Streams: Stream-Cursor of the last answer.", "[0-9]{1,15}", "Stream-Cursor of the last answer."
)


def read_window(query: Mapping[str, str]) -> Window:
    """Return the window of a list that a request wants; raises `InvalidFieldError` that names the parameter."""
    order, limit = ORDER.read(query), read_limit(query)
    after, before = AFTER.read(query), BEFORE.read(query)
    return Window(
        limit, None if after is None else int(after), None if before is None else int(before), order == "desc"
    )


def read_limit(query: Mapping[str, str]) -> int:
    """Return how many items a request wants; raises `InvalidFieldError` unless that is 1 to 200."""
    return read_number(LIMIT, query)


def read_cursor(query: Mapping[str, str]) -> str | None:
    """Return the cursor of an earlier page; raises `InvalidFieldError` for an invalid one."""
    cursor = query.get(CURSOR.name) or None
    if cursor is not None and (len(cursor) > _LONGEST_CURSOR or not cursor.isascii() or not cursor.isprintable()):
        raise InvalidFieldError("The query 'cursor' is not from this app. Send next_cursor of the last page.")
    return cursor


def read_resume_position(query: Mapping[str, str], headers: Mapping[str, str]) -> int:
    """Return after which position of the log a stream continues: that of `Last-Event-ID`, else of `after`, else 0.

    A browser that reconnects sends the first and repeats the second as it was. Of the id of a delta that was not logged
    yet the position alone counts: what was logged after it is sent again. Raises `InvalidFieldError`.
    """
    after, last = EVENTS_AFTER.read(query), LAST_EVENT_ID.read(headers)
    event_id = after if last is None else last
    return 0 if event_id is None else int(event_id.partition(".")[0])


class StreamQuery(Struct, frozen=True):
    """Events after position `after`, None for those to come; `cursor` is 0 when the reader has none."""

    after: int | None
    live: Live | None = None
    cursor: int = 0


def read_stream_query(query: Mapping[str, str]) -> StreamQuery | None:
    """Return which events a query wants, None when it does not use the protocol; raises `InvalidFieldError`."""
    cursor = STREAM_CURSOR.read(query)
    if OFFSET.name not in query and LIVE.name not in query:
        return None
    if EVENTS_AFTER.name in query:
        raise InvalidFieldError("The queries 'offset' and 'after' exclude each other. Send one of them.")
    offset = OFFSET.read(query)
    if offset is None:
        raise InvalidFieldError(f"The query 'offset' is missing. Send {OFFSET.advice}")
    after = None if offset == NOW else max(0, int(offset))
    return StreamQuery(after, cast("Live | None", LIVE.read(query)), int(cursor or 0))


def offset_of(position: int) -> str:
    """Return the offset after the event at `position`."""
    return f"{position:0{_DIGITS}d}"
