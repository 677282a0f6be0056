"""The entity's operation `delete`: a tombstone first, then everything of the thread but its receipt goes.

Theory. `deleting` ended all runs and refuses new ones. The tombstone is one append: from then on nothing older counts,
in any store, document or signal. Only then the rest is removed, and every step may be repeated: it removes what is
older than the tombstone, so a late delivery takes nothing of a later life of the thread. Archive and attachments lie
under their epoch for the same reason.

The receipt stands in the tombstone: what was deleted where, in counts and hashes, and what became of the durable
instances. It holds no text of the conversation. The entity finds the instances, and a process with a durable client
purges them, so each begins as pending; what became of them is a later event.

The entity is one of the instances, and nobody but the engine knows whether it is at work: a signal may come late, twice
or behind the deletion, and makes the entity anew after it was purged. So each operation behind the tombstone records
that the entity is there (its instance is pending), one that may take long before it begins, too. Then it leaves the
position of its last such event with the engine, in place of a state (`EntityEnd`). Whoever reads that position from the
engine, and no later one in the log, knows that the operation is committed. The receipt says that the entity is gone
only if nothing was appended since.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec.structs import astuple
from pydantic import BaseModel, ConfigDict

from hosting.core.agent.hosted_agent import HostedAgent
from hosting.core.archiving import ConversationReader, size_bytes
from hosting.core.copies import drop_unused, is_mark
from hosting.core.hooks import ThreadData, forget_messages
from hosting.core.lending import Lending
from hosting.core.stores.stores import Stores
from hosting.core.thread.commands import DeleteThread, FinishDelete, RecordInstances
from hosting.core.thread.conversation import DocumentBehind, Snapshot, resume
from hosting.core.thread.events import WITH_SESSION, Accepted, Event
from hosting.core.thread.head import Head
from hosting.core.thread.run_request import InstanceOutcome
from hosting.core.thread.sources import fork_source
from hosting.core.thread.thread_events import Deleted, DeleteReason, Deleting, Imported, InstancesRecorded
from hosting.core.thread_log import Decided, ThreadLog, epoch_store_key, store_key
from hosting.errors import ArchiveIncompleteError
from hosting.names import Address, StoreKey, store_space
from hosting.ports import EntityEnd
from state.attachments import is_hash, references, references_in
from state.codec import parse_entry, read
from state.conversation import exchanges, session_state
from state.errors import UnreadableDocumentError
from state.extension import LogMark, host_of
from state.models import Conversation, RequestEntry, ResponseEntry

PurgeOutcome = Literal["pending", "deleted", "running", "missing"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Instance(_Record):
    """A durable instance that carried messages of the thread, or is a clock of its features' data.

    `running`: it has not ended and was left alone. `missing`: this task hub does not have it, because it was purged
    before or belongs to somebody else.
    """

    id: str
    outcome: PurgeOutcome = "pending"


class Receipt(_Record):
    """The result of one deletion. `deleted_at` is in seconds since 1970, `sha256` of the stored document's UTF-8.

    `attachments` are their hashes. Other members are features' counts of their records (`ThreadData.counts`).
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    deleted_at: float
    reason: DeleteReason
    document_bytes: int
    sha256: str
    runs: int
    archived_entries: int
    attachments: tuple[str, ...] = ()
    instances: tuple[Instance, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Features' counts of their records."""
        return self.model_extra or {}

    def fields(self) -> dict[str, Any]:
        """Return it as it is stored."""
        fields = self.model_dump(mode="json")
        instances = fields.pop("instances")
        return {**fields, "instances": instances}


def read_receipt(events: Iterable[Event]) -> Receipt | None:
    """Return the receipt of a thread's last deletion, with the later outcomes of its instances; None without one."""
    found: Receipt | None = None
    for event in events:
        if isinstance(event, Deleted):
            found = Receipt.model_validate(event.receipt)
        elif isinstance(event, InstancesRecorded) and found is not None:
            outcomes = {one.id: Instance.model_validate(one.model_dump()) for one in event.instances}
            instances = tuple(_after(instance, outcomes.get(instance.id)) for instance in found.instances)
            found = found.model_copy(update={"instances": instances})
    return found


def _after(instance: Instance, recorded: Instance | None) -> Instance:
    """Return an instance as recorded; one that another process purged at the same time counts as missing."""
    is_purged = recorded is not None and (instance.outcome, recorded.outcome) == ("deleted", "missing")
    return instance if recorded is None or is_purged else recorded


def own_instance(address: Address) -> str:
    """Return the id of the instance that is the thread's entity."""
    return "@{}@{}".format(*address.entity)


def ended_at(address: Address, events: Iterable[tuple[int, Event]]) -> int:
    """Return where in these events the thread's entity last recorded that it is there, behind its tombstone, or 0.

    It has ended once it has committed that position.
    """
    is_there = InstanceOutcome(id=own_instance(address), outcome="pending")
    recorded = ((at, event) for at, event in events if isinstance(event, InstancesRecorded))
    return max((at for at, event in recorded if is_there in event.instances), default=0)


logger = logging.getLogger(__name__)

UNUSED_SECONDS = 21_600.0
"""After so long nobody refers any more to what was uploaded and is not referred to yet: six hours, and whoever appends
puts again what it put an hour ago (`core.thread_log.FRESH_SECONDS`)."""

TOMBSTONE = "address"
"""The name under which the address of an erased thread stands next to the attachments, for as long as its tombstone."""

_NAMES_ONE = '"orchestrationId"'


class ThreadDeletion:
    """Erases the threads of the app whose task hub is `hub` from every store but the entity's own state."""

    def __init__(
        self,
        log: ThreadLog,
        stores: Stores,
        agents: Mapping[str, HostedAgent] | None = None,
        thread_data: Sequence[ThreadData] = (),
    ) -> None:
        """`agents` are by their names in lower case: their context providers erase their data of a thread, too."""
        self._log = log
        self._stores = stores
        self._agents = {} if agents is None else agents
        self._thread_data = thread_data
        self._lending = Lending(log, stores)

    async def delete(self, address: Address, stored: str | None) -> bool:
        """Erase the thread if it is being deleted, or was and is not erased yet; return whether its document must go
        too.

        Of a thread that lives again only what its earlier lives left is erased: the process may have died after the
        tombstone. Raises `LogUnavailableError`, `ArchiveUnavailableError`, `AttachmentsUnavailableError` and
        `StoreUnavailableError`: the operation is to be delivered again.
        """
        head = await self._log.head(address)
        if head.state == "deleted":
            head = (await self._record_entity(address, head.epoch)).head
        if head.state == "deleting":
            receipt = await self._receipt(address, head, stored)
            if (agent := self._agents.get(address.agent)) is not None:
                await agent.clear(address, head.epoch)
            for data in self._thread_data:
                if any(receipt.counts.get(member) for member in data.counts):
                    await data.erase(address, head.epoch)
            await forget_messages(self._thread_data, address)
            if fork_source(head) is not None:
                await self._give_back(address, head, stored)
            head = (await self._log.execute(address, FinishDelete(self._log.clocks.wall(), receipt.fields()))).head
        tombstone = head.epoch if head.state == "deleted" else head.epoch - 1
        if tombstone < 0:
            return False  # it was never deleted
        mark = _mark(stored)
        await self._erase_archive(epoch_store_key(self._stores.hub, address, tombstone - 1))
        if mark is not None and mark.epoch > head.epoch:  # the log was restored without this document
            await self._erase_archive(epoch_store_key(self._stores.hub, address, mark.epoch))
            await self._stores.attachments.erase(epoch_store_key(self._stores.hub, address, mark.epoch))
        for epoch in await self._stores.attachments.epochs(store_key(self._stores.hub, address)):
            if epoch < tombstone:  # also what a process put there that knew of none of the lives since
                await self._stores.attachments.erase(epoch_store_key(self._stores.hub, address, epoch))
        await self._log.erase(address, head.trimmed)
        return head.state == "deleted" or (mark is not None and mark.epoch < head.epoch)

    async def mark(self, address: Address) -> None:
        """Put the thread's address where sweeps find it. Raises `AttachmentsUnavailableError`."""
        tombstone = StoreKey(store_space(self._stores.hub, "deleted"), address.key)
        await self._stores.attachments.put(tombstone, {TOMBSTONE: json.dumps(astuple(address)).encode()})

    async def end(self, address: Address) -> EntityEnd | None:
        """Return the state that the thread's entity leaves in the engine, if it has no document; None while it lives.

        Before that it is recorded that the entity is there, and the thread's address is put where sweeps find it: so
        nothing stays of which nobody knows. Raises `LogUnavailableError` and `AttachmentsUnavailableError`.
        """
        head = await self._log.head(address)
        if head.state != "deleted":
            return None
        await self.mark(address)
        decided = await self._record_entity(address, head.epoch)
        return EntityEnd(decided.head.epoch, decided.head.position) if decided.events else None

    async def _record_entity(self, address: Address, epoch: int) -> Decided:
        """Record after that tombstone that the thread's entity exists, for later readers."""
        is_there = (InstanceOutcome(id=own_instance(address), outcome="pending"),)
        return await self._log.execute(address, RecordInstances(self._log.clocks.wall(), epoch, is_there))

    async def expire(self, address: Address, stored: str | None) -> bool:
        """Erase an expired thread by its stored document; return and raise as `delete` does.

        It is kept where a run is open, or where the log says more than the document: an answer that is not stored yet
        begins the time anew. Whatever is appended while that is read keeps it too, until the next sweep.
        """
        head = await self._log.head(address)
        if head.state == "open":
            if await self._has_newer_events(address, head, _readable(stored)):
                return False
            decided = await self._log.execute(address, DeleteThread(self._log.clocks.wall(), "expired", head.position))
            head = decided.head
        return head.state != "open" and await self.delete(address, stored)

    async def forget(self, address: Address, stored: str | None) -> bool:
        """Erase a thread that is not stored and has its last answer; return and raise as `delete` does."""
        head = await self._log.head(address)
        if not head.is_answered(self._log.clocks.wall()):
            return False
        await self._log.execute(address, DeleteThread(self._log.clocks.wall(), position=head.position))
        return await self.delete(address, stored)

    async def _has_newer_events(self, address: Address, head: Head, stored: Conversation | None) -> bool:
        """Return whether the log changes the conversation after the document; false for a document ahead of its log."""
        found = resume(stored, head)
        if not isinstance(found, Snapshot):
            return isinstance(found, DocumentBehind)
        return found.apply(await self._log.events(address, found.since)).conversation is not found.conversation

    async def drop_uncounted(self, address: Address, epoch: int) -> None:
        """Have features remove what they keep of runs that count no more. Raises `AttachmentsUnavailableError`."""
        for data in self._thread_data:
            if data.drop is not None:
                await data.drop(address, epoch)

    async def erase_older(self, address: Address) -> None:
        """Erase the rest of earlier lives of the thread, of an upload that came after their end.

        Raises `ArchiveUnavailableError` and `AttachmentsUnavailableError`.
        """
        head, thread = await self._log.head(address), store_key(self._stores.hub, address)
        for epoch in await self._stores.archive.epochs(thread):
            if epoch < head.epoch:
                await self._erase_archive(epoch_store_key(self._stores.hub, address, epoch))
        for epoch in await self._stores.attachments.epochs(thread):
            if epoch < head.epoch:
                await self._stores.attachments.erase(epoch_store_key(self._stores.hub, address, epoch))

    async def _erase_archive(self, store_key: StoreKey) -> None:
        """Erase one life of the thread from the archive, once its forks have their copies of it."""
        await self._stores.archive.erase(store_key, end_loans=self._lending.end)

    async def _give_back(self, address: Address, head: Head, stored: str | None) -> None:
        """End the loans to a fork that is deleted, by its document, or by its first event if none was stored."""
        conversation = _readable(stored)
        if conversation is None and head.imported is not None:
            at = head.imported.position
            begun = [event for _, event in await self._log.events(address, at - 1, through=at)]
            conversation = next((read(event.text) for event in begun if isinstance(event, Imported)), None)
        if conversation is not None:
            await self._lending.give_back(epoch_store_key(self._stores.hub, address, head.epoch), conversation)

    async def erase_unused(self, address: Address, stored: str | None) -> None:
        """Erase the thread's uploads older than `UNUSED_SECONDS` without a reference.

        Somebody put it there whose append or commit conflicted, or who died. Raises `LogUnavailableError`,
        `AttachmentsUnavailableError` and `ArchiveUnavailableError`. Where the document or the archive cannot be read,
        nobody knows what they refer to, and all of it stays.
        """
        before = self._log.clocks.wall() - UNUSED_SECONDS
        head = await self._log.head(address)
        try:
            document = None if stored is None else read(stored)
            mark = None if document is None else host_of(document).log_mark
            for epoch in await self._stores.attachments.epochs(store_key(self._stores.hub, address)):
                if epoch > max(head.epoch, -1 if mark is None else mark.epoch):  # of a life that did not begin
                    unborn = epoch_store_key(self._stores.hub, address, epoch)
                    put_at = await self._stores.attachments.names(unborn)
                    await drop_unused(self._stores, unborn, [one for one, at in put_at.items() if at < before])
                    await self._stores.attachments.erase(unborn, before=before)
            if head.state == "open":
                await self._erase_unreferred(address, head, document, before)
        except (UnreadableDocumentError, ArchiveIncompleteError):
            logger.warning("The references of thread %s of agent %s cannot be read.", address.thread_id, address.agent)

    async def _erase_unreferred(
        self, address: Address, head: Head, document: Conversation | None, before: float
    ) -> None:
        """Erase attachments of the present life without a reference from its events or their conversation."""
        store_key = epoch_store_key(self._stores.hub, address, head.epoch)
        names = await self._stores.attachments.names(store_key)
        unused = {name for name, put_at in names.items() if put_at < before and (is_hash(name) or is_mark(name))}
        for data in self._thread_data:
            long_ago = self._log.clocks.wall() - data.keeps_seconds
            records = [name for name, put_at in names.items() if put_at < long_ago and name.startswith(data.prefixes)]
            if records:
                await self._stores.attachments.erase(store_key, records, before=long_ago)
        if unused:
            unused -= await self._log.attachment_hashes(address, head.epoch)
        found = resume(document, head)
        if unused and isinstance(found, Snapshot):
            events = await self._log.events(address, head.trimmed)
            # What a run refers to that has not ended, or a fork that ends with an earlier one.
            unused -= references_in([event.session for _, event in events if isinstance(event, WITH_SESSION)])
            found = found.apply([event for event in events if event[0] > found.since])  # one may bring a conversation
            unused -= await self._referred(store_key, found.conversation)
            await drop_unused(self._stores, store_key, unused, host_of(found.conversation).generation)
            await self._stores.attachments.erase(store_key, unused, before=before)

    async def _referred(self, store_key: StoreKey, conversation: Conversation) -> set[str]:
        """Return the hashes of the attachments that a conversation refers to, its archive included."""
        referred = set(references_in(session_state(conversation)).union(*map(references, exchanges(conversation))))
        async for texts in ConversationReader(store_key, conversation, self._stores.archive).archived_blocks():
            older = (entry for entry in map(parse_entry, texts) if isinstance(entry, RequestEntry | ResponseEntry))
            referred = referred.union(*map(references, older))
        return referred

    async def _receipt(self, address: Address, head: Head, stored: str | None) -> Receipt:
        text, conversation = stored or "", _readable(stored)
        events = [event for _, event in await self._log.events(address, head.trimmed)]
        store_key = epoch_store_key(self._stores.hub, address, head.epoch)
        reason, carrying = _reason(events), list[str]()
        if reason != "assigned":  # what carried a thread's messages goes with them, and these only change their owner
            carrying += [] if conversation is None else await self._orchestrations(address, store_key, conversation)
            carrying += [id_ for one in events if isinstance(one, Accepted) and (id_ := one.request.orchestration_id)]
        names = sorted(await self._stores.attachments.names(store_key))
        counts = dict[str, int]()
        for data in self._thread_data:
            counts |= data.counted(names)
            if any(name.startswith(data.prefixes) for name in names):
                carrying += await data.clocks(address, head.epoch)
        return Receipt(
            deleted_at=self._log.clocks.wall(),
            reason=reason,
            document_bytes=size_bytes(text),
            sha256=hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest(),
            runs=sum(isinstance(event, Accepted) for event in events),
            archived_entries=0 if conversation is None else host_of(conversation).archived.entries,
            attachments=tuple(filter(is_hash, names)),
            **counts,
            instances=tuple(Instance(id=name) for name in dict.fromkeys([*carrying, own_instance(address)])),
        )

    async def _orchestrations(self, address: Address, store_key: StoreKey, conversation: Conversation) -> list[str]:
        """Return the orchestrations that a conversation names. An archive with a gap is no reason to keep the rest."""
        named: dict[str, None] = {}
        try:
            async for texts in ConversationReader(store_key, conversation, self._stores.archive).archived_blocks():
                named |= dict.fromkeys(_orchestration_ids([parse_entry(text) for text in texts if _NAMES_ONE in text]))
        except ArchiveIncompleteError:
            logger.warning("The archive of thread %s of agent %s has a gap.", address.thread_id, address.agent)
        return [*named, *_orchestration_ids(conversation.data.conversation_history.stored)]


def _mark(stored: str | None) -> LogMark | None:
    conversation = _readable(stored)
    return None if conversation is None else host_of(conversation).log_mark


def _readable(stored: str | None) -> Conversation | None:
    try:
        return None if stored is None else read(stored)
    except UnreadableDocumentError:
        return None  # it goes all the same


def _reason(events: Sequence[Event]) -> DeleteReason:
    return next((event.reason for event in reversed(events) if isinstance(event, Deleting)), "asked")


def _orchestration_ids(entries: Iterable[object]) -> list[str]:
    return [id_ for entry in entries if isinstance(entry, RequestEntry) and (id_ := entry.orchestration_id)]
