"""The contract of a store of threads' logs: one head and one append-only list of events for each thread.

Theory. An append is the only way to change a thread, and it is one transaction: the head that the caller knows is
replaced, and the events and rows after it are written. If another append came first, nothing is written. So the writer
with the present head decides alone, exactly, in however many processes. A store knows bytes, positions and names; what
an event means is for `hosting.core.thread`. Every backend passes tests/contracts/test_thread_store.py.

Each store is opened under the name of a task hub: stores of two hubs on one account, file or server share nothing.

`Watchers` is for the stores of one machine, which can wake the readers that wait for a thread's next event.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from msgspec import Struct

from hosting.names import Address
from hosting.ports import MOST_ROWS

MOST_HEAD_BYTES = 64 * 1024
MOST_PAYLOAD_BYTES = 256 * 1024
MOST_APPEND_BYTES = 2 * 1024 * 1024
MOST_EVENTS = 1000
"""The limits of one append: its head, each event or row, all of them together, and the number of events."""
MOST_POSITION = 10**15
"""No thread gets as far as this."""

_ROW_NAME = re.compile(r"[A-Za-z0-9-]{1,64}")


class StoredHead(Struct, frozen=True):
    """The head of a thread. `position` is that of its newest event, counted from 1; 0 before there is one.

    `append_id` is of the append that wrote it. `tag` is what this store compares by: it is set by the store and comes
    back to it as it was.
    """

    position: int
    append_id: str
    payload: bytes
    tag: str = ""


class StoredEvent(Struct, frozen=True):
    """One event at its position."""

    position: int
    payload: bytes


@dataclass(frozen=True)
class Row:
    """A record next to the events that is found by its name in one call: of an idempotency key, or of a run.

    `name` is of the characters A-Z a-z 0-9 and '-', 64 at most, and letter case counts. `position` is that of the event
    it is about, by which it is trimmed and erased. Erasing leaves the row without a payload. An `is_new` row must not
    be there yet: then nothing of its append is written. Another one is written whether it is there or not. It has no
    meaning in a row that a store returns. Raises `ValueError` for another name.
    """

    name: str
    position: int
    payload: bytes
    is_new: bool = field(default=True, compare=False)

    def __post_init__(self) -> None:
        if not _ROW_NAME.fullmatch(self.name):
            raise ValueError(
                f"The row's name {self.name[:80]!r} must be 1 to 64 of the characters A-Z a-z 0-9 and '-'."
            )


class Append(Struct, frozen=True):
    """One step of a thread: the head as it is from now on, the events that led there, and rows next to them.

    The events stand at the positions after the known head's, in their order, so `head.position` is that of the last.
    There may be none: then the head alone is replaced. No other append of any thread has the id of its head.
    Raises `ValueError` for an append over the limits above, and for two rows of one name.
    """

    head: StoredHead
    events: tuple[bytes, ...] = ()
    rows: tuple[Row, ...] = ()

    @property
    def size_bytes(self) -> int:
        """The bytes of its events and rows."""
        return sum(map(len, self.events)) + sum(len(row.payload) for row in self.rows)

    def __post_init__(self) -> None:
        sizes = [*map(len, self.events), *(len(row.payload) for row in self.rows)]
        if len(self.head.payload) > MOST_HEAD_BYTES:
            raise ValueError(f"A head has {len(self.head.payload):,} bytes and may have {MOST_HEAD_BYTES:,}.")
        is_too_large = max(sizes, default=0) > MOST_PAYLOAD_BYTES or sum(sizes) > MOST_APPEND_BYTES
        if is_too_large or len(self.events) > MOST_EVENTS or len(self.rows) > MOST_ROWS:
            raise ValueError(f"An append of {len(self.events)} events, {len(self.rows)} rows, {sum(sizes):,} bytes.")
        if len({row.name for row in self.rows}) < len(self.rows):
            raise ValueError("An append names one row twice.")

    def first_position(self, base: StoredHead | None) -> int:
        """Return the position after the `base`, where the first event goes, if there is one.

        Raises `ValueError` where the new head's position is not that of the last event: every store calls this before
        it writes, so that no thread gets a gap.
        """
        before = base.position if base is not None else 0
        if self.head.position != before + len(self.events):
            raise ValueError(
                f"A head at position {self.head.position:,} does not follow {before:,} and {len(self.events):,} events."
            )
        return before + 1


class Appended(Struct, frozen=True):
    """All of it is stored, by this call or by an earlier call with a lost answer. `head` has its tag.

    Where another append came after the earlier call, the thread's head is another one: the next append with this head
    is a `Conflict`, which has it.
    """

    head: StoredHead


class Conflict(Struct, frozen=True):
    """Nothing of it was written, nor will be: the head is another one, or a row that is to be new is there.

    `head` is the head as it stands, None where the thread has none. Of an append that was repeated it can mean more:
    that it counted, and left nothing by which a store could know it. It had no events and another append came after, or
    its events were trimmed or erased since. In each case the head is newer than the append, and is what holds.
    """

    head: StoredHead | None


class Unknown(Struct, frozen=True):
    """The outcome is unknown. Only the same append may be tried again until one of the other answers comes.

    `retry_after_seconds` is for how long the store wants no call, 0 when it named no time.
    """

    retry_after_seconds: float = 0.0


AppendOutcome = Appended | Conflict | Unknown


class Processes:
    """Which of the processes that use a store live, as far as the store knows: this one knows nothing of any.

    `name` is this process's, and empty where no other could know about it.
    """

    @property
    def name(self) -> str:
        return ""

    def is_gone(self, name: str) -> bool:
        """Return whether the process of that name is dead for certain: nothing will be appended by it any more."""
        return False


class ThreadStore(Protocol):
    """The store of threads' logs, shared by all processes of one app.

    Every method but `append` raises `errors.LogUnavailableError` when the store cannot be reached or throttles; calling
    again with the same arguments is safe. `batch_seconds` is how long streamed text may well wait for more, by
    what an append costs here. `processes` are those that use it.
    """

    batch_seconds: float

    @property
    def processes(self) -> Processes: ...

    async def append(self, address: Address, base: StoredHead | None, append: Append) -> AppendOutcome:
        """Write the append if the thread's head is still the `base`; all of it in one step, or none.

        `base` is None for a thread without a head. Of two writers one wins. The same append given again, after
        `Unknown`, is written once: it counts as done if the head bears its id, or the event at its first position does,
        whatever was appended after it. Never raises for a store that is away: that is `Unknown`. Raises `ValueError`
        where the new head does not follow it; see `Append.first_position`.
        """

    async def head(self, address: Address) -> StoredHead | None:
        """Return the head, or None for a thread that has none."""

    async def heads(self, agent: str, owner: str, after: str, limit: int) -> list[tuple[str, StoredHead]]:
        """Return an owner's threads with an agent: the ids after `after` in their order, at most so many, with heads.

        Ids are compared character by character, as Python does. Nothing of other owners is read, however many there
        are. Not for the owner `app`: no key may hold some of its thread ids.
        """

    async def agents(self) -> list[str]:
        """Return the agents of which anything is stored, by their names in lower case, in the order of names.

        Also agents that no app serves now. An agent with no thread left may be among them; a name with a dot is of the
        agent before that. Few are named, however much is stored of each.
        """

    async def events(self, address: Address, after: int, through: int = MOST_POSITION) -> list[StoredEvent]:
        """Return the events after position `after` that are not trimmed or erased, oldest first, all of them.

        Those after position `through` are not read.
        """

    async def row(self, address: Address, name: str) -> Row | None:
        """Return the row of that name, or None; an erased one has an empty payload."""

    async def trim(self, address: Address, before: int, rows_before: int) -> None:
        """Remove events at or before position `before`, and rows of positions at or before `rows_before`.

        Some of the newest of those events may stay, where they share a record with later ones. The head is not
        touched: it names first, by an append, what may be trimmed. Events go last, so that a call that was broken off
        shows by them; the next one finishes it.
        """

    async def erase(self, address: Address, through: int) -> None:
        """Remove every event at or before position `through` and the payload of every row of such a position.

        No file of the store has the payloads afterwards. Names of rows stay, so that a used key is known as used.
        Events after are not touched, so that an erasure that comes late takes nothing of a later life of the thread. A
        call that is broken off is finished by the next.
        """

    async def forget(self, address: Address, base: StoredHead) -> bool:
        """Remove the head and all rows, if the head is still the `base`; return whether it was.

        No file of the store has the head and rows afterwards; where `LogUnavailableError` says otherwise, `scrub` ends
        that. The thread is then as if it had never been: an append without a `base` counts again, so no process may
        still be repeating an older one. Its events were erased before.
        """

    async def scrub(self) -> None:
        """Leave no removed or replaced data in any file of the store: old heads and rows.

        Call it after a head says less than before, and after a removal that found nothing left: an earlier call of it
        may have been broken off.
        """

    async def watch(self, address: Address, after: int, seconds: float) -> bool:
        """Return True as soon as there are events after position `after`, False when there are none for so long.

        A store that cannot push returns False at once, without a read, and its caller polls.
        """

    async def close(self) -> None:
        """Let go of files, connections and threads; an append under way is done first, a watch returns False.

        The next call opens again what it needs.
        """


ThreadKey = tuple[str, str]
"""A thread's name in backends of one machine: its hub and its address' key."""


class Watcher(Struct, eq=False):
    """A waiter for events after position `after`, on an event loop of its own."""

    after: int
    loop: asyncio.AbstractEventLoop
    woken: asyncio.Event
    has_more: bool = False

    def wake(self, has_more: bool) -> None:
        """End the wait, from any thread; a closed loop has no waiter."""
        self.has_more = self.has_more or has_more
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.woken.set)

    async def woken_within(self, seconds: float) -> bool:
        """Wait until there is more, or for so long, or until the store closes; return whether there is more."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.woken.wait(), seconds)
        return self.has_more


class Watchers:
    """Wakes the waiters of a thread, from any thread or event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_thread: dict[ThreadKey, list[Watcher]] = {}

    @contextlib.contextmanager
    def watching(self, thread: ThreadKey, after: int) -> Iterator[Watcher]:
        """Enter a watcher for as long as the block runs.

        A waiting reader enters first and then reads whether there is more already: so no append falls between the two.
        """
        watcher = Watcher(after, asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._by_thread.setdefault(thread, []).append(watcher)
        try:
            yield watcher
        finally:
            with self._lock:
                self._by_thread[thread].remove(watcher)
                if not self._by_thread[thread]:
                    del self._by_thread[thread]

    def threads(self) -> list[ThreadKey]:
        """Return the threads with waiters on an event loop that is not closed."""
        with self._lock:
            return [
                thread
                for thread, watchers in self._by_thread.items()
                if not all(watcher.loop.is_closed() for watcher in watchers)
            ]

    def wake(self, thread: ThreadKey, position: int) -> None:
        """Wake the waiters for positions of the thread up to this one."""
        with self._lock:
            waiting = [watcher for watcher in self._by_thread.get(thread, ()) if watcher.after < position]
        for watcher in waiting:
            watcher.wake(has_more=True)

    def release(self) -> None:
        """Wake all waiters without news: the store closes, or cannot be polled."""
        with self._lock:
            waiting = [watcher for watchers in self._by_thread.values() for watcher in watchers]
        for watcher in waiting:
            watcher.wake(has_more=False)
