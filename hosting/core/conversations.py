"""The conversations of threads as this process needs them: the stored document, and the log after it.

Theory. A process that held the last run of a thread has its conversation already, up to the position that it appended
itself, so a warm turn reads nothing. A process that is behind reads the events since; a process that knows nothing
reads the document too. The remembered conversations are a cache: the log is followed and never replaced.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hosting.core.archiving import entry_bytes
from hosting.core.recent import Recent
from hosting.core.thread.conversation import DocumentAhead, DocumentBehind, Snapshot, resume
from hosting.core.thread.events import Event, encode
from hosting.core.thread.head import Head
from hosting.core.thread_log import ThreadLog
from hosting.errors import EngineUnavailableError, LogUnavailableError, UnreadableStateError
from hosting.names import Address
from hosting.ports import EntityClient
from state.codec import read
from state.errors import UnreadableDocumentError
from state.models import Conversation

logger = logging.getLogger(__name__)

Shorten = Callable[[Conversation], Conversation]

CACHED_BYTES = 24 * 1024 * 1024
STORED_BYTES = 8 * 1024 * 1024
"""The space for a process's copies of current conversations and stored documents."""
_READ_AGAIN_SECONDS = (0.05, 0.2, 1.0)
_CONVERSATION_COSTS_BYTES = 2048
_ENTRY_COSTS_BYTES = 6144
_MODEL_FACTOR = 8
"""The space of a conversation next to its entries, of an entry next to its text, and per byte of text, about."""


class _Cached(Struct, frozen=True):
    """A conversation that is remembered, the bytes of its entries' text, and of each request that waits in it."""

    snapshot: Snapshot
    epoch: int
    text_bytes: int
    open_bytes: Mapping[str, int]


class Conversations:
    """Conversations of one app's threads, for one event loop; the newest are remembered within `cached_bytes`.

    A conversation with more than `document_bytes` of text is remembered as `shorten` leaves it.
    """

    def __init__(
        self,
        log: ThreadLog,
        cached_bytes: int = CACHED_BYTES,
        *,
        shorten: Shorten = lambda conversation: conversation,
        document_bytes: int = CACHED_BYTES,
    ) -> None:
        self._log = log
        self._shorten = shorten
        self._document_bytes = document_bytes
        self._cached: Recent[Address, _Cached] = Recent(cached_bytes)

    async def at(
        self,
        address: Address,
        head: Head,
        client: EntityClient | None,
        newest: Sequence[tuple[int, Event]] = (),
        *,
        is_new: bool = False,
    ) -> Snapshot:
        """Return the thread's conversation up to the head's position; an `is_new` one has no document.

        It is at a later position where the document was stored after that one: the same conversation for a run that
        held the thread at the head, but for a reset.

        `newest` are the last events before that position, where the caller has them: they are not read again. Without a
        `client` the conversation must be remembered here. Raises `UnreadableStateError` for a document that
        cannot be read or does not belong to the log, `EngineUnavailableError` and `LogUnavailableError`.
        """
        if (current := self.cached(address, head)) is not None:
            return current
        cached = self._cached.get(address)
        if cached and cached.epoch == head.epoch and head.trimmed <= cached.snapshot.position < head.position:
            snapshot, after, size = cached.snapshot, cached.snapshot.position, cached.text_bytes
        elif is_new:
            snapshot, after, size = Snapshot(read(None), 0, 0, {}), 0, 0
        else:
            if client is None:
                raise EngineUnavailableError(
                    "The cached conversation was evicted. The operation will be delivered again."
                )
            text = await client.read(*address.entity)
            snapshot, text, head = await self.resumed(address, text, head, client)
            after, size = snapshot.since, len(text or "")
        if newest and newest[0][0] <= after + 1 and newest[-1][0] == head.position:
            following = [(position, event) for position, event in newest if position > after]
            return self.follow(address, head, snapshot, following, size)
        events = await self._log.events(address, after, through=head.position)
        return self.follow(address, head, snapshot, events, size)

    def cached(self, address: Address, head: Head) -> Snapshot | None:
        """Return the thread's conversation up to the head's position if this process has just that."""
        cached = self._cached.get(address)
        if cached is None or (cached.epoch, cached.snapshot.position) != (head.epoch, head.position):
            return None
        return cached.snapshot

    def remember(self, address: Address, head: Head, snapshot: Snapshot) -> None:
        """Remember the conversation as its one writer has it, up to the head's position."""
        cached = self._cached.get(address)
        is_known = cached is not None and cached.snapshot.conversation is snapshot.conversation
        self._cache(
            address, head, snapshot, cached.text_bytes if cached and is_known else _text_bytes(snapshot.conversation)
        )

    def appended(self, address: Address, head: Head, events: Sequence[tuple[int, Event]]) -> None:
        """Continue the remembered conversation of the thread with this process's newest append."""
        cached = self._cached.get(address)
        if cached is None or not events:
            return
        if cached.epoch == head.epoch and cached.snapshot.position == events[0][0] - 1:
            self.follow(address, head, cached.snapshot, events, cached.text_bytes)
        else:
            self.forget(address)

    def follow(
        self, address: Address, head: Head, snapshot: Snapshot, events: Sequence[tuple[int, Event]], text_bytes: int = 0
    ) -> Snapshot:
        """Return the snapshot after these events, and remember it; `text_bytes` are those of `snapshot`."""
        followed = snapshot.apply([(position, event) for position, event in events if position <= head.position])
        grown = _text_bytes(followed.conversation, len(snapshot.conversation.data.conversation_history))
        return self._cache(address, head, followed, text_bytes + grown)

    async def resumed(
        self, address: Address, text: str | None, head: Head, client: EntityClient
    ) -> tuple[Snapshot, str | None, Head]:
        """Return from where the stored document continues, that document, and the head it was compared with.

        The document is read again where a newer one has been stored meanwhile, and the head where the log has gone on.
        Raises as `at` does.
        """
        for pause in (*_READ_AGAIN_SECONDS, None):
            start = resume(_parsed(text), head)
            if isinstance(start, DocumentAhead):
                head = await self._log.head(address)
                start = resume(_parsed(text), head)
            match start:
                case Snapshot():
                    return start, text, head
                case DocumentAhead():
                    raise start.refusal()
                case DocumentBehind() if pause is not None:
                    await asyncio.sleep(pause)
                    text = await client.read(*address.entity)
        raise LogUnavailableError("The stored conversation is older than its log. Try again.")

    def _cache(self, address: Address, head: Head, snapshot: Snapshot, text_bytes: int) -> Snapshot:
        before = self._cached.get(address)
        sizes = before.open_bytes if before is not None else {}
        if text_bytes > self._document_bytes:  # seldom: a good part of it is left out then
            snapshot = replace(snapshot, conversation=self._shorten(snapshot.conversation))
            text_bytes = _text_bytes(snapshot.conversation)
        waiting = {run_id: sizes.get(run_id) or len(encode(run.accepted)) for run_id, run in snapshot.open.items()}
        memory_bytes = _memory_bytes(snapshot.conversation, text_bytes + sum(waiting.values()))
        self._cached.keep(address, _Cached(snapshot, head.epoch, text_bytes, waiting), memory_bytes)
        return snapshot

    def forget(self, address: Address) -> None:
        """Remember nothing of the thread."""
        self._cached.forget(address)


class ParsedDocuments:
    """Parsed conversations of stored documents, each valid only for the very text that it was parsed from.

    The text is compared on every read: another process, or a restored backup, is noticed and parsed afresh.
    """

    def __init__(self, most_bytes: int = STORED_BYTES) -> None:
        self._cached: Recent[Address, tuple[str, Conversation]] = Recent(most_bytes)

    def read(self, address: Address, text: str | None) -> Conversation:
        """Return the conversation of a stored text; raises as `state.codec.read`."""
        cached = self._cached.get(address)
        if cached is not None and cached[0] == text:
            return cached[1]
        conversation = read(text)
        if text is not None:
            self.remember(address, text, conversation)
        return conversation

    def remember(self, address: Address, text: str, conversation: Conversation) -> None:
        """Remember the newest written document."""
        self._cached.keep(address, (text, conversation), _memory_bytes(conversation, len(text)))


def _parsed(text: str | None) -> Conversation | None:
    try:
        return None if text is None else read(text)
    except UnreadableDocumentError as error:
        raise UnreadableStateError.because(error) from error


def _memory_bytes(conversation: Conversation, text_bytes: int) -> int:
    entries = len(conversation.data.conversation_history)
    return _CONVERSATION_COSTS_BYTES + _ENTRY_COSTS_BYTES * entries + _MODEL_FACTOR * text_bytes


def _text_bytes(conversation: Conversation, first: int = 0) -> int:
    """Return how many bytes of text the conversation's entries have, from that one on."""
    return sum(entry.derived(entry_bytes) for entry in conversation.data.conversation_history.stored[first:])
