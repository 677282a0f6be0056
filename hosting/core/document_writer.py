"""Makes the document that an operation stores: large contents and older entries moved out, its time to live begun anew.

Theory. The document is made of the conversation alone, so an operation that is delivered again makes the same. Large
contents and older entries are put into their stores before the document that refers to them is committed. A crash in
between leaves them there: contents are kept by their hash and entries by their position, so the next delivery puts the
same again, and contents without a reference go with the thread. The log holds contents whole; only the document refers.
An archive that cannot be reached costs no answer: the document is stored as it is, a warning is logged, and the next
operation tries again. Conversations written lately stay parsed for the next turn of their thread.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from operator import is_
from typing import cast

from msgspec import Struct

from hosting.core.archiving import Archiver, Capacity, document_of, size_bytes
from hosting.core.conversations import ParsedDocuments
from hosting.core.hooks import ThreadData, forget_messages
from hosting.core.lending import Lending
from hosting.core.retention import after_turn
from hosting.core.stores.archive import Loan, no_loans
from hosting.core.thread_log import epoch_store_key
from hosting.core.thread_operations import Store
from hosting.errors import ArchiveUnavailableError
from hosting.names import Address, StoreKey
from hosting.ports import ObjectStore
from state.attachments import Exchange, externalized, inlined, references
from state.codec import parse_entry, write
from state.conversation import exchanges
from state.extension import host_of
from state.models import Conversation, Entries, Entry, PlainEntry, RequestEntry, ResponseEntry

logger = logging.getLogger(__name__)

_EXCHANGES = frozenset((RequestEntry, ResponseEntry))


class Apart(Struct, frozen=True):
    """A conversation that refers to its large contents, and those that were taken out of it now, by their hashes."""

    conversation: Conversation
    attachments: Mapping[str, bytes]


class Attachments:
    """Takes contents of more than `most_bytes` bytes out of the conversations of one app, and puts them back."""

    def __init__(self, store: ObjectStore, most_bytes: int) -> None:
        self._store = store
        self._most_bytes = most_bytes

    async def externalized(
        self, store_key: StoreKey, conversation: Conversation, base: Conversation | None
    ) -> Conversation:
        """Return the conversation without large contents, which are kept; the entries of `base` are so already.

        Raises `AttachmentsUnavailableError`.
        """
        apart = self.apart(conversation, base)
        if apart.attachments:
            await self._store.put(store_key, apart.attachments)
        return apart.conversation

    def apart(self, conversation: Conversation, base: Conversation | None) -> Apart:
        """Return the same, with the large contents beside it and kept nowhere."""
        held = list(conversation.data.conversation_history.stored)
        attachments: dict[str, bytes] = {}
        for index, entry in enumerate(held[(start := _in_common(conversation, base)) :], start=start):
            if type(entry) in _EXCHANGES:
                split = externalized(cast(Exchange, entry), self._most_bytes)
                held[index] = split.entry
                attachments |= {attachment.sha256: attachment.body for attachment in split.attachments}
        return Apart(_with(conversation, held) if attachments else conversation, attachments)

    async def inlined(self, address: Address, store_key: StoreKey, conversation: Conversation) -> Conversation:
        """Return the thread with all its attachments, for the model; a missing one is a text that says so.

        Raises `AttachmentsUnavailableError`.
        """
        by_index = {
            index: names
            for index, names in enumerate(conversation.data.conversation_history.derived(references))
            if names
        }
        if not by_index:
            return conversation
        held = list(conversation.data.conversation_history.stored)
        digests = frozenset().union(*by_index.values())
        bodies = await self._store.read(store_key, digests)
        if len(bodies) < len(digests):
            missing = len(digests) - len(bodies)
            logger.warning(
                "%d attachments of thread %s of agent %s are gone.", missing, address.thread_id, address.agent
            )
        for index in by_index:
            held[index] = inlined(cast(Exchange, held[index]), bodies)
        return _with(conversation, held)

    async def remove(self, store_key: StoreKey, hashes: Collection[str]) -> None:
        """Remove these of the thread. Raises `AttachmentsUnavailableError`."""
        if hashes:
            await self._store.erase(store_key, hashes)


def _in_common(conversation: Conversation, base: Conversation | None) -> int:
    """Return with how many entries the conversation continues from the known one; 0 where it does not begin with it."""
    before = () if base is None else base.data.conversation_history.stored
    held = conversation.data.conversation_history.stored
    return len(before) if len(before) <= len(held) and all(map(is_, before, held)) else 0


def _with(conversation: Conversation, held: list[Entry | PlainEntry]) -> Conversation:
    if all(entry is stored for entry, stored in zip(held, conversation.data.conversation_history.stored, strict=True)):
        return conversation
    data = conversation.data.model_copy(update={"conversation_history": Entries(held)})
    return conversation.model_copy(update={"data": data})


def following(before: Conversation | None, outcome: Store, ttl_seconds: float | None) -> Conversation | None:
    """Return the conversation of the outcome, which follows `before`, large contents still in it.

    It is the very one before where nothing has happened since; None is a thread that has none.
    """
    head, conversation = outcome.head, outcome.snapshot.document(outcome.head.epoch)
    has_begun = outcome.ended or head.described or head.imported or len(conversation.data.conversation_history)
    if before is None and not has_begun:
        return None  # nothing ever came of it, or it was deleted
    if before is not None and host_of(before).log_mark == host_of(conversation).log_mark:
        return before
    for terminal in outcome.ended:
        conversation = after_turn(conversation, terminal, ttl_seconds)
    return conversation


class DocumentWriter:
    """Makes and reads the documents of one app's threads."""

    def __init__(
        self,
        hub: str,
        capacity: Capacity,
        archiver: Archiver,
        attachments: Attachments,
        lending: Lending | None = None,
        *,
        thread_data: Sequence[ThreadData] = (),
    ) -> None:
        """Without `lending` there are no forks."""
        self._thread_data = thread_data
        self._hub = hub
        self._lending = lending
        self._capacity = capacity
        self._archiver = archiver
        self._attachments = attachments
        self.stored = ParsedDocuments()

    def apart(self, conversation: Conversation, base: Conversation | None) -> Apart:
        """Return the result of `store` for a conversation that follows the known one, if nothing is archived."""
        return self._attachments.apart(conversation, base)

    def size_bytes(self, conversation: Conversation, base: Conversation | None) -> int:
        """Return how many bytes `store` would store of a conversation that follows the known one."""
        return size_bytes(write(self._archiver.cut(self.apart(conversation, base).conversation)))

    def written(self, address: Address, conversation: Conversation) -> str:
        """Return the text that is to be stored of a conversation that refers to nothing new."""
        document = document_of(conversation)
        self.stored.remember(address, document.text, document.conversation)
        return document.text

    async def store(self, address: Address, text: str | None, outcome: Store, ttl_seconds: float | None) -> str | None:
        """Return the text that is to be stored after an operation: the given `text` where nothing has happened since.

        Raises `AttachmentsUnavailableError`, and `ArchiveUnavailableError` for a document over its limit: the
        operation is to be delivered again.
        """
        before = None if text is None else self.stored.read(address, text)
        conversation = following(before, outcome, ttl_seconds)
        if conversation is before:
            return text
        assert conversation is not None
        store_key = epoch_store_key(self._hub, address, outcome.head.epoch)
        if before is None and outcome.head.resets:
            await forget_messages(self._thread_data, address)
        if before is not None and host_of(conversation).generation > host_of(before).generation:
            await forget_messages(self._thread_data, address)
            await self._forget(store_key, before, conversation)
        document = document_of(await self._attachments.externalized(store_key, conversation, before))
        try:
            document = await self._archiver.shorten(store_key, document)
        except ArchiveUnavailableError:
            if size_bytes(document.text) > self._capacity.limit_bytes:
                raise
            logger.warning(
                "The older part of thread %s of agent %s cannot be moved: the archive cannot be reached. Its next "
                "operation tries again.",
                address.thread_id,
                address.agent,
            )
        self._capacity.warn(address, document.text)
        self.stored.remember(address, document.text, document.conversation)
        return document.text

    async def _forget(self, store_key: StoreKey, before: Conversation, now: Conversation) -> None:
        """Remove the archived entries and large contents that a reset leaves without a reference."""
        texts = await self._archiver.archived_texts(store_key, before)
        older = (entry for entry in map(parse_entry, texts) if isinstance(entry, RequestEntry | ResponseEntry))
        unreferred = frozenset().union(*(references(entry) for entry in (*older, *exchanges(before))))
        unreferred -= frozenset().union(*(references(entry) for entry in exchanges(now)))

        async def end_loans(loans: Sequence[Loan]) -> None:
            """While both are there: the attachments are known by the entries, which forks may have borrowed."""
            await (no_loans if self._lending is None else self._lending.end)(loans)
            await self._attachments.remove(store_key, unreferred)

        await self._archiver.forget(store_key, host_of(now).generation, end_loans)
        if self._lending is not None:
            await self._lending.give_back(store_key, before)
