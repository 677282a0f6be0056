"""The newest events of the runs that somebody follows here, so that each reader of a stream asks no store for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from hosting.events import Event

MOST_EVENTS = 1024
"""Kept for each run; who reads so slowly that it needs older ones gets them from the store."""


@dataclass
class _Tail:
    """Events behind position `after`, gapless; `readers` share them."""

    after: int | None = None
    events: list[Event] = field(default_factory=list)
    readers: int = 0


class Recent:
    """Tails of runs, each for as long as somebody follows the run."""

    def __init__(self) -> None:
        self._tails: dict[str, _Tail] = {}

    @contextmanager
    def kept(self, run_id: str) -> Iterator[None]:
        """Keep what is added to a run within this context."""
        tail = self._tails.setdefault(run_id, _Tail())
        tail.readers += 1
        try:
            yield
        finally:
            tail.readers -= 1
            if not tail.readers:
                del self._tails[run_id]

    def add(self, run_id: str, after: int, events: Sequence[Event]) -> None:
        """Add what this process appended behind position `after`; where another process came between, begin anew."""
        tail = self._tails.get(run_id)
        if tail is None:
            return
        if tail.after is None or tail.after + len(tail.events) != after:
            tail.after, tail.events = after, []
        tail.events.extend(events)
        surplus = len(tail.events) - MOST_EVENTS
        if surplus > 0:
            del tail.events[:surplus]
            tail.after += surplus

    def behind(self, run_id: str, position: int) -> tuple[Event, ...] | None:
        """Return what is kept behind a position, if there is any and nothing is missing in between."""
        tail = self._tails.get(run_id)
        if tail is None or tail.after is None or not tail.after <= position < tail.after + len(tail.events):
            return None
        return tuple(tail.events[position - tail.after :])
