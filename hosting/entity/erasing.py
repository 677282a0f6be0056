"""The entity's operations `delete` and `expire`: nothing of a thread is left but a receipt.

Theory. Both are signals, so both may be delivered twice, and a crash may come between any two steps. Erasing the runs
is the first step and the one that decides: it stores the thread's mark with the digest of the text that is deleted. The
same text delivered again is deleted again, each step anew; a conversation that began since is not. The receipt is
stored before the entity commits, and never replaced by a second delivery. To expire is to delete unless a run is open
or somebody else deletes already; that its time is up is for the document to say. Source: turn.md, Records 11.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from hosting.entity.attaching import Attaching
from hosting.entity.capacity import size_bytes
from hosting.entity.receipt import Instance, Reason, Receipt, encode
from hosting.entity.whole_conversation import WholeConversation
from hosting.errors import ArchiveIncompleteError
from hosting.events import Place
from hosting.names import entity_name
from hosting.ports import ArchiveStore, Clock, Deletion
from hosting.runlog.log import RunLog
from state.archived import archived
from state.codec import held_entry
from state.models import Conversation, RequestEntry

logger = logging.getLogger(__name__)

_NAMES_ONE = '"orchestrationId"'
RUNS_LOOKED_AT = 100
"""How many of a thread's newest runs are looked through for orchestrations: the older ones are in the conversation."""


@dataclass(frozen=True)
class Doomed:
    """A thread that is to go: its stored text, and what that reads as if it can be read."""

    place: Place
    text: str
    conversation: Conversation | None


class Erasing:
    """Erases the threads of one app from every store but the entity's own state, which its caller then drops."""

    def __init__(self, log: RunLog, archive: ArchiveStore, attaching: Attaching, clock: Clock) -> None:
        self._log = log
        self._archive = archive
        self._attaching = attaching
        self._clock = clock

    async def delete(self, thread: Doomed, deletion_id: str) -> bool:
        """Erase the thread if that is still to be done under this id; tell whether the stored text must go too."""
        place = thread.place
        mark = await self._log.deletion(place)
        if mark is None or mark.id != deletion_id:
            logger.info("A signal to delete thread %s of agent %s is done already.", place.thread_id, place.agent)
            return False
        if mark.digest is not None and mark.digest != _digest(thread.text):
            return False
        await self._erase(thread, mark, "asked")
        return True

    async def expire(self, thread: Doomed, deletion_id: str) -> bool:
        """Erase a thread whose time is up, if none of its runs is open; tell as `delete` does."""
        mark = await self._log.deletion(thread.place)
        if mark is not None and mark.digest is None:
            return False
        if mark is None or (mark.id, mark.digest) != (deletion_id, _digest(thread.text)):
            mark = Deletion(deletion_id)
        return await self._erase(thread, mark, "expired")

    async def _erase(self, thread: Doomed, mark: Deletion, reason: Reason) -> bool:
        instances = () if mark.receipt is not None else await self._instances(thread)
        if mark.digest is None:
            ending = replace(mark, digest=_digest(thread.text))
            erased = await self._log.erase(thread.place, ending, unless_open=reason == "expired")
            if erased is None:
                return False
            mark = erased
        if mark.receipt is None:
            receipt = Receipt(
                deleted_at=self._clock(),
                reason=reason,
                document_bytes=size_bytes(thread.text),
                sha256=_digest(thread.text),
                runs=mark.runs,
                archived_entries=0 if thread.conversation is None else archived(thread.conversation).entries,
                attachments=await self._attaching.hashes(thread.place),
                instances=instances,
            )
            await self._log.settle(thread.place, replace(mark, receipt=encode(receipt)))
        await self._archive.erase(thread.place)
        await self._attaching.erase(thread.place)
        return True

    async def _instances(self, thread: Doomed) -> tuple[Instance, ...]:
        """Return the orchestrations that called the agent on this thread, and the thread's own entity."""
        place = thread.place
        records = await self._log.runs_of(place, RUNS_LOOKED_AT)
        said = [] if thread.conversation is None else await self._orchestrations(place, thread.conversation)
        found = [*said, *(record.accepted.request.orchestration_id for record in reversed(records))]
        own = f"@{entity_name(place.agent)}@{place.thread_id}"
        return tuple(Instance(id=name) for name in dict.fromkeys([*filter(None, found), own]))

    async def _orchestrations(self, place: Place, conversation: Conversation) -> list[str]:
        """Return the orchestrations that a conversation names. An archive with a gap is no reason to keep the rest."""
        whole = WholeConversation(place, conversation, self._archive)
        named: dict[str, None] = {}
        try:
            async for texts in whole.archived_blocks():
                older = [held_entry(text) for text in texts if _NAMES_ONE in text]
                named |= dict.fromkeys(_orchestration_ids(older))
        except ArchiveIncompleteError:
            logger.warning("The archive of thread %s of agent %s has a gap.", place.thread_id, place.agent)
        recent = conversation.data.conversation_history.held
        return [*named, *_orchestration_ids(recent)]


def _orchestration_ids(entries: Iterable[object]) -> Iterator[str]:
    for entry in entries:
        if isinstance(entry, RequestEntry) and entry.orchestration_id:
            yield entry.orchestration_id


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
