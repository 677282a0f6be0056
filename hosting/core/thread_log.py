"""The log of every thread of one app: changed by commands, kept by a store.

Theory. There is one way to change a thread: take its head, decide, append to that very head; where another append came
first, take the head that it left and decide again (`ThreadLog.execute`). A head that this process remembers saves the
read, and is never believed by itself: an append proves it, and whatever is not an append is decided on a head that was
read. An append with an unknown outcome is repeated as it was, until the store says what came of it.

An event that is too large for the log stands in it by reference (`hosting.core.references`). It is put before the
append: a reference leads somewhere from the moment it can be read. A conflict or a crash leaves unused uploads.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar
from weakref import WeakValueDictionary

from msgspec import Struct

from hosting.core.recent import Recent
from hosting.core.references import MOST_INLINE_BYTES, Reference, names_by_epoch, reference_in
from hosting.core.stores.connection import StoreReadiness, Verb
from hosting.core.stores.contract import (
    MOST_APPEND_BYTES,
    MOST_POSITION,
    Append,
    Appended,
    AppendOutcome,
    Conflict,
    Row,
    StoredHead,
    ThreadStore,
    Unknown,
)
from hosting.core.telemetry import QueuedRuns
from hosting.core.thread import events, head, rows
from hosting.core.thread.commands import Change, Command, Outcome
from hosting.core.thread.decide import decide
from hosting.core.thread.events import Event
from hosting.core.thread.head import NEW, Head
from hosting.errors import AttachmentsUnavailableError, LogUnavailableError
from hosting.names import Address, StoreKey, new_id, store_space
from hosting.ports import SYSTEM_CLOCKS, Clocks, ObjectStore

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 10.0
FIRST_PAUSE_SECONDS = 0.05
FRESH_SECONDS = 3600.0
"""The greatest age of attachments that an append refers to."""
MOST_READS = 3
"""The tries of a read: one failure is no outage, and no run is released for it."""
CACHED_BYTES = 16 * 1024 * 1024
_PARSED_BYTES = 7
"""The memory of a remembered head for each byte of its text, next to the text itself."""
_TAIL_BYTES = 16 * 1024
"""The bytes of one thread's remembered events: a turn with texts that are not large."""
_EMPTY_BYTES = 400  # of the text of a head without runs, which stands for a thread that has none

T = TypeVar("T")
RowT = TypeVar("RowT", rows.KeyRow, rows.RunRow, rows.ApprovalRow)
Refresh = Callable[[Head], Awaitable[Command]]


class Decided(Struct, frozen=True):
    """The outcome of a command, and the head after it, which the store had at that moment.

    `began_at` is when it was given, by `Clocks.awake`: what was appended may count since then, however late the store
    answers.
    """

    outcome: Outcome
    head: Head
    began_at: float

    @property
    def events(self) -> list[tuple[int, Event]]:
        """The events that were appended, with their positions; none unless the outcome is a `Change`."""
        events = self.outcome.events if isinstance(self.outcome, Change) else ()
        return list(enumerate(events, start=self.head.position - len(events) + 1))


class _CachedHead(Struct, frozen=True):
    """A head as the store has it, and as it reads; without `stored` the thread has none.

    `tail` are the newest events before it with their positions and sizes, as far as this process appended them one
    after the other.
    """

    stored: StoredHead | None
    head: Head
    tail: tuple[tuple[int, Event, int], ...] = ()
    tail_bytes: int = 0

    def after(self, stored: StoredHead, head: Head, events: Sequence[Event], sizes: Sequence[int]) -> _CachedHead:
        """Return the head that the append of these events left, with as many of the newest events as are remembered."""
        if head.state != "open":
            return _CachedHead(stored, head)
        positions = range(head.position - len(events) + 1, head.position + 1)
        tail = (*self.tail, *zip(positions, events, sizes, strict=True))
        dropped, tail_bytes = 0, self.tail_bytes + sum(sizes)
        while tail_bytes > _TAIL_BYTES:
            tail_bytes -= tail[dropped][2]
            dropped += 1
        return _CachedHead(stored, head, tail[dropped:], tail_bytes)


class ThreadLog:
    """The threads' log of the app with the task hub `hub`, for one event loop.

    Commands on one thread wait for each other here: those of this process then never conflict. A store that is away is
    waited for `patience_seconds` by an append, and by a read for some tries within them; its outage is logged by
    the store itself. `readiness` notes every outcome. `clocks` date all that is done with threads and measure leases; a
    wait is counted by the event loop's own time. `names` are those of the app's agents by the same in lower case.
    """

    def __init__(
        self,
        store: ThreadStore,
        attachments: ObjectStore,
        hub: str,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
        cached_bytes: int = CACHED_BYTES,
        clocks: Clocks = SYSTEM_CLOCKS,
        names: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.clocks = clocks
        self._names = names
        self._queued = QueuedRuns(clocks, names)
        self._store = store
        self.processes = store.processes
        self._attachments = attachments
        self._hub = hub
        self._patience_seconds = patience_seconds
        self.readiness = StoreReadiness(lambda: self.head(Address.of("ready", new_id())))
        self._heads: Recent[Address, _CachedHead] = Recent(cached_bytes)
        self._calling: WeakValueDictionary[Address, asyncio.Lock] = WeakValueDictionary()

    async def execute(
        self, address: Address, command: Command, refresh: Refresh | None = None, *, is_new: bool = False
    ) -> Decided:
        """Decide a command and append the events that it comes to; return both once they stand.

        `refresh` returns the command with the rows that a head has; without it the command needs none. The first time
        the command is tried as it was given. A thread that `is_new` had its id made for this command, so there is
        nothing to read of it. Raises `LogUnavailableError` when the store, or that of large events, stays away: whether
        the command was carried out is then unknown. Raises `NewerVersionError` for a thread that a newer version works
        on, and `ValueError` for a command that writes what could not be read again, or a row as new without having read
        that it is there; both leave the thread as it is.
        """
        began_at = self.clocks.awake()
        async with self._calling.setdefault(address, asyncio.Lock()):
            cached = _CachedHead(None, NEW) if is_new else self._heads.get(address) or await self._read(address)
            has_read_rows = refresh is None
            outcome = decide(cached.head, command)
            while True:
                if not isinstance(outcome, Change):
                    cached, command, outcome = await self._decide_on_read_head(address, command, refresh)
                    has_read_rows = True
                if not isinstance(outcome, Change):
                    return Decided(outcome, cached.head, began_at)
                is_appended, newest = await self._append(address, cached, outcome)
                if is_appended:
                    return Decided(outcome, newest.head, began_at)
                if has_read_rows and newest.stored == cached.stored:
                    raise ValueError(f"A {type(command).__name__} was decided without an existing row.")
                if refresh is not None:
                    command, has_read_rows = await refresh(newest.head), True
                cached, outcome = newest, decide(newest.head, command)

    async def _decide_on_read_head(
        self, address: Address, command: Command, refresh: Refresh | None
    ) -> tuple[_CachedHead, Command, Outcome]:
        """Return the decision on a freshly read head, that head, and the command with its rows.

        An append is proved by the store. Anything else counts only if the head still stood after the rows were read.
        """
        cached = await self._read(address)
        while True:
            if refresh is not None:
                command = await refresh(cached.head)
            outcome = decide(cached.head, command)
            if refresh is None or isinstance(outcome, Change):
                return cached, command, outcome
            newest = await self._read(address)
            if newest.stored == cached.stored:
                return cached, command, outcome
            cached = newest

    async def head(self, address: Address) -> Head:
        """Return the head as the store has it now. Raises as `execute` does."""
        return (await self._read(address)).head

    def remembered(self, address: Address) -> Head | None:
        """Return the head as this process knows it, no older than its own newest append; None if it knows none."""
        cached = self._heads.get(address)
        return None if cached is None else cached.head

    async def threads(self, agent: str, owner: str, after: str, limit: int) -> list[tuple[Address, Head]]:
        """Return an owner's threads after that id, in the order of their ids; see `ThreadStore.heads`."""
        heads = await self.retried("read", agent, lambda: self._store.heads(agent.lower(), owner, after, limit))
        return [(Address.of(agent, thread_id, owner), head.decode(stored.payload)) for thread_id, stored in heads]

    async def agents(self) -> list[str]:
        """Return the agents with stored data, also those that the app lacks now; see `ThreadStore.agents`."""
        return await self.retried("read", "", self._store.agents)

    async def events(
        self, address: Address, after: int, head: Head | None = None, *, through: int = MOST_POSITION
    ) -> list[tuple[int, Event]]:
        """Return the events after position `after`, up to `through`, with theirs, oldest first; raises as `execute`.

        With a `head`, which the caller has just read, they are those up to it, and what this process appended itself is
        not read again.
        """
        cached = None if head is None else self._heads.get(address)
        if cached is not None and cached.head == head and cached.tail and cached.tail[0][0] <= after + 1:
            return [(position, event) for position, event, _ in cached.tail if position > after]
        last = through if head is None else head.position
        stored = await self.retried("read", address.agent, lambda: self._store.events(address, after, last))
        bodies: dict[str, bytes] = {}
        for epoch, names in names_by_epoch(stored).items():
            with self._as_log("read", address.agent):
                attachments = await self._attachments.read(epoch_store_key(self._hub, address, epoch), names)
            if missing := names - attachments.keys():
                text = "%d events of thread %s of agent %s refer to missing attachments."
                logger.error(text, len(missing), address.thread_id, address.agent)
                raise LogUnavailableError("Part of the thread's log cannot be read. Try again.")
            bodies |= attachments
        return [
            (event.position, events.decode(bodies[reference.elsewhere] if reference else event.payload))
            for event, reference in ((event, reference_in(event.payload)) for event in stored)
        ]

    async def watch(self, address: Address, after: int, seconds: float) -> bool:
        """Return True as soon as there are events after that position, False as `ThreadStore.watch` does."""
        return await self._store.watch(address, after, seconds)

    async def row(self, address: Address, kind: type[RowT], key: str, head: Head) -> RowT | rows.DeletedRow | None:
        """Return the row of that idempotency key, run or approval under this head, or None. Raises as `execute`."""
        row = await self.retried("read", address.agent, lambda: self._store.row(address, kind.name_of(key)))
        return None if row is None else rows.decode(kind, row.payload, head)

    async def erase(self, address: Address, through: int) -> None:
        """Remove the thread's events through that position, and their rows' payloads.

        What stands elsewhere is erased with the thread's attachments (`epoch_store_key`). Raises `LogUnavailableError`.
        """
        await self._store.erase(address, through)

    async def trim(self, address: Address, head: Head) -> None:
        """Remove the events that the head says are trimmed, and all that belongs to them; raises as `forget` does.

        Where they went before, that is one read.
        """
        left = await self._store.events(address, 0, head.trimmed)
        if not left:
            return
        for epoch, names in names_by_epoch(left).items():
            with self._as_log("append", address.agent):
                await self._attachments.erase(epoch_store_key(self._hub, address, epoch), names)
        await self._store.trim(address, head.trimmed, head.trimmed)

    async def forget(self, address: Address) -> bool:
        """Remove all that is left of a deleted thread, its receipt too; return whether it was one, and still is.

        The thread is then as if it had never been. Raises `LogUnavailableError`; called again it finishes the removal.
        """
        cached = await self._read(address)
        if cached.stored is None or cached.head.state != "deleted":
            return False
        await self._store.erase(address, cached.stored.position)
        self._heads.forget(address)
        return await self._store.forget(address, cached.stored)

    async def attachment_hashes(self, address: Address, epoch: int) -> set[str]:
        """Return which of the attachments of that epoch the thread's events stand in. Raises `LogUnavailableError`."""
        stored = await self.retried("read", address.agent, lambda: self._store.events(address, 0))
        return names_by_epoch(stored).get(epoch, set())

    async def close(self) -> None:
        """Let go of the store."""
        await self._store.close()

    async def _read(self, address: Address) -> _CachedHead:
        cached = self._heads.get(address)
        self._heads.forget(address)
        stored = await self.retried("read", address.agent, lambda: self._store.head(address))
        if cached is None or stored is None or stored != cached.stored:
            cached = _CachedHead(stored, NEW if stored is None else head.decode(stored.payload))
        if self._heads.get(address) is None:  # an append that came meanwhile left a newer one
            self._keep(address, cached)
        return cached

    async def _append(self, address: Address, cached: _CachedHead, change: Change) -> tuple[bool, _CachedHead]:
        """Return whether the change was appended, and return the head as it stands then."""
        changed = change.head.model_copy(update={"append_id": new_id()})
        payloads = [events.encode(event) for event in change.events]
        sizes = [len(payload) for payload in payloads]
        most = MOST_INLINE_BYTES if sum(sizes) <= MOST_APPEND_BYTES // 2 else MOST_INLINE_BYTES // 64
        uploads: dict[str, bytes] = {}
        for index, payload in enumerate(payloads):
            if len(payload) > most:
                reference = Reference(
                    elsewhere=hashlib.sha256(payload).hexdigest(), epoch=changed.epoch, bytes=len(payload)
                )
                uploads[reference.elsewhere] = payload
                payloads[index] = reference.model_dump_json().encode()
        append = Append(
            StoredHead(changed.position, changed.append_id, head.encode(changed)),
            tuple(payloads),
            tuple(Row(row.name, row.position, rows.encode(row.row), row.is_new) for row in change.rows),
        )
        put_at = -math.inf

        async def append_after_uploads() -> AppendOutcome:
            nonlocal put_at
            began_at = self.clocks.awake()  # a machine may sleep between two tries: uploads count as left over then
            if uploads and began_at - put_at > FRESH_SECONDS:
                with self._as_log("append", address.agent):
                    await self._attachments.put(epoch_store_key(self._hub, address, changed.epoch), uploads)
                put_at = began_at
            return await self._store.append(address, cached.stored, append)

        self._heads.forget(address)  # whatever ends this call early leaves nothing that may be wrong
        answer: Appended | Conflict = await self.retried("append", address.agent, append_after_uploads)
        if isinstance(answer, Appended):
            newest = cached.after(answer.head, changed, change.events, sizes)
        else:
            newest = _CachedHead(answer.head, NEW if answer.head is None else head.decode(answer.head.payload))
        self._keep(address, newest)
        return isinstance(answer, Appended), newest

    def _keep(self, address: Address, newest: _CachedHead) -> None:
        if self._queued.seen or len(newest.head.runs) > (newest.head.claim is not None):
            self._queued.see(address, newest.head)
        text_bytes = len(newest.stored.payload) if newest.stored else _EMPTY_BYTES
        self._heads.keep(address, newest, (1 + _PARSED_BYTES) * (text_bytes + newest.tail_bytes))

    @contextlib.contextmanager
    def _as_log(self, verb: Verb, agent: str) -> Iterator[None]:
        """Treat the store of attachments as a part of the log, which cannot be used without it."""
        try:
            yield
        except AttachmentsUnavailableError as error:
            self.readiness.failed(verb, self._names.get(agent, ""))
            raise LogUnavailableError() from error

    async def retried(self, verb: Verb, agent: str, call: Callable[[], Awaitable[T | Unknown]]) -> T:
        """Return the store's answer, with repeated calls if it fails, within the patience of this log.

        Every try is counted as the agent's. A read fails for good with its last try. An append has as many tries as
        there is time for, and one more where this process slept through that time: the store may have carried it out.
        """
        name = self._names.get(agent.lower(), "")
        clock = asyncio.get_running_loop().time
        end, pause = clock() + self._patience_seconds, FIRST_PAUSE_SECONDS
        left, may_have_slept = (MOST_READS, False) if verb == "read" else (math.inf, True)
        while True:
            tried_at = self.clocks.awake()
            try:
                answer = await call()
                if not isinstance(answer, Unknown):
                    self.readiness.worked(verb, name)
                    return answer
                raise LogUnavailableError(retry_after_seconds=answer.retry_after_seconds)
            except LogUnavailableError as error:
                self.readiness.failed(verb, name)
                left -= 1
                seconds = max(pause, error.retry_after_seconds)
                if not left or clock() + seconds > end:
                    if not may_have_slept or self.clocks.awake() - tried_at < PATIENCE_SECONDS:
                        raise
                    may_have_slept = False
            await asyncio.sleep(seconds)
            pause *= 2


def store_key(hub: str, address: Address) -> StoreKey:
    """Return the key under which those of all epochs of a thread lie."""
    return StoreKey(store_space(hub, "log"), address.key)


def epoch_store_key(hub: str, address: Address, epoch: int) -> StoreKey:
    """Return the key of a thread's archive and attachments in one epoch."""
    return StoreKey(store_space(hub, "log"), f"{address.key}/{epoch}")
