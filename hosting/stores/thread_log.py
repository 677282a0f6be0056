"""The log of every thread of one app: asked by commands, kept by a store.

Theory. There is one way to change a thread: take its head, decide, append to that very head; where another append came
first, take the head that it left and decide again (`ThreadLog.ask`). A head that this process remembers saves the read,
and is never believed by itself: an append proves it, and whatever is not an append is decided on a head that was read.
An append whose outcome the store did not tell is given again as it was, until the store tells.

What is too large for the log lies in the store of attachments, under the thread's epoch, and stands in the log by
reference. It is put before the append: a reference leads somewhere from the moment it can be read. What a conflict or a
crash leaves behind belongs to nobody.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar
from weakref import WeakValueDictionary

from pydantic import BaseModel, ValidationError

from hosting.address import Address
from hosting.errors import AttachmentsUnavailableError, LogUnavailableError
from hosting.events import Place
from hosting.identity import new_id
from hosting.ports import AttachmentStore
from hosting.stores.contract import MOST_APPEND_BYTES, Append, Appended, Conflict, Row, StoredHead, ThreadStore, Unknown
from hosting.thread import events, head, rows
from hosting.thread.commands import Change, Command, Outcome
from hosting.thread.decide import decide
from hosting.thread.events import Event
from hosting.thread.head import NEW, Head
from state.attached import Attachment

logger = logging.getLogger(__name__)

MOST_INLINE_BYTES = 64 * 1024
"""An event above this stands in the log by reference."""

PATIENCE_SECONDS = 10.0
FIRST_PAUSE_SECONDS = 0.05
CACHED_BYTES = 16 * 1024 * 1024
_PARSED_BYTES = 7
"""What a remembered head takes in memory for each byte of its text, beside the text itself."""
_EMPTY_BYTES = 400
"""The text of a head without runs, which stands for a thread that has none."""

RowT = TypeVar("RowT", rows.KeyRow, rows.RunRow, rows.ApprovalRow)
Reread = Callable[[Head], Awaitable[Command]]


@dataclass(frozen=True)
class Asked:
    """What came of a command, and the head behind it, which the store had at that moment."""

    outcome: Outcome
    head: Head


class _Reference(BaseModel):
    """What stands in the log for an event that lies elsewhere."""

    elsewhere: str
    epoch: int
    bytes: int


@dataclass(frozen=True)
class _Known:
    """A head as the store has it, and as it reads; without `stored` the thread has none."""

    stored: StoredHead | None
    head: Head
    is_read: bool = False


class ThreadLog:
    """The threads' log of the app whose task hub is `hub`, for one event loop.

    Commands on one thread wait for each other here: those of this process then never conflict. A store that is away is
    waited for `patience_seconds`; its outage is told by the store itself.
    """

    def __init__(
        self,
        store: ThreadStore,
        attachments: AttachmentStore,
        hub: str,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
        cached_bytes: int = CACHED_BYTES,
    ) -> None:
        self._store = store
        self._attachments = attachments
        self._hub = hub
        self._patience_seconds = patience_seconds
        self._heads = _Heads(cached_bytes)
        self._asking: WeakValueDictionary[Address, asyncio.Lock] = WeakValueDictionary()

    async def ask(
        self, address: Address, command: Command, reread: Reread | None = None, *, is_new: bool = False
    ) -> Asked:
        """Have a command decided, and append what it comes to; return both once they stand.

        `reread` gives the command with its rows read anew, for each head behind the first. With it nothing but an
        append is believed before the rows were read between two looks at the same head. A thread that `is_new` had its
        id made for this command, so there is nothing to read of it. Raises `LogUnavailableError` when the store, or
        that of large events, stays away: whether the command was carried out is then unknown. Raises
        `NewerVersionError` for a thread that a newer version works on, and `ValueError` for a command that writes what
        could not be read again, or a row as new without having read that it is there; both leave the thread as it is.
        """
        lock = self._asking.setdefault(address, asyncio.Lock())
        async with lock:
            known = _Known(None, NEW) if is_new else self._heads.get(address) or await self._read(address)
            has_all_rows = reread is None
            while True:
                outcome = decide(known.head, command)
                if isinstance(outcome, Change):
                    appended, newest = await self._append(address, known, outcome)
                    if appended:
                        return Asked(outcome, newest.head)
                    if has_all_rows and newest.stored == known.stored:
                        raise ValueError(f"A {type(command).__name__} was decided without a row that is there.")
                else:
                    is_newest = known.is_read and (reread is None or not has_all_rows)
                    newest = known if is_newest else await self._read(address)
                    if has_all_rows and newest.stored == known.stored:
                        return Asked(outcome, newest.head)
                if reread is not None:
                    command, has_all_rows = await reread(newest.head), True
                known = newest

    async def head(self, address: Address) -> Head:
        """Return the head as the store has it now. Raises as `ask` does."""
        return (await self._read(address)).head

    async def events(self, address: Address, after: int) -> list[tuple[int, Event]]:
        """Return the events behind position `after` with theirs, oldest first. Raises as `ask` does."""
        stored = await self._store.events(address, after)
        references = {event.position: reference for event in stored if (reference := _reference(event.payload))}
        bodies = await self._referred(address, list(references.values()))
        payloads = (
            (
                event.position,
                bodies[references[event.position].elsewhere] if event.position in references else event.payload,
            )
            for event in stored
        )
        return [(position, events.decode(payload)) for position, payload in payloads]

    async def row(self, address: Address, kind: type[RowT], name: str, head: Head) -> RowT | rows.GoneRow | None:
        """Return the row of that name, as it stands under this head; None when there is none. Raises as `ask` does."""
        found = await self._store.row(address, name)
        return None if found is None else rows.decode(kind, found.payload, head)

    async def erase(self, address: Address, through: int) -> None:
        """Remove the thread's events through that position, and what its rows of them say; see `ThreadStore.erase`.

        What stands elsewhere is erased with the thread's attachments (`epoch_place`). Raises `LogUnavailableError`.
        """
        await self._store.erase(address, through)

    async def close(self) -> None:
        """Let go of the store."""
        await self._store.close()

    async def _read(self, address: Address) -> _Known:
        self._heads.forget(address)
        read = _known(await self._store.head(address))
        if self._heads.get(address) is None:  # an append that came meanwhile left a newer one
            self._heads.keep(address, read)
        return read

    async def _append(self, address: Address, known: _Known, change: Change) -> tuple[bool, _Known]:
        """Tell whether the change was appended, and return the head as it stands then."""
        changed = change.head.model_copy(update={"append_id": new_id()})
        payloads = await self._inlined(address, changed.epoch, change.events)
        append = Append(
            StoredHead(changed.position, changed.append_id, head.encode(changed)),
            tuple(payloads),
            tuple(Row(row.name, row.position, rows.encode(row.row), row.is_new) for row in change.rows),
        )
        self._heads.forget(address)  # whatever ends this call early leaves nothing that may be wrong
        answer = await self._insist(address, known.stored, append)
        if isinstance(answer, Appended):
            return True, self._heads.keep(address, _Known(answer.head, changed))
        newest = self._heads.keep(address, _known(answer.head))
        return False, newest

    async def _insist(self, address: Address, known: StoredHead | None, append: Append) -> Appended | Conflict:
        """Give the same append until the store says what came of it."""
        clock = asyncio.get_running_loop().time
        end, pause = clock() + self._patience_seconds, FIRST_PAUSE_SECONDS
        while isinstance(answer := await self._store.append(address, known, append), Unknown):
            seconds = max(pause, answer.retry_after_seconds)
            if clock() + seconds > end:
                raise LogUnavailableError.unreached()
            await asyncio.sleep(seconds)
            pause *= 2
        return answer

    async def _inlined(self, address: Address, epoch: int, given: Sequence[Event]) -> list[bytes]:
        """Return what stands in the log for these events; those that are too large are put elsewhere first."""
        payloads = [events.encode(event) for event in given]
        most = MOST_INLINE_BYTES if sum(map(len, payloads)) <= MOST_APPEND_BYTES // 2 else MOST_INLINE_BYTES // 64
        large = {at: Attachment(_digest(text), text) for at, text in enumerate(payloads) if len(text) > most}
        if large:
            with _as_log():
                await self._attachments.put(epoch_place(self._hub, address, epoch), list(large.values()))
        for at, attachment in large.items():
            reference = _Reference(elsewhere=attachment.sha256, epoch=epoch, bytes=len(attachment.body))
            payloads[at] = reference.model_dump_json().encode()
        return payloads

    async def _referred(self, address: Address, references: Sequence[_Reference]) -> dict[str, bytes]:
        bodies: dict[str, bytes] = {}
        for epoch in {reference.epoch for reference in references}:
            names = {reference.elsewhere for reference in references if reference.epoch == epoch}
            with _as_log():
                found = await self._attachments.read(epoch_place(self._hub, address, epoch), names)
            if missing := names - found.keys():
                logger.error("%d events of thread %s refer to what is not there.", len(missing), address.key)
                raise LogUnavailableError("A part of the thread's log cannot be read. Try again.")
            bodies |= found
        return bodies


def epoch_place(hub: str, address: Address, epoch: int) -> Place:
    """Return where the archive and the attachments of one life of a thread lie: under the hub's name and the epoch.

    No agent is called so: names of agents have no dot.
    """
    return Place(f"{hub}.log", f"{address.key}/{epoch}")


class _Heads:
    """Heads that this process remembers, the newest ones, within so many bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._held_bytes = 0
        self._known: OrderedDict[Address, _Known] = OrderedDict()

    def get(self, address: Address) -> _Known | None:
        known = self._known.get(address)
        if known is None:
            return None
        self._known.move_to_end(address)
        return _Known(known.stored, known.head)

    def keep(self, address: Address, known: _Known) -> _Known:
        self.forget(address)
        self._known[address] = known
        self._held_bytes += _size(known)
        while self._held_bytes > self._most_bytes:
            _, oldest = self._known.popitem(last=False)
            self._held_bytes -= _size(oldest)
        return known

    def forget(self, address: Address) -> None:
        known = self._known.pop(address, None)
        if known is not None:
            self._held_bytes -= _size(known)


def _size(known: _Known) -> int:
    return (1 + _PARSED_BYTES) * (len(known.stored.payload) if known.stored else _EMPTY_BYTES)


def _known(stored: StoredHead | None) -> _Known:
    return _Known(stored, NEW if stored is None else head.decode(stored.payload), is_read=True)


@contextlib.contextmanager
def _as_log() -> Iterator[None]:
    """Have the store of attachments be a part of the log, which cannot be reached without it."""
    try:
        yield
    except AttachmentsUnavailableError as error:
        raise LogUnavailableError.unreached() from error


def _reference(payload: bytes) -> _Reference | None:
    """Return the reference that stands there in place of an event, or None."""
    if not payload.startswith(b'{"elsewhere":'):
        return None
    try:
        return _Reference.model_validate_json(payload)
    except ValidationError:
        return None


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
