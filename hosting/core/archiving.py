"""The size of a stored conversation: which entries move to the archive, which are refused, and how all are read.

Theory. The document holds the recent conversation. Once its entries pass their budget, the oldest turns move until a
quarter of the budget is free again, so that most turns move nothing and a move is one call to the store. Entries are
put before the document that no longer has them is committed: a crash in between leaves them in both places, the
document rules, and the next delivery puts the same entries under the same positions. What moved is never changed again.
Positions count every entry from 1, those of unknown kind too, so an entry keeps its position when it moves.

So a document comes near its limit only where one turn is very large, or the archive is away. A request that is larger
than the whole limit is refused before its agent runs, and an answer that is stays in its run's log (`hosted_agent`):
a document never passes twice the limit, with the default of 512 KiB the 1 MiB that the smallest of the engines takes.
While the archive is away and a document is over its limit, the entity stores nothing: the log has what happened, and
the operation is delivered again.
docs/explanation/long-threads.md says the same for users.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from functools import partial
from itertools import accumulate

from msgspec import Struct

from hosting.core.stores.archive import Archive, EndLoans, Lent, Volume, no_loans
from hosting.core.thread.conversation import request_of
from hosting.core.thread.events import Accepted
from hosting.errors import ArchiveIncompleteError, ThreadFullError
from hosting.listing import Window
from hosting.names import Address, StoreKey
from state.attachments import Exchange, external_bytes
from state.codec import parse_entry, write
from state.conversation import cuts, sums_before, without_oldest
from state.extension import host_of
from state.models import Conversation, Entries, Entry, PlainEntry, RequestEntry, ResponseEntry, entry_text

logger = logging.getLogger(__name__)

WARNED_SHARE = 0.5
_LONGEST_ESCAPE = 6


class Capacity:
    """The limits in bytes of conversations; contents of more than `attachment_bytes` lie next to them."""

    def __init__(self, limit_bytes: int, attachment_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._attachment_bytes = attachment_bytes

    def refusal(self, conversation: Conversation, accepted: Accepted) -> ThreadFullError | None:
        """Return why the run's request has no room in any document, or None when it has."""
        messages = (*accepted.request.earlier, accepted.request)
        texts = (text for message in messages for text in (message.message, *map(str, message.contents)))
        characters = sum(map(len, texts))
        if _LONGEST_ESCAPE * characters <= self.limit_bytes:
            return None
        entry = request_of(accepted, conversation)
        size = size_bytes(entry_text(entry)) - external_bytes(entry, self._attachment_bytes)
        if size <= self.limit_bytes:
            return None
        return ThreadFullError(f"This message is stored in {size:,} bytes and a conversation has {self.limit_bytes:,}.")

    def warn(self, address: Address, stored: str) -> None:
        """Write into the log how full a conversation is, from half of the limit on: ids and bytes, no text."""
        held = size_bytes(stored)
        if held >= WARNED_SHARE * self.limit_bytes:
            logger.warning(
                "Thread %s of agent %s holds %d of its %d bytes: its turns are large, or the archive takes none.",
                address.thread_id,
                address.agent,
                held,
                self.limit_bytes,
            )


def size_bytes(text: str) -> int:
    """Return the length of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


_AT_ONCE = 1000
PAGE_BYTES = 4 * 1024 * 1024
"""After so many bytes a page ends, however many entries were asked for."""
_FIRST_READ = 50
"""So many entries are read of a page before it is known how large they are."""


class ConversationReader(Struct, frozen=True):
    """The archived and the recent entries of one conversation.

    What reads the archive raises `ArchiveUnavailableError`, and `ArchiveIncompleteError` where the conversation was
    reset or deleted since its document was read.
    """

    store_key: StoreKey
    conversation: Conversation
    archive: Archive

    async def page(self, window: Window) -> tuple[list[tuple[int, Exchange]], bool]:
        """Return the window's entries with their positions, and whether there are more in its direction.

        It ends after `PAGE_BYTES` too, with one entry at least; entries are read so many at once as may be shown.
        """
        low, high = window.span(self.total)
        entries: list[tuple[int, Exchange]] = []
        size = read = 0
        while low <= high and len(entries) < window.limit:
            most = _FIRST_READ if not read else max(1, (PAGE_BYTES - size) * read // max(1, size))
            first, last = window.first_of(low, high, min(most, window.limit - len(entries)))
            numbered = list(enumerate(await self._entries(first, last), start=first))
            for position, (entry, entry_bytes) in window.ordered(numbered):
                if entries and size + entry_bytes > PAGE_BYTES:
                    return entries, True
                size, read = size + entry_bytes, read + 1
                if isinstance(entry, RequestEntry | ResponseEntry):
                    entries.append((position, entry))
            low, high = (low, first - 1) if window.is_newest_first else (last + 1, high)
        return entries, low <= high

    async def archived_texts(self) -> list[str]:
        """Return every archived entry as JSON text, the oldest first."""
        return [text async for texts in self.archived_blocks() for text in texts]

    async def archived_blocks(self) -> AsyncIterator[list[str]]:
        """Iterate over the same, so many at once that memory does not grow with the conversation."""
        count = host_of(self.conversation).archived.entries
        for first in range(1, count + 1, _AT_ONCE):
            yield await self._archived(first, min(count, first + _AT_ONCE - 1))

    @property
    def total(self) -> int:
        """How many entries the whole conversation has."""
        return host_of(self.conversation).archived.entries + len(self.conversation.data.conversation_history)

    async def texts(self, first: int, last: int) -> list[str]:
        """Return the entries of these positions as JSON texts."""
        count = host_of(self.conversation).archived.entries
        older = [] if first > count else await self._archived(first, min(last, count))
        recent = self.conversation.data.conversation_history.stored[max(0, first - 1 - count) : max(0, last - count)]
        return [*older, *map(entry_text, recent)]

    async def sums(self, first: int, last: int) -> str | None:
        """Return the sums over the archived entries before one of these positions, the first that has them."""
        volume = Volume(self.store_key, host_of(self.conversation).generation)
        return await self.archive.sums(volume, first, last, lent_to(self.store_key, self.conversation))

    async def _archived(self, first: int, last: int) -> list[str]:
        host = host_of(self.conversation)
        lenders = lent_to(self.store_key, self.conversation)
        return await self.archive.read(Volume(self.store_key, host.generation), first, last, lenders)

    async def _entries(self, first: int, last: int) -> list[tuple[Entry, int]]:
        """Return the entries of these positions, each with the length of its text."""
        count = host_of(self.conversation).archived.entries
        older = [] if first > count else await self._archived(first, min(last, count))
        history, of_recent = (
            self.conversation.data.conversation_history,
            slice(max(0, first - 1 - count), max(0, last - count)),
        )
        sizes = [*map(len, older), *(len(entry_text(entry)) for entry in history.stored[of_recent])]
        return list(zip([*Entries(map(parse_entry, older)), *history[of_recent]], sizes, strict=True))


def lent_to(store_key: StoreKey, conversation: Conversation) -> list[Lent]:
    """Return the entries that other threads lend to the conversation at that key."""
    lenders, space = host_of(conversation).lenders, store_key.space
    return [Lent(Volume(StoreKey(space, lender.key), lender.generation), lender.through) for lender in lenders]


KEPT_SHARE = 0.75


class Document(Struct, frozen=True):
    """A conversation and the text that is stored of it."""

    text: str
    conversation: Conversation


def document_of(conversation: Conversation) -> Document:
    """Return the conversation with the text that is to be stored of it."""
    return Document(write(conversation), conversation)


class Archiver:
    """Keeps the documents of one app within a budget of bytes."""

    def __init__(self, archive: Archive, budget_bytes: int) -> None:
        self._archive = archive
        self._budget = budget_bytes

    async def shorten(self, store_key: StoreKey, document: Document) -> Document:
        """Return the document with its entries within the budget, at least its last turn kept; the rest is archived.

        Raises `ArchiveUnavailableError`; the document given is then as good as before.
        """
        count = self._surplus(document.conversation)
        if not count:
            return document
        conversation = document.conversation
        volume = Volume(store_key, host_of(conversation).generation)
        texts = conversation.data.conversation_history.derived(entry_text)
        archived = host_of(conversation).archived.entries
        await self._archive.put(volume, archived + 1, texts[:count], partial(sums_before, conversation))
        return document_of(without_oldest(conversation, count))

    def cut(self, conversation: Conversation) -> Conversation:
        """Return the conversation as `shorten` would leave it, with nothing put into the archive: for this process."""
        count = self._surplus(conversation)
        return without_oldest(conversation, count) if count else conversation

    async def archived_texts(self, store_key: StoreKey, conversation: Conversation) -> list[str]:
        """Return the archived entries of a conversation, or none if one is missing; raises as `shorten`."""
        try:
            return await ConversationReader(store_key, conversation, self._archive).archived_texts()
        except ArchiveIncompleteError:
            return []

    async def forget(self, store_key: StoreKey, generation: int, end_loans: EndLoans = no_loans) -> None:
        """Remove archived entries of conversations before that generation, after `end_loans`; raises as `shorten`."""
        await self._archive.erase(store_key, generation, end_loans)

    def _surplus(self, conversation: Conversation) -> int:
        """Return how many of the oldest entries are to move: none within the budget, else whole turns to free a share.

        Where no number of turns frees that much, all that may move.
        """
        sizes = conversation.data.conversation_history.derived(entry_bytes)
        held_bytes = sum(sizes)
        if held_bytes <= self._budget:
            return 0
        freed_at, ends = list(accumulate(sizes, initial=0)), _ends(conversation)
        bytes_over = held_bytes - int(self._budget * KEPT_SHARE)
        return next((end for end in ends if freed_at[end] >= bytes_over), ends[-1] if ends else 0)


def entry_bytes(entry: Entry | PlainEntry) -> int:
    """Return how many bytes of a document the entry takes."""
    return size_bytes(entry_text(entry))


def _ends(conversation: Conversation) -> list[int]:
    """Return how many entries may move: whole turns, and none from the turn on that waits for approvals."""
    held = conversation.data.conversation_history.stored
    ends = cuts(held)
    pause = host_of(conversation).pause
    if pause is None:
        return ends
    waiting = (index for index, entry in enumerate(held) if entry.correlation_id == pause.run_id)
    most = next(waiting, len(held))
    return [end for end in ends if end <= most]
