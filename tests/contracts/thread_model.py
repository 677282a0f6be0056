"""A store of threads' logs as a simple model, and random lives of two threads, for each store to answer as it does."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from hypothesis import strategies as st

from hosting.core.stores.contract import Append, Appended, AppendOutcome, Row, StoredHead

NAMES = ("run-1", "run-2", "key-1")


@dataclass(frozen=True)
class Write:
    """An append of so many events and these rows, behind the head as it is, or as it was so many appends ago."""

    thread: int
    stale: int
    events: int
    rows: tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class Repeat:
    """The append that was given so many steps ago, given again."""

    thread: int
    back: int


@dataclass(frozen=True)
class Clear:
    """Trim, erase or forget, up to so many positions before the head."""

    thread: int
    verb: Literal["trim", "erase", "forget"]
    back: int


Step = Write | Repeat | Clear

_THREADS = st.integers(0, 1)
_ROWS = st.lists(st.tuples(st.sampled_from(NAMES), st.booleans()), max_size=2, unique_by=lambda row: row[0])
STEPS: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        st.builds(Write, _THREADS, st.just(0), st.integers(0, 3), st.just(())),
        st.builds(Write, _THREADS, st.integers(0, 3), st.integers(0, 3), _ROWS.map(tuple)),
        st.builds(Repeat, _THREADS, st.integers(0, 3)),
        st.builds(Clear, _THREADS, st.sampled_from(["trim", "erase", "forget"]), st.integers(0, 3)),
    ),
    min_size=1,
    max_size=25,
)


@dataclass
class ModelThread:
    """One thread: what it holds now, every head that it had, and every append that was given to it."""

    head: StoredHead | None = None
    events: dict[int, tuple[str, bytes]] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    heads: list[StoredHead | None] = field(default_factory=lambda: [None])
    given: list[tuple[StoredHead | None, Append]] = field(default_factory=list)
    trimmed: int = 0
    """Up to this position events may be gone or not: a store may keep some that share a record with later ones."""

    def takes(self, known: StoredHead | None, append: Append) -> bool:
        """Tell whether the append counts, now or by an earlier call that left its mark."""
        if self._bears(append) or self._has_event_of(append):
            return True
        return known == self.head and not any(row.is_new and row.name in self.rows for row in append.rows)

    def may_deny(self, append: Append) -> bool:
        """Tell whether the store may have lost the mark of the append: its first event is gone, or may be."""
        is_erased = self._has_event_of(append) and not self._is_of(append, _first(append))
        return not self._bears(append) and (_first(append) <= self.trimmed or is_erased)

    def apply(self, known: StoredHead | None, append: Append, outcome: AppendOutcome) -> None:
        """Write what the store says that it wrote, unless it is there."""
        if not isinstance(outcome, Appended) or self._bears(append) or self._has_event_of(append):
            return
        self.head = outcome.head
        self.heads.append(self.head)
        self.events.update(
            (_first(append) + n, (append.head.append_id, event)) for n, event in enumerate(append.events)
        )
        self.rows.update((row.name, row) for row in append.rows)

    def trim(self, before: int, rows_before: int) -> None:
        """Count events up to `before` as perhaps gone."""
        self.trimmed = max(self.trimmed, before)
        self.rows = {name: row for name, row in self.rows.items() if row.position > rows_before}

    def erase(self, through: int) -> None:
        self.events = {position: event for position, event in self.events.items() if position > through}
        for name, row in self.rows.items():
            if row.position <= through:
                self.rows[name] = replace(row, payload=b"")

    def forget(self) -> None:
        """Begin anew; heads of before are still known to somebody, appends of before to nobody."""
        self.head, self.events, self.rows, self.given, self.trimmed = None, {}, {}, [], 0
        self.heads.append(None)

    def shows(self, found: list[tuple[int, bytes]]) -> bool:
        """Tell whether these may be its events: all that are not trimmed, behind some of the newest that are."""
        held = [(position, event) for position, (_, event) in sorted(self.events.items())]
        must = [event for event in held if event[0] > self.trimmed]
        return found == held[len(held) - len(found) :] and len(found) >= len(must)

    def _bears(self, append: Append) -> bool:
        return self.head is not None and self.head.append_id == append.head.append_id

    def _has_event_of(self, append: Append) -> bool:
        return any(self._is_of(append, _first(append) + n) for n in range(len(append.events)))

    def _is_of(self, append: Append, position: int) -> bool:
        return self.events.get(position, ("",))[0] == append.head.append_id


def _first(append: Append) -> int:
    return append.head.position - len(append.events) + 1
