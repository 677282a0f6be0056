"""Hands a thread of the app to a person: the threads from before an app knew the caller.

Theory. The person's thread begins with one event, which holds the whole conversation and says where it came from; its
pictures and files are put before it. Then the app's thread is deleted, if it still stands where it was read. So nothing
is lost whenever this dies: before the event nothing has happened, and after it a repeat finds it and continues to the
deletion. Runs stay behind with their thread; the conversation is what moves.
"""

from __future__ import annotations

from hosting.errors import ThreadChangedError, UnknownThreadError
from hosting.names import Address, check_thread_id
from hosting.ports import EntityClient, ObjectStore
from hosting.principal import Principal
from hosting.runner.thread_log import ThreadLog, epoch_store_key
from hosting.service.threads import ThreadExport, Threads
from hosting.thread.commands import DeleteThread, ImportThread, Refused
from state.codec import write
from state.conversation import owned_by, with_older
from state.extension import host_of
from state.models import Conversation, entry_text


class Assigning:
    """Assigns threads, for the app whose task hub is `hub`."""

    def __init__(self, log: ThreadLog, threads: Threads, attachments: ObjectStore, hub: str) -> None:
        self._log = log
        self._threads = threads
        self._attachments = attachments
        self._hub = hub

    async def assign(self, address: Address, principal: Principal, client: EntityClient, seconds: float) -> bool:
        """Make the thread one of the principal's, under the same id; return whether the old one is gone by now.

        Again changes nothing. Raises `UnknownThreadError` where there is no such thread, `ThreadChangedError` where
        runs of it are open, approvals wait, it changes meanwhile, or the principal has a thread of that id that did
        not come from there; `InvalidThreadIdError` for an id that is too long next to an owner; and as `Threads.export`
        and `Threads.delete` do.
        """
        thread_id = check_thread_id(address.thread_id, address.agent, principal.owner)
        target = Address.of(address.agent, thread_id, principal.owner)
        head, there = await self._log.head(address), await self._log.head(target)
        if head.state != "open":
            if there.imported is None or not there.imported.source.startswith(f"{address.key}/"):
                raise UnknownThreadError(f"Agent {address.agent!r} has no thread {address.thread_id[:80]!r}.")
            return await self._threads.delete(address, client, seconds)
        source = f"{address.key}/{head.epoch}/{head.position}"
        if there.imported is None or there.imported.source != source:
            if head.runs or head.waiting is not None:
                raise ThreadChangedError("Runs of the thread have not ended, or wait for approvals. Try again then.")
            await self._import(address, target, source, principal, client)
        decided = await self._log.execute(address, DeleteThread(self._log.clocks.wall(), "assigned", head.position))
        if decided.head.state == "open":
            raise ThreadChangedError("The thread went on meanwhile. Try again.")
        return await self._threads.delete(address, client, seconds)

    async def _import(
        self, address: Address, target: Address, source: str, principal: Principal, client: EntityClient
    ) -> None:
        export = await self._threads.export(address, client)
        there = await self._log.head(target)
        epoch = there.epoch + 1 if there.state == "deleted" else there.epoch
        if export.attachments:
            await self._attachments.put(epoch_store_key(self._hub, target, epoch), export.attachments)
        text = write(owned_by(_with_its_log(export), principal.issuer, principal.id))
        decided = await self._log.execute(target, ImportThread(self._log.clocks.wall(), text, source, epoch))
        if isinstance(decided.outcome, Refused):
            raise decided.outcome.error
        # Any run's signal has its entity store what the log has.
        await client.signal(*target.entity, "run", {"run_id": "imported", "logged": True})


def _with_its_log(export: ThreadExport) -> Conversation:
    """Return the whole conversation, with what the log has after the stored document, which an export has apart."""
    conversation = export.view.conversation
    older = export.conversation.data.conversation_history.stored[: host_of(conversation).archived.entries]
    return with_older(conversation, [entry_text(entry) for entry in older])
