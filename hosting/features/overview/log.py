"""The log of an overview: an agent's threads, as whole values, in the store of the threads' logs.

Theory. Its head is a cell (`hosting.core.cells`), and it has events besides. An event has what is known now of some
threads and some days. The newest value of each holds, so the fold is a dictionary. A process appends to the very head
that it made the values from, or not at all. After some events all that is known is appended at once, and what was
before is trimmed. `horizon` has what was left out then.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from operator import not_

from msgspec import Struct, field
from pydantic import BaseModel, ConfigDict, Field

from hosting.core.cells import Cell, CellKind, Cells
from hosting.core.recent import Recent
from hosting.core.stores.contract import Append, Appended, StoredHead
from hosting.features.overview.figures import Day
from hosting.features.overview.routes import MOST_DAYS
from hosting.metadata import Metadata, shown_value
from hosting.names import new_id

MOST_THREADS = 10_000
"""How many threads an overview holds, next to the figures of `MOST_DAYS` days: all of it is one append."""
_BATCHES = 64
_CHUNK_BYTES = 128 * 1024
_MOST_BYTES = 1700 * 1024
_WRITTEN_BYTES = 136
"""The space for all threads of one append, and of one besides its id and metadata; the days take the rest."""
_CACHED_BYTES = 16 * 1024 * 1024
_THREAD_BYTES = 700
_LABEL_DIGITS = 16
_LABEL_BYTES = _LABEL_DIGITS + 3


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class KnownThread(_Value):
    """The state of a thread: the ends through position `counted` are in the figures, and runs that were open then
    began after position `since`. `seen` is the mark of the change at which it was read, `labels` are of its metadata.
    """

    counted: int
    since: int
    changed_at: float
    waits: bool
    seen: str
    pinned: bool = Field(default=False, exclude_if=not_)
    labels: tuple[str, ...] = Field(default=(), exclude_if=not_)

    @property
    def written_bytes(self) -> int:
        """About how much it takes in an event, besides its id."""
        return _WRITTEN_BYTES + _LABEL_BYTES * len(self.labels)


def label_of(thread_id: str, name: str, text: str) -> str:
    """Return what stands for a member of a thread's metadata here: a digest, so an erased thread leaves no word."""
    return hashlib.sha256(f"{thread_id}\n{name}\n{text}".encode(errors="surrogatepass")).hexdigest()[:_LABEL_DIGITS]


def labels_of(thread_id: str, metadata: Metadata) -> tuple[str, ...]:
    """Return what stands for the members of a thread's metadata; see `label_of`."""
    return tuple(label_of(thread_id, name, shown_value(value)) for name, value in metadata.items())


class Known(_Value):
    """One event: the state of some threads, None for deleted ones, and of some days."""

    threads: Mapping[str, KnownThread | None] = {}
    days: Mapping[str, Day] = {}


class OverviewHead(_Value):
    """Everything that changed before `seen_until` is known, and was compared with all threads at `whole_at`.

    Threads that did not change since `horizon` were left out when there were too many; their ends are counted. What
    is known stands in the events after position `begins`.
    """

    seen_until: float = 0.0
    whole_at: float = 0.0
    horizon: float = 0.0
    begins: int = 0


_OVERVIEW = CellKind.of_model("overview", "threads", OverviewHead)


class OverviewState(Struct):
    """An overview as a process has it, which has seen all changes until `seen_until`, whatever is written of that."""

    stored: StoredHead | None = None
    head: OverviewHead = field(default_factory=OverviewHead)
    threads: dict[str, KnownThread] = field(default_factory=dict)
    days: dict[str, Day] = field(default_factory=dict)
    seen_until: float = 0.0

    @property
    def memory_bytes(self) -> int:
        """About how much it takes."""
        labels = sum(len(thread.labels) for thread in self.threads.values())
        return _THREAD_BYTES * (1 + len(self.threads) + len(self.days)) + 4 * _LABEL_BYTES * labels

    def fold(self, known: Known) -> None:
        """Apply the newest state."""
        for thread_id, thread in known.threads.items():
            if thread is None:
                self.threads.pop(thread_id, None)
            else:
                self.threads[thread_id] = thread
        self.days |= known.days


class OverviewLog:
    """The logs of an app's overviews, by agent and owner, for one event loop."""

    def __init__(self, cells: Cells, most_threads: int = MOST_THREADS) -> None:
        self._cells = cells
        self._most_threads = most_threads
        self._states: Recent[tuple[str, str], OverviewState] = Recent(_CACHED_BYTES)

    async def read(self, key: tuple[str, str]) -> OverviewState:
        """Return the overview as the store has it."""
        cell, missed = Cell(_OVERVIEW, *key), None
        while True:  # again where what is older went while it was read
            known, stored = self._states.get(key) or OverviewState(), await self._cells.head(cell)
            if stored is None:
                return OverviewState()
            if known.stored is not None and known.stored.tag == stored.tag:
                return known
            head = OverviewHead.model_validate_json(stored.payload)
            known_through = 0 if known.stored is None else known.stored.position
            # A copy: a look that goes on has the other one, and must not append to a head that it did not read.
            state = OverviewState(threads=dict(known.threads), days=dict(known.days), seen_until=known.seen_until)
            if known_through < head.begins:
                state, known_through = OverviewState(), head.begins
            events = await self._cells.store.events(cell.address, known_through, stored.position)
            if len(events) == stored.position - known_through:
                for event in events:
                    state.fold(Known.model_validate_json(event.payload))
                state.stored, state.head = stored, head
                self._states.keep(key, state, state.memory_bytes)
                return state
            if stored == missed:  # its events are erased: who did that is about to remove it, or has died
                return OverviewState(stored, OverviewHead(begins=stored.position))
            missed = stored

    async def erase(self, agent: str, owner: str) -> None:
        """Remove everything, as before the first read. Raises `LogUnavailableError`."""
        self._states.forget((agent, owner))
        await self._cells.remove(Cell(_OVERVIEW, agent, owner))

    async def append(self, state: OverviewState, agent: str, owner: str, known: Known, head: OverviewHead) -> bool:
        """Append the newest state to the head of this state, and fold it in; return False if others appended first."""
        before = 0 if state.stored is None else state.stored.position
        # What is gone is to stand in no event any more.
        is_rewritten = before - head.begins >= _BATCHES or None in known.threads.values()
        events = [known.model_dump_json().encode()]
        whole = state
        if is_rewritten:
            whole = OverviewState(state.stored, head, dict(state.threads), dict(state.days))
            whole.fold(known)
            head = head.model_copy(update={"begins": before, "horizon": _shortened(whole, self._most_threads)})
            events = _chunks(whole)
        payload = head.model_dump_json().encode()
        append = Append(StoredHead(before + len(events), new_id(), payload), tuple(events))
        cell = Cell(_OVERVIEW, agent, owner)
        self._states.forget((agent, owner))  # whatever ends this call leaves nothing that may be wrong
        outcome = await self._cells.append(cell, state.stored, append)
        if not isinstance(outcome, Appended):
            return False
        if is_rewritten:
            state.threads, state.days = whole.threads, whole.days
            await self._cells.store.trim(cell.address, before, 0)
        else:
            state.fold(known)
        state.stored, state.head = outcome.head, head
        self._states.keep((agent, owner), state, state.memory_bytes)
        return True


def _shortened(state: OverviewState, most: int) -> float:
    """Keep the newest threads and days; return since when a thread that was left out has not changed."""
    newest = sorted(state.threads.items(), key=lambda one: one[1].changed_at, reverse=True)
    sizes = {thread_id: len(thread_id) + thread.written_bytes for thread_id, thread in newest}
    while len(newest) > most or sum(sizes[thread_id] for thread_id, _ in newest) > _MOST_BYTES:
        newest, left_out = newest[: min(most, len(newest) * 9 // 10)], newest[min(most, len(newest) * 9 // 10) :]
        state.head = state.head.model_copy(update={"horizon": max(state.head.horizon, left_out[0][1].changed_at)})
    state.threads = dict(newest)
    state.days = dict(sorted(state.days.items())[-MOST_DAYS:])
    return state.head.horizon


def _chunks(state: OverviewState) -> list[bytes]:
    """Return events that say all that is known, each of a size that every store takes."""
    named: list[tuple[str, str, KnownThread | Day]] = [("threads", one, known) for one, known in state.threads.items()]
    named += [("days", one, day) for one, day in state.days.items()]
    chunks, part, size = list[bytes](), Known(threads={}, days={}).model_dump(), 0
    for kind, name, known in named:
        part[kind][name] = known.model_dump()
        size += len(name) + len(known.model_dump_json())
        if size >= _CHUNK_BYTES:
            chunks.append(Known.model_validate(part).model_dump_json().encode())
            part, size = {"threads": {}, "days": {}}, 0
    return [*chunks, Known.model_validate(part).model_dump_json().encode()]
