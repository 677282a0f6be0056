"""Which part of a list a request asks for (http-api.md section 3): `limit`, `before`, `after`, `order`, `cursor`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hosting.errors import InvalidFieldError
from hosting.parameters import Parameter

DEFAULT_LIMIT = 50
MOST = 200
_ORDERS = ("asc", "desc")
_LONGEST_CURSOR = 1024
_MOST_DIGITS = 9
_POSITION = {"type": "integer", "minimum": 0, "maximum": 10**_MOST_DIGITS - 1}

LIMIT = Parameter(
    "limit", "query", "How many.", {"type": "integer", "minimum": 1, "maximum": MOST, "default": DEFAULT_LIMIT}
)
ORDER = Parameter(
    "order", "query", "Oldest or newest first.", {"type": "string", "enum": list(_ORDERS), "default": "asc"}
)
AFTER = Parameter("after", "query", "Only entries after this position.", _POSITION)
EVENTS_AFTER = Parameter("after", "query", "Only events after this id.", _POSITION)
LAST_EVENT_ID = Parameter("last-event-id", "header", "Only events after this id; it goes before `after`.", _POSITION)
IF_NONE_MATCH = Parameter("if-none-match", "header", "ETag of an answer to the same read.", {"type": "string"})
BEFORE = Parameter("before", "query", "Only entries before this position.", _POSITION)
CURSOR = Parameter(
    "cursor",
    "query",
    "next_cursor of the page before; empty for the first.",
    {"type": "string", "pattern": f"^[ -~]{{0,{_LONGEST_CURSOR}}}$"},
)

T = TypeVar("T")


@dataclass(frozen=True)
class Window:
    """Entries by their position, counted from 1: those between `after` and `before`, `limit` of them from one end."""

    limit: int
    after: int | None
    before: int | None
    is_newest_first: bool

    def span(self, total: int) -> tuple[int, int]:
        """Return the first and the last position of the window in a list of so many entries; first > last is none."""
        return (self.after or 0) + 1, total if self.before is None else min(total, self.before - 1)

    def first_of(self, low: int, high: int, count: int) -> tuple[int, int]:
        """Return the positions of the window's first `count` entries, of those from `low` to `high`."""
        return (max(low, high - count + 1), high) if self.is_newest_first else (low, min(high, low + count - 1))

    def ordered(self, items: Sequence[T]) -> Iterable[T]:
        """Return items, the oldest first, in the window's direction."""
        return reversed(items) if self.is_newest_first else items


def read_position(query: Mapping[str, str], headers: Mapping[str, str]) -> int:
    """Return behind which event a stream goes on: `Last-Event-ID`, else `after`, else 0.

    A browser that reconnects sends the first and repeats the second as it was. Raises `InvalidFieldError`.
    """
    after = _number(EVENTS_AFTER, query, 0) or 0
    return _number(LAST_EVENT_ID, headers, after) or 0


def read_limit(query: Mapping[str, str]) -> int:
    """Return how many items are asked for; raises `InvalidFieldError` unless that is 1 to 200."""
    limit = _number(LIMIT, query, DEFAULT_LIMIT)
    if limit is None or not 1 <= limit <= MOST:
        raise InvalidFieldError(f"The query 'limit' is {limit}. Send 1 to {MOST}, or leave it out for {DEFAULT_LIMIT}.")
    return limit


def read_window(query: Mapping[str, str]) -> Window:
    """Return the window that a request asks for; raises `InvalidFieldError` that names the parameter."""
    order = query.get(ORDER.name, "asc")
    if order not in _ORDERS:
        raise InvalidFieldError(f"The query 'order' is {order[:80]!r}. Send 'asc' (oldest first) or 'desc'.")
    return Window(
        limit=read_limit(query),
        after=_number(AFTER, query, None),
        before=_number(BEFORE, query, None),
        is_newest_first=order == "desc",
    )


def read_cursor(query: Mapping[str, str]) -> str | None:
    """Return the cursor of an earlier page; raises `InvalidFieldError` for what cannot be one."""
    cursor = query.get(CURSOR.name) or None
    if cursor is not None and (len(cursor) > _LONGEST_CURSOR or not cursor.isascii() or not cursor.isprintable()):
        raise InvalidFieldError("The query 'cursor' is none of ours. Send next_cursor of the page before.")
    return cursor


def _number(parameter: Parameter, query: Mapping[str, str], default: int | None) -> int | None:
    text = query.get(parameter.name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise InvalidFieldError(
            f"The {parameter.place} {parameter.name!r} is {text[:80]!r}. "
            f"Send a whole number of at most {_MOST_DIGITS} digits."
        )
    return int(text)
