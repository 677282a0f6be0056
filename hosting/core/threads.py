"""Threads as callers see them: listed, read, exported, reset, deleted.

Theory. A reader gets the document and the log after it, so an answer is there as soon as it was given. A reset and a
deletion are events first: from then on they hold in every process, and a signal makes the entity carry them out. A
reset is answered when its signal is taken, a deletion when its tombstone stands: nothing of the thread can come back
after that, whatever dies.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from hosting.core.absent_agents import AbsentAgents
from hosting.core.archiving import ConversationReader, lent_to, size_bytes
from hosting.core.care import PACE
from hosting.core.conversations import Conversations
from hosting.core.deletion import Receipt, read_receipt
from hosting.core.document_writer import DocumentWriter, following
from hosting.core.held_runs import HeldRuns
from hosting.core.hooks import ThreadData
from hosting.core.purging import Purging
from hosting.core.signals import Signals
from hosting.core.stores.stores import Stores
from hosting.core.thread.commands import DeleteThread, DescribeThread, Refused, ResetThread
from hosting.core.thread.conversation import Snapshot
from hosting.core.thread.events import TERMINALS, Event
from hosting.core.thread.head import Head
from hosting.core.thread.run import Run
from hosting.core.thread_log import Decided, ThreadLog, epoch_store_key
from hosting.core.thread_operations import Store
from hosting.core.thread_view import MessagesPage, NamedAttachments, ThreadExport, ThreadView, runs_of, written_sessions
from hosting.errors import ArchiveIncompleteError, LogUnavailableError, ThreadDeletingError, UnknownThreadError
from hosting.listing import Window
from hosting.metadata import Value
from hosting.names import APP, Address, StoreKey, entity_name
from hosting.ports import EntityClient, EntityPage, iso
from state.attachments import references, references_in
from state.conversation import exchanges, session_state, with_older

logger = logging.getLogger(__name__)

T = TypeVar("T")
_POLLS = 3
_NO_ENDS: Mapping[str, float] = {}
_COMMIT_SECONDS = 5.0
"""The wait of the deleting process, after the tombstone, for the entity's commit."""
_PATIENCE_SECONDS = 1.0
"""After this time the entity is signalled for a deletion that another process began."""


class Threads:
    """Reads threads and forgets them, for every surface of the app whose task hub is `hub`."""

    def __init__(
        self,
        log: ThreadLog,
        conversations: Conversations,
        stores: Stores,
        holders: HeldRuns,
        *,
        documents: DocumentWriter,
        purging: Purging,
        absent: AbsentAgents,
        ttls: Mapping[str, float] = _NO_ENDS,
        thread_data: Sequence[ThreadData] = (),
    ) -> None:
        """`ttls` are agents' times to live in seconds, by their names in lower case."""
        self._documents = documents
        self._purging = purging
        self._absent = absent
        self._ttls = ttls
        self._thread_data = thread_data
        self._holders = holders
        self._log = log
        self._conversations = conversations
        self._stores = stores
        self._signals = Signals(log)

    async def page(self, agent: str, owner: str, limit: int, cursor: str | None, client: EntityClient) -> EntityPage:
        """Return a page of the owner's threads with the agent, in the order of the store.

        The app's own are those that the engine has, for many are older than their logs, or were made by others; a
        page of them may be shorter than the limit although there is a next one. Everybody else's are one range of the
        log. Raises `EngineUnavailableError` and `LogUnavailableError`.
        """
        if owner == APP:
            page = await client.list(entity_name(agent), limit, cursor)
            return replace(page, keys=tuple(one for one in page.keys if Address.of_entity(agent, one[0]).owner == APP))
        found = await self._log.threads(agent, owner, cursor or "", limit + 1)
        keys = tuple((one.thread_id, iso(head.changed_at)) for one, head in found[:limit] if head.state != "deleted")
        return EntityPage(keys, found[limit - 1][0].thread_id if len(found) > limit else None)

    async def view(self, address: Address, client: EntityClient) -> ThreadView:
        """Return a thread.

        Raises `UnknownThreadError` when there is neither a conversation nor a run, `ThreadDeletingError` while it is
        being deleted, `UnreadableStateError` for a document that cannot be read or is ahead of its log,
        `EngineUnavailableError` and `LogUnavailableError`.
        """
        for _ in range(_POLLS):
            head, text = await self._found(address, client)
            snapshot, text, head = await self._conversations.resumed(address, text, head, client)
            events = await self._log.events(address, head.trimmed, through=head.position)
            if len(events) == head.position - head.trimmed:
                return self._view(address, head, None if snapshot.discards else text, snapshot, events)
        raise LogUnavailableError("The thread changes while it is read. Try again.")

    def _view(
        self, address: Address, head: Head, text: str | None, snapshot: Snapshot, events: Sequence[tuple[int, Event]]
    ) -> ThreadView:
        """Return the thread with the document that its entity stores once it has come by."""
        runs, written = tuple(runs_of(address, events)), written_sessions(events)
        stored = None if text is None else snapshot.conversation
        followed = snapshot.apply([one for one in events if one[0] > snapshot.since])
        ended = tuple(event for at, event in events if at > snapshot.position and isinstance(event, TERMINALS))
        if stored is not None and followed.conversation is stored and not ended:
            return ThreadView(address, head, text, stored, stored, True, runs, written)
        document = following(stored, Store(followed, head, ended), self._ttls.get(address.agent))
        conversation = followed.conversation if document is None else document
        return ThreadView(address, head, text, stored, conversation, document is not None, runs, written)

    def size_bytes(self, view: ThreadView) -> int:
        """Return how many bytes the thread's document has, or will have once its entity has come by."""
        if view.text is not None and view.conversation is view.stored:
            return size_bytes(view.text)
        return self._documents.size_bytes(view.conversation, view.stored) if view.has_document else 0

    async def runs(self, address: Address, limit: int, client: EntityClient) -> tuple[Head, list[Run]]:
        """Return the thread's head and its newest runs. Raises as `view` does."""
        head, _ = await self._found(address, client)
        return head, runs_of(address, await self._log.events(address, head.trimmed))[:limit]

    async def messages(self, address: Address, window: Window, client: EntityClient) -> MessagesPage:
        """Return a window of the conversation. Raises as `view` and the archive do."""

        async def read_page(view: ThreadView) -> MessagesPage:
            reader = ConversationReader(self._store_key(view), view.conversation, self._stores.archive)
            return MessagesPage(*await reader.page(window))

        return await self._read_twice(address, client, read_page)

    async def export(self, address: Address, client: EntityClient) -> ThreadExport:
        """Return everything that is kept about a thread. Raises as `messages` does."""

        async def read_all(view: ThreadView) -> ThreadExport:
            apart, store_key = self._documents.apart(view.conversation, view.stored), self._store_key(view)
            older = await ConversationReader(store_key, apart.conversation, self._stores.archive).archived_texts()
            whole = with_older(apart.conversation, older)
            named = references_in(session_state(whole)).union(*map(references, exchanges(whole)))
            lenders = [lent.volume.thread for lent in lent_to(store_key, apart.conversation)]
            # A lender that ends a loan puts what it lent there first: so the thread's own is looked at once more.
            places = (store_key, *lenders, store_key) if lenders else (store_key,)
            attachments = NamedAttachments(named, apart.attachments, self._stores.attachments, places)
            conversation = whole if view.has_document else None
            kept, hidden = dict[str, Any](), dict[str, Any]()
            for data in self._thread_data:
                kept |= await data.export(address, view.head.epoch)
                hidden |= data.empty
            return ThreadExport(view, conversation, attachments, kept, hidden)

        return await self._read_twice(address, client, read_all)

    async def reset(self, address: Address, client: EntityClient) -> None:
        """Have the conversation forgotten; returns once that holds in every process and its signal is taken.

        Raises `UnknownThreadError` as `view` does, `ThreadDeletingError`, `EngineUnavailableError` and
        `LogUnavailableError`.
        """
        await self._found(address, client)
        decided = await self._holders.execute(address, ResetThread(self._log.clocks.wall()))
        if isinstance(decided.outcome, Refused):
            await self._carry_out(address, client)
            raise decided.outcome.error
        await self._signals.store(address, decided.head.reset_at, client, "reset")

    async def known_head(self, address: Address, client: EntityClient) -> Head:
        """Return the head of a thread that is there, also of one that another package stored. Raises as `view`."""
        head = await self._log.head(address)
        return head if head.position and head.state == "open" else (await self.view(address, client)).head

    async def describe(
        self,
        address: Address,
        metadata: Mapping[str, Value | None],
        client: EntityClient,
        *,
        described: int | None = None,
        replaces: bool = False,
    ) -> Head:
        """Change the metadata of the thread, or only that which was `described` there; a new thread begins with it.

        Null removes a member; where it `replaces`, so do all that are not sent. Returns the head once the signal is
        taken with which the thread's time begins. Raises `ThreadChangedError` where it is other metadata by now,
        `InvalidFieldError` where it is too much with the rest, `ThreadDeletingError`, `ThreadDeletedError`,
        `EngineUnavailableError` and `LogUnavailableError`.
        """
        head = await self._log.head(address)
        describe = DescribeThread(self._log.clocks.wall(), head.epoch, metadata, described, replaces)
        decided = await self._holders.execute(address, describe)
        if isinstance(decided.outcome, Refused):
            raise decided.outcome.error
        await self._signals.store(address, decided.head.described, client)
        return decided.head

    async def delete(self, address: Address, client: EntityClient, seconds: float) -> bool:
        """Have the thread deleted, its open runs ended first; return whether nothing of it can come back any more.

        False: that is still under way after so many seconds. A thread that is not there is deleted already. What its
        receipt names is purged once it is gone, and tried again each time. Raises `EngineUnavailableError` and
        `LogUnavailableError`.
        """
        head = await self._log.head(address)
        if head.position == 0 and await client.read(*address.entity) is None:
            return True
        if head.state != "deleted":
            await self._absent.prepare(address)
            decided = await self._holders.execute(address, DeleteThread(self._log.clocks.wall()))
            if decided.head.state != "deleted" and not await self._tombstone(address, decided, client, seconds):
                return False
        elif await self._has_returned(address, client):
            await self._carry_out(address, client)
            await self._until(lambda: self._purging.is_owed(address), min(seconds, _COMMIT_SECONDS))
        await self._purging.purge(address, client, min(seconds, _COMMIT_SECONDS))
        return True

    async def _tombstone(self, address: Address, decided: Decided, client: EntityClient, seconds: float) -> bool:
        """Return whether the deletion's tombstone stands after at most so many seconds.

        Whoever began the deletion signals it. Others do so where that takes long, for whoever began may have died: a
        signal that comes behind the tombstone makes the entity anew.
        """

        async def is_deleted() -> bool:
            return (await self._log.head(address)).epoch != decided.head.epoch

        patience = 0.0 if decided.events else min(seconds, _PATIENCE_SECONDS)
        if patience and await self._until(is_deleted, patience):
            return True
        await self._carry_out(address, client)
        return await self._until(is_deleted, seconds - patience)

    async def _carry_out(self, address: Address, client: EntityClient) -> None:
        """Finish a deletion: by the thread's entity, or here if the app has no such entity."""
        if self._absent.has(address.agent):
            await self._absent.erase(address, client)
        else:
            await self._signals.delete(address, client)

    async def _has_returned(self, address: Address, client: EntityClient) -> bool:
        """Return whether the engine has an entity that is purged by the receipt, or a document of a deleted thread."""
        if await self._purging.is_owed(address):
            return await client.read(*address.entity) is not None
        return await client.ended(*address.entity) != "missing"

    async def _until(self, is_done: Callable[[], Awaitable[bool]], seconds: float) -> bool:
        clock = asyncio.get_running_loop().time
        end, pause = clock() + seconds, PACE.first
        while not await is_done():
            if (left := end - clock()) <= 0 or self._holders.draining.is_set():
                return False
            await asyncio.sleep(min(pause, left))
            pause = PACE.after(pause)
        return True

    async def receipt(self, address: Address) -> Receipt:
        """Return the receipt of the thread's last deletion.

        Raises `ThreadDeletingError` while that continues, `UnknownThreadError` when there was none or it was removed.
        """
        head = await self._log.head(address)
        if head.state == "deleting":
            raise _deleting(address.thread_id)
        found = read_receipt(event for _, event in await self._log.events(address, head.trimmed))
        if found is None:
            raise UnknownThreadError(
                f"There is no deletion receipt of thread {address.thread_id[:80]!r} of {address.agent!r}."
            )
        return found

    async def _found(self, address: Address, client: EntityClient) -> tuple[Head, str | None]:
        """Return the thread's head and its document as it is stored; raises as `view` does."""
        head = await self._log.head(address)
        if head.state == "deleting":
            await self._carry_out(address, client)  # whoever began it may have died before
            raise _deleting(address.thread_id)
        text = None if head.state == "deleted" else await client.read(*address.entity)
        if head.state == "deleted" or (head.position == 0 and text is None):
            raise UnknownThreadError(
                f"There is no thread {address.thread_id[:80]!r} of {address.agent!r}. The first run creates it."
            )
        return head, text

    async def _read_twice(
        self, address: Address, client: EntityClient, read: Callable[[ThreadView], Awaitable[T]]
    ) -> T:
        """Read a thread and its archive; once more where the thread was reset or deleted between the two."""
        try:
            return await read(await self.view(address, client))
        except ArchiveIncompleteError:
            return await read(await self.view(address, client))

    def _store_key(self, view: ThreadView) -> StoreKey:
        return epoch_store_key(self._stores.hub, view.address, view.head.epoch)


def _deleting(thread_id: str) -> ThreadDeletingError:
    return ThreadDeletingError(f"Thread {thread_id[:80]!r} is being deleted. Try again in a moment.")
