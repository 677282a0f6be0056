"""Large contents of a conversation: kept beside its thread before the document refers to them, put back for readers.

Theory. A content is kept by its hash, so keeping it twice keeps it once, and a crash between keeping and the document's
commit leaves bytes that nobody refers to, which go with the thread. What a run's log holds is whole: only the
conversation refers. Nothing is removed while the thread stands but by a reset, which leaves nothing that refers.
"""

from __future__ import annotations

import logging
from base64 import b64encode
from typing import TypeVar, cast

from hosting.events import Place
from hosting.ports import AttachmentStore
from hosting.reply.bodies import KeptAttachment
from state.attached import Exchange, attached, detached, references
from state.models import Conversation, Entry, History, RequestEntry, ResponseEntry
from state.plain import PlainEntry

logger = logging.getLogger(__name__)

_ENTRIES_OF_A_TURN = 2
ExchangeT = TypeVar("ExchangeT", RequestEntry, ResponseEntry)
_EXCHANGES = frozenset((RequestEntry, ResponseEntry))


class Attaching:
    """Takes contents of more than `most_bytes` bytes out of the conversations of one app, and puts them back."""

    def __init__(self, store: AttachmentStore, most_bytes: int) -> None:
        self._store = store
        self._most_bytes = most_bytes

    async def light(self, place: Place, entry: ExchangeT) -> ExchangeT:
        """Return the entry without its large contents, which are kept. Raises `AttachmentsUnavailableError`."""
        found = detached(entry, self._most_bytes)
        if found.attachments:
            await self._store.put(place, found.attachments)
        return cast(ExchangeT, found.entry)

    async def with_light_turn(self, place: Place, conversation: Conversation) -> Conversation:
        """Return the conversation with its last turn as `light` makes it."""
        held = list(conversation.data.conversation_history.held)
        for index in range(max(0, len(held) - _ENTRIES_OF_A_TURN), len(held)):
            if type(held[index]) in _EXCHANGES:
                held[index] = await self.light(place, cast(RequestEntry, held[index]))
        return _with(conversation, held)

    async def whole(self, place: Place, conversation: Conversation) -> Conversation:
        """Return the conversation with all that it refers to, for the model; what is not there is a text that says so.

        Raises `AttachmentsUnavailableError`.
        """
        held = list(conversation.data.conversation_history.held)
        named = {index: found for index, entry in enumerate(held) if (found := _references(entry))}
        if not named:
            return conversation
        wanted = frozenset().union(*named.values())
        bodies = await self._store.read(place, wanted)
        if len(bodies) < len(wanted):
            missing = len(wanted) - len(bodies)
            logger.warning("%d attachments of thread %s of agent %s are gone.", missing, place.thread_id, place.agent)
        for index in named:
            held[index] = attached(cast(Exchange, held[index]), bodies)
        return _with(conversation, held)

    async def hashes(self, place: Place) -> tuple[str, ...]:
        """Return the hashes of what is kept for the thread."""
        return tuple(await self._store.hashes(place))

    async def erase(self, place: Place) -> None:
        """Remove everything that is kept for the thread."""
        await self._store.erase(place)


async def attachments_of(place: Place, store: AttachmentStore) -> list[KeptAttachment]:
    """Return everything that is kept for the thread, for an export. Raises `AttachmentsUnavailableError`."""
    bodies = await store.read(place, await store.hashes(place))
    return [
        {"sha256": name, "size_bytes": len(body), "base64": b64encode(body).decode()}
        for name, body in sorted(bodies.items())
    ]


def _references(entry: Entry | PlainEntry) -> frozenset[str]:
    return cast(Exchange, entry).once(references) if type(entry) in _EXCHANGES else frozenset()


def _with(conversation: Conversation, held: list[Entry | PlainEntry]) -> Conversation:
    if all(one is other for one, other in zip(held, conversation.data.conversation_history.held, strict=True)):
        return conversation
    data = conversation.data.model_copy(update={"conversation_history": History(held)})
    return conversation.model_copy(update={"data": data})
