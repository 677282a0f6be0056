"""Where a conversation may be cut in two: never inside a turn, and never between a call and what answers it.

Models refuse a tool's result without its call. Both are mostly in one entry; an approval puts turns between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from state.json_text import parse
from state.models import Entry, UnknownEntry, entry_text
from state.plain import PLAIN, PlainEntry

_CALL_ID: Final = ("callId", "call_id")
_Link = tuple[str, str]


def cuts(entries: Sequence[Entry | PlainEntry]) -> list[int]:
    """Return after how many entries the conversation may be cut, in ascending order, its two ends left out."""
    allowed = []
    earliest = len(entries)
    for place, begins in reversed(list(enumerate(_beginnings(entries)))):
        earliest = min(earliest, begins)
        if 0 < place <= earliest:
            allowed.append(place)
    return allowed[::-1]


def _beginnings(entries: Sequence[Entry | PlainEntry]) -> list[int]:
    """Return for each entry the place of the earliest that it may not be parted from."""
    latest: dict[_Link, int] = {}
    beginnings = []
    for place, entry in enumerate(entries):
        mentioned, begun = _links(entry)
        beginnings.append(min((latest.get(link, place) for link in mentioned - begun), default=place))
        latest.update(dict.fromkeys(mentioned, place))
    return beginnings


def _links(entry: Entry | PlainEntry) -> tuple[set[_Link], set[_Link]]:
    """Return the run and the calls that an entry mentions, and the calls that begin in it."""
    if isinstance(entry, UnknownEntry):
        run: set[_Link] = set()
    else:
        run = {("run", entry.correlation_id)} if entry.correlation_id is not None else set()
    if isinstance(entry, PLAIN):
        return run, set()
    found = [
        (value.get("$type"), ("call", call_id))
        for value in _objects(parse(entry.once(entry_text)))
        for call_id in _call_ids(value)
    ]
    return run | {call for _, call in found}, {call for kind, call in found if kind == "functionCall"}


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(item)


def _call_ids(value: dict[str, Any]) -> Iterator[str]:
    return (value[name] for name in _CALL_ID if isinstance(value.get(name), str))
