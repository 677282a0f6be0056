"""The entity's operation `delete`: a tombstone first, then nothing of the thread is left but its receipt.

Theory. `deleting` ended all runs and keeps new ones out. The tombstone is one append: from that moment nothing older
counts, whatever stands in any store, in a document that was handed out or in a signal that is under way. Only then the
rest goes, and every step of that may be repeated: it removes what is older than the tombstone, so a delivery that comes
late takes nothing of a later life of the thread. What is archived or attached lies under its epoch for the same reason.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterable, Iterator

from hosting.address import Address
from hosting.entity.capacity import size_bytes
from hosting.entity.receipt import Instance, Reason, Receipt
from hosting.entity.whole_conversation import WholeConversation
from hosting.errors import ArchiveIncompleteError
from hosting.events import Place
from hosting.names import entity_name
from hosting.ports import ArchiveStore, AttachmentStore
from hosting.stores.thread_log import ThreadLog, epoch_place
from hosting.thread.commands import Bury
from hosting.thread.events import Accepted, Deleting, Event
from hosting.thread.head import Head
from state.archived import archived
from state.codec import held_entry, read
from state.errors import UnreadableStateError as UnreadableDocumentError
from state.models import Conversation, RequestEntry

logger = logging.getLogger(__name__)

_NAMES_ONE = '"orchestrationId"'


class Erasing:
    """Erases the threads of the app whose task hub is `hub` from every store but the entity's own state."""

    def __init__(self, log: ThreadLog, archive: ArchiveStore, attachments: AttachmentStore, hub: str) -> None:
        self._log = log
        self._archive = archive
        self._attachments = attachments
        self._hub = hub

    async def delete(self, address: Address, stored: str | None) -> bool:
        """Erase the thread if it is being deleted, or was and is not erased yet; tell whether its document must go too.

        Raises `LogUnavailableError`, `ArchiveUnavailableError` and `AttachmentsUnavailableError`: the operation is to
        be delivered again.
        """
        head = await self._log.head(address)
        if head.state == "deleting":
            receipt = await self._receipt(address, head, stored)
            head = (await self._log.ask(address, Bury(time.time(), receipt.model_dump(mode="json")))).head
        if head.state != "deleted":
            return False  # it lives again, or was never deleted: a late delivery
        place = epoch_place(self._hub, address, head.epoch - 1)
        await self._archive.erase(place)
        await self._attachments.erase(place)
        await self._log.erase(address, head.position - 1)
        return True

    async def _receipt(self, address: Address, head: Head, stored: str | None) -> Receipt:
        text, conversation = stored or "", _readable(stored)
        events = [event for _, event in await self._log.events(address, head.trimmed)]
        place = epoch_place(self._hub, address, head.epoch)
        said = [] if conversation is None else await self._orchestrations(address, place, conversation)
        asked = (event.request.orchestration_id for event in events if isinstance(event, Accepted))
        own = f"@{entity_name(address.agent)}@{address.thread_id}"
        return Receipt(
            deleted_at=time.time(),
            reason=_reason(events),
            document_bytes=size_bytes(text),
            sha256=hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest(),
            runs=sum(isinstance(event, Accepted) for event in events),
            archived_entries=0 if conversation is None else archived(conversation).entries,
            attachments=tuple(await self._attachments.hashes(place)),
            instances=tuple(Instance(id=name) for name in dict.fromkeys([*said, *filter(None, asked), own])),
        )

    async def _orchestrations(self, address: Address, place: Place, conversation: Conversation) -> list[str]:
        """Return the orchestrations that a conversation names. An archive with a gap is no reason to keep the rest."""
        named: dict[str, None] = {}
        try:
            async for texts in WholeConversation(place, conversation, self._archive).archived_blocks():
                named |= dict.fromkeys(_orchestration_ids([held_entry(text) for text in texts if _NAMES_ONE in text]))
        except ArchiveIncompleteError:
            logger.warning("The archive of thread %s of agent %s has a gap.", address.thread_id, address.agent)
        return [*named, *_orchestration_ids(conversation.data.conversation_history.held)]


def _readable(stored: str | None) -> Conversation | None:
    try:
        return None if stored is None else read(stored)
    except UnreadableDocumentError:
        return None  # it goes all the same


def _reason(events: Iterable[Event]) -> Reason:
    deleting = [event for event in events if isinstance(event, Deleting)]
    return deleting[-1].reason if deleting else "asked"


def _orchestration_ids(entries: Iterable[object]) -> Iterator[str]:
    for entry in entries:
        if isinstance(entry, RequestEntry) and entry.orchestration_id:
            yield entry.orchestration_id
