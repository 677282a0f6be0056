"""Forks: a new thread that begins with the entries of another one, to its end or up to some entry.

Theory. A fork is one event in the new thread's log, which holds the recent conversation. What is archived before it
stays where it is, and is lent to the fork (`lending`), so that a fork costs the same whatever the length; pictures and
files of the recent part are copied. Whoever deletes or resets the origin first gives the fork copies, so what is
deleted with either thread is gone, and the other one keeps all that it has. The event says what was asked for, so the
same request finds the fork, in whichever process. Where two begin a thread of one id, one append counts.

A fork of a fork borrows of both. Where one of them is gone or going, or there are many, it has copies of its own.

A process that dies before the event leaves loans and copies that belong to no thread, with a mark by which the sweep
over uploads finds them (`copies`). One that dies after it leaves a whole thread, whose entity is signalled by the next
request, or by that sweep.
"""

from __future__ import annotations

import logging
import math
import secrets
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hosting.core.archiving import Archiver, ConversationReader, lent_to
from hosting.core.copies import Copy, blocks
from hosting.core.document_writer import Attachments
from hosting.core.lending import Lending
from hosting.core.signals import Signals
from hosting.core.stores.archive import Volume
from hosting.core.stores.stores import Stores
from hosting.core.thread.commands import ForkThread, Refused
from hosting.core.thread.conversation import as_left
from hosting.core.thread.head import Head
from hosting.core.thread.run import Run
from hosting.core.thread.sources import ForkSource, fork_source
from hosting.core.thread_log import Decided, ThreadLog, epoch_store_key
from hosting.core.thread_view import ThreadView
from hosting.core.threads import Threads
from hosting.errors import (
    ArchiveIncompleteError,
    EngineUnavailableError,
    HostingError,
    IdempotencyKeyReusedError,
    InvalidFieldError,
    ThreadDeletedError,
    ThreadDeletingError,
    ThreadExistsError,
    UnknownRunError,
)
from hosting.feature import CarriesFiles
from hosting.metadata import LABELS
from hosting.names import Address, keyed_thread_id, new_id
from hosting.ports import ClockClient, EntityClient, read_utc
from state.attachments import references_in
from state.codec import parse_entry, write
from state.conversation import forked, session_state, up_to, with_lenders, with_older, without_newest
from state.extension import Lender, host_of
from state.models import Conversation
from state.put import put_of
from state.standing import still_standing

logger = logging.getLogger(__name__)

_BITS = 48
"""Of the number of a fork's volume, which no other attempt draws."""

_AT_ONCE = 1000
"""Entries that are read at a time."""

MOST_LENDERS = 8
"""Each costs every reader of a fork a look into another volume."""


class ForkPoint(Struct, frozen=True):
    """Where a fork ends: with entry `at`, or the run of that id, or right `before` it; without one at the end."""

    at: int | str | None = None
    before: bool = False

    @property
    def text(self) -> str:
        """The point as one text, without `/`, for the log."""
        kind = "end" if self.at is None else "entry" if isinstance(self.at, int) else "run"
        return kind if self.at is None else f"{'before' if self.before else 'at'}-{kind}-{self.at}"


class ForkCall(Struct, frozen=True):
    """A request for a fork: its end, its id or None for a new one, and its key, if any."""

    point: ForkPoint
    thread_id: str | None = None
    idempotency_key: str | None = None


class Forked(Struct, frozen=True):
    """A fork of thread `origin`, with its first `entries`; `replayed`, if the request had made it before."""

    thread_id: str
    origin: str
    entries: int
    replayed: bool = False


class Forking:
    """Forks the threads of one app."""

    def __init__(
        self,
        log: ThreadLog,
        threads: Threads,
        archiver: Archiver,
        attachments: Attachments,
        stores: Stores,
        *,
        files: CarriesFiles,
        publish: Callable[[Address, Decided], None] = lambda address, decided: None,
    ) -> None:
        """`publish` is called with the appends of this class; `files` go along."""
        self._log = log
        self._threads = threads
        self._archiver = archiver
        self._attachments = attachments
        self._stores = stores
        self._lending = Lending(log, stores)
        self._signals = Signals(log)
        self._publish, self._files = publish, files

    async def fork(self, origin: Address, wanted: ForkCall, client: ClockClient) -> Forked:
        """Return the fork once its thread stands and its signal is sent; the same request finds the same one.

        Raises `UnknownRunError` and `InvalidFieldError` for a point that the conversation does not have or that is
        within a turn; `ThreadExistsError` for an id that is another thread's, and `IdempotencyKeyReusedError` where
        the key led there; `ThreadDeletedError` for a key whose fork was deleted, `ThreadDeletingError` while one of
        the two is; and as `Threads.export` does.
        """
        key = wanted.idempotency_key if wanted.thread_id is None else None
        if key is not None:
            target = keyed_fork(origin, key)
        else:
            target = Address.of(origin.agent, wanted.thread_id or new_id(), origin.owner)
        head = await self._log.head(target)
        source = ForkSource(origin.thread_id, wanted.point.text, 0, 0)
        if (found := _found(head, source)) is not None:
            await self._is_to_be_stored(target, head, client)
            await self._files.finish((target, head.epoch), found.text, client)
            return Forked(target.thread_id, found.thread_id, found.entries, replayed=True)
        if head.state == "deleted" and key is not None:
            raise ThreadDeletedError("The fork that this Idempotency-Key created was deleted. Send a new key.")
        try:
            await self._refuse_taken(target, head, wanted, client)
            try:
                return await self._begin(origin, target, head, wanted.point, client)
            except ArchiveIncompleteError:  # the origin was reset or deleted between two reads
                return await self._begin(origin, target, head, wanted.point, client)
        except ThreadExistsError as error:
            if key is None:
                raise
            raise IdempotencyKeyReusedError(
                "This Idempotency-Key was used for another request. Use a new key for a new request."
            ) from error

    async def _refuse_taken(self, target: Address, head: Head, wanted: ForkCall, client: EntityClient) -> None:
        """Raise `ThreadExistsError` if a thread has that id, also of another package, or is being deleted."""
        if head.state == "deleting":
            raise ThreadDeletingError(f"Thread {target.thread_id[:80]!r} is being deleted. Try again in a moment.")
        if head.position == 0 and wanted.thread_id is None and wanted.idempotency_key is None:
            return  # the id was made for this fork
        is_there = head.state == "open" if head.position else await client.read(*target.entity) is not None
        if is_there:
            raise ThreadExistsError(f"Thread {target.thread_id[:80]!r} exists already. Send another id, or none.")

    async def _begin(
        self, origin: Address, target: Address, head: Head, point: ForkPoint, client: ClockClient
    ) -> Forked:
        view = await self._threads.view(origin, client)
        epoch = head.epoch + 1 if head.state == "deleted" else head.epoch
        read_from = epoch_store_key(self._stores.hub, origin, view.head.epoch)
        reader = ConversationReader(read_from, view.conversation, self._stores.archive)
        entries = await _last_entry(reader, point, view.runs)
        volume = Volume(epoch_store_key(self._stores.hub, target, epoch), 1 + secrets.randbits(_BITS))
        lenders = [lent.volume.thread for lent in lent_to(read_from, view.conversation)]
        copy = Copy(self._stores, target, volume, [read_from, *lenders])
        await copy.mark()
        try:
            conversation = await self._up_to(reader, forked(view.conversation, volume.generation, entries), entries)
            begun = await self._borrowed(view, conversation, copy) or await self._copied(reader, conversation, copy)
            await copy.bring(begun.data.conversation_history.stored)
            begun = await self._attachments.externalized(volume.thread, begun, None)
            ended = _as_ended(begun, view, is_whole=entries == reader.total)
            await copy.bring_named(references_in(session_state(ended)))
            text = write(ended)
        except HostingError:
            await copy.end(is_used=False)
            raise
        source = ForkSource(origin.thread_id, point.text, entries, copy.volume.generation)
        place = (target, epoch)
        await self._files.begin((origin, view.head.epoch), place, source.text, await _moment_behind(reader, entries))
        title = (view.head.name or view.head.title) if entries else ""
        labels = {name: value for name, value in view.head.metadata.items() if name not in LABELS}
        begin = ForkThread(self._log.clocks.wall(), text, source, title, epoch, labels)
        decided = await self._log.execute(target, begin)  # where this raises, nobody knows yet whether the copy is used
        self._publish(target, decided)
        found = _found(decided.head, source)
        if found != source:
            await copy.end(is_used=False)
            await self._files.give_up(place, source.text)
        if isinstance(decided.outcome, Refused):
            raise decided.outcome.error
        is_stored = await self._is_to_be_stored(target, decided.head, client)
        if found == source and is_stored:
            await copy.end(is_used=True)
        made = found or source
        await self._files.finish(place, made.text, client)
        return Forked(target.thread_id, made.thread_id, made.entries, replayed=found != source)

    async def _borrowed(self, view: ThreadView, conversation: Conversation, copy: Copy) -> Conversation | None:
        """Return the conversation with borrowed archived entries; None if it needs copies.

        Raises `ArchiveIncompleteError` where the origin is being deleted or reset.
        """
        archived = host_of(conversation).archived.entries
        lenders = await self._lenders(view, archived) if archived else []
        if len(lenders) > MOST_LENDERS or archived > host_of(view.conversation).archived.entries:
            return None
        if not lenders:
            return conversation if not archived else None
        borrowing = with_lenders(conversation, lenders)
        await copy.borrow(lent_to(copy.volume.thread, borrowing))
        for lender in lenders:  # whoever is to lose what it lends after this finds the loan
            if await self._lending.holds(lender, view.address):
                continue
            if lender.thread_id == view.address.thread_id:
                raise ArchiveIncompleteError("The thread is being deleted or reset.")
            await copy.give_back()
            return None
        return borrowing

    async def _lenders(self, view: ThreadView, archived: int) -> list[Lender]:
        """Return the lenders of a thread's first archived entries: its own lenders, and for the others itself.

        None where one of its lenders is about to give it copies; it has itself what those had that have done so.
        """
        host, store_key = host_of(view.conversation), epoch_store_key(self._stores.hub, view.address, view.head.epoch)
        found: list[Lender] = []
        has_copies = False
        for lender, lent in zip(host.lenders, lent_to(store_key, view.conversation), strict=True):
            if not await self._lending.holds(lender, view.address):
                if await self._stores.archive.is_lent(lent.volume, Volume(store_key, host.generation)):
                    return []
                has_copies = True
            elif not found or found[-1].through < archived:
                found.append(replace(lender, through=min(lender.through, archived)))
        if has_copies or not found or found[-1].through < archived:
            own = Lender(view.address.thread_id, store_key.name, view.head.reset_at, host.generation, archived)
            found.append(own)
        return found

    async def _copied(self, reader: ConversationReader, conversation: Conversation, copy: Copy) -> Conversation:
        """Return the conversation with copies of its archived entries and their attachments."""
        archived = host_of(conversation).archived.entries
        async for first, last, sums in blocks(archived, reader.sums):
            texts = await reader.texts(first, last)
            await copy.bring_of(texts)
            await copy.put(first, texts, sums)
        return conversation

    async def _up_to(self, reader: ConversationReader, conversation: Conversation, entries: int) -> Conversation:
        """Return the conversation, which ends there, with as many recent entries as one that has continued so far.

        One that ends before the end has fewer or none by itself. They are brought back from the end of the archive, to
        which the sums over it go, or from a segment a little behind the fork's end with which its sums are kept. So
        this costs nothing of what is before, and little of what is behind.
        """
        is_whole = entries == reader.total
        if host_of(conversation).archived.entries > entries:
            sums = await reader.sums(entries + 1, entries + _AT_ONCE)
            conversation = without_newest(conversation, sums, entries)
        while not is_whole and (archived := host_of(conversation).archived.entries):
            shorter = self._archiver.cut(conversation)
            if archived <= entries and shorter is not conversation:
                return shorter
            texts = await reader.texts(max(1, archived - _AT_ONCE + 1), archived)
            conversation = up_to(with_older(conversation, texts), entries)
        return conversation if is_whole else self._archiver.cut(conversation)

    async def _is_to_be_stored(self, target: Address, head: Head, client: EntityClient) -> bool:
        """Return whether the fork's entity was signalled to store its document.

        Where not, the fork stands all the same, and whoever is refused one would make another: the mark of the copy
        has the sweep over uploads signal for it.
        """
        try:
            await self._signals.store(target, 0 if head.imported is None else head.imported.position, client)
        except EngineUnavailableError:
            logger.warning("Fork %s is stored later: its signal could not be sent.", target.thread_id)
            return False
        return True


def keyed_fork(origin: Address, key: str) -> Address:
    """Return the thread of the fork that is made under this idempotency key."""
    return Address.of(origin.agent, keyed_thread_id(origin.agent, origin.owner, key, origin.thread_id), origin.owner)


def _found(head: Head, source: ForkSource) -> ForkSource | None:
    """Return the source of the fork that the head is of, if it is of the same request."""
    found = fork_source(head)
    return found if found is not None and head.state == "open" and found.is_of_same_request(source) else None


async def _moment_behind(reader: ConversationReader, last: int) -> float | None:
    """Return when the entry behind that one was made (seconds since 1970); None at the end of the conversation."""
    if last >= reader.total:
        return None
    (text,) = await reader.texts(last + 1, last + 1)
    created_at = getattr(parse_entry(text), "created_at", None)
    return read_utc(created_at) if isinstance(created_at, str) else None


async def _last_entry(reader: ConversationReader, point: ForkPoint, runs: Sequence[Run]) -> int:
    """Return how many entries a fork that ends there has; raises as `Forking.fork` does.

    `runs` are those that the log has, the newest first.
    """
    total = reader.total
    if point.at is None:
        return total
    if isinstance(point.at, int):
        if point.at > total:
            raise InvalidFieldError(f"The field 'at' is {point.at}, and the conversation has {total} entries.")
        last = point.at - 1 if point.before else point.at
    else:
        positions = await _positions_of(reader, point.at, runs)
        last = positions[0] - 1 if point.before else positions[-1]
    if 0 < last < total:
        run, next_run = (parse_entry(text).correlation_id for text in await reader.texts(last, last + 1))
        if run is not None and run == next_run:
            raise InvalidFieldError(
                f"Entries {last} and {last + 1} belong to one turn, and a fork cannot split a turn. Send another "
                "entry's position."
            )
    return last


async def _positions_of(reader: ConversationReader, run_id: str, runs: Sequence[Run]) -> list[int]:
    """Return where the entries of a run are; they stand together, and most runs have two.

    So how many newer ones the log has says where to look first. Those that kept nothing are few.
    """
    total, found = reader.total, list[int]()
    if (newer := next((number for number, run in enumerate(runs) if run.run_id == run_id), 0)) > 0:
        last = min(total, total - 2 * newer - 2 + _AT_ONCE)
        found = await _positions_until(reader, run_id, last, last - _AT_ONCE)
        if found and found[-1] == last < total:  # the run may go on behind
            found = []
    found = found or await _positions_until(reader, run_id, total, 0)
    if not found:
        raise UnknownRunError(f"The conversation has nothing of a run {run_id!r}: it has not ended, or stored nothing.")
    return found


async def _positions_until(reader: ConversationReader, run_id: str, last: int, before: int) -> list[int]:
    """Return where the entries of a run are, of those until `last`; none where they all end `before` there."""
    found: list[int] = []
    while last > 0 and (found[0] == last + 1 if found else last > before):
        first = max(1, last - _AT_ONCE + 1)
        texts = await reader.texts(first, last)
        here = [
            at for at, text in enumerate(texts, first) if run_id in text and parse_entry(text).correlation_id == run_id
        ]
        found, last = [*here, *found], first - 1
    return found


def _as_ended(conversation: Conversation, view: ThreadView, *, is_whole: bool) -> Conversation:
    """Return the conversation as its last run left it: with its session state, and calls that cannot be approved here.

    Those the next message closes, as it does where the time to approve them has passed.
    """
    entries = conversation.data.conversation_history.stored
    if not entries or entries[-1].correlation_id is None:
        return conversation
    run_id = next((entry.correlation_id for entry in reversed(entries) if put_of(entry) is None), None)
    ended = next((run.end_position for run in view.runs if run.run_id == run_id), 0)
    following = min((run.first for run in view.runs if run.first > ended), default=math.inf)
    session = view.session_after((run_id,), following)
    state = session_state(view.conversation) if is_whole else still_standing(session, view.conversation)
    return as_left(conversation, host_of(view.conversation).pause, state)
