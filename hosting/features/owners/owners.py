"""All that one owner has in an app: listed for an export, deleted, or assigned to them.

Theory. What is stored decides, and not which agents the app has now: an agent may be left out for a while, or have
another name since, and the threads with it are the owner's still. Only what an agent's own context providers keep
elsewhere is reached by that agent alone, so an erasure names those that the app does not have.

A deletion of everything is the deletions of each thread, which are durable by themselves: what was begun is
finished whatever dies, and the caller again continues with what is left. It ends when a list has nothing alive any
more, so a thread that was begun meanwhile goes too. Receipts stand in the tombstones.

A thread from before the app knew its callers is assigned to a person. The person's thread begins with one event, which
holds the whole conversation and says where it came from; its pictures and files are put before it. Uploaded files are
noted before it, and come right behind it. Then the app's
thread is deleted, if it still stands where it was read. So nothing is lost whenever this dies: before the event nothing
has happened, and after it a repeat finds it and continues to the deletion. Runs stay behind with their thread; the
conversation is what moves.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from hosting.core.deletion import Receipt
from hosting.core.purging import Purging
from hosting.core.signals import Signals
from hosting.core.stores.stores import Stores
from hosting.core.thread.commands import DeleteThread, ImportThread, Refused
from hosting.core.thread.head import Head
from hosting.core.thread.sources import AssignedSource, assigned_source
from hosting.core.thread_log import ThreadLog, epoch_store_key
from hosting.core.threads import Threads
from hosting.errors import ThreadChangedError, ThreadDeletingError, UnknownThreadError
from hosting.feature import CarriesFiles, OwnerData
from hosting.names import Address, check_thread_id
from hosting.ports import ClockClient
from hosting.principal import Caller, Principal
from state.codec import write
from state.conversation import owned_by

_AT_ONCE = 8
_PAGE = 100


class ErasedOwner(Struct, frozen=True):
    """The owner's threads that are gone, with their receipts; `is_complete` where none is left.

    `unreached` are the agents of these that the app does not have, by their names in lower case: what their own context
    providers keep is where it was. `counts` says by kind how much was removed that is no thread's.
    """

    threads: tuple[tuple[Address, Receipt], ...]
    is_complete: bool
    unreached: tuple[str, ...]
    counts: Mapping[str, int] = {}


class Owners:
    """Owners' threads with whichever agents, and the `data` of owners that features keep.

    `is_absent` says of an agent's name that the app does not have it now.
    """

    def __init__(
        self,
        log: ThreadLog,
        threads: Threads,
        purging: Purging,
        stores: Stores,
        is_absent: Callable[[str], bool],
        *,
        data: Sequence[OwnerData],
        files: CarriesFiles,
    ) -> None:
        self._log = log
        self._threads = threads
        self._purging = purging
        self._stores = stores
        self._signals = Signals(log)
        self._is_absent = is_absent
        self._data, self._files = data, files

    @property
    def exported(self) -> Sequence[OwnerData]:
        """The data that an export has besides the threads."""
        return [part for part in self._data if part.member]

    @property
    def counted(self) -> Sequence[OwnerData]:
        """The data that a receipt counts."""
        return [part for part in self._data if part.counted]

    async def erase(self, caller: Caller, seconds: float) -> ErasedOwner:
        """Delete all that the owner has, and return the receipts of the threads that are gone.

        It is complete once no instance that a receipt names is pending. After so many seconds what is left continues by
        itself, or with the next call. Raises as `Threads.delete` and `OwnerData.erase` do.
        """
        beginning, is_left = [part for part in self._data if part.begins_runs], True
        while is_left:
            for part in beginning:
                await part.erase(caller)
            erased = await self._erase_threads(caller, seconds)
            is_left = erased.is_complete and any([await part.export(caller) for part in beginning])
        if not erased.is_complete:
            return erased
        counts = {part.member: await part.erase(caller) for part in self._data if not part.begins_runs}
        return replace(erased, counts={member: count for member, count in counts.items() if count})

    async def _erase_threads(self, caller: Caller, seconds: float) -> ErasedOwner:
        clock = asyncio.get_running_loop().time
        end, gate = clock() + seconds, asyncio.Semaphore(_AT_ONCE)

        async def delete(address: Address) -> bool:
            async with gate:
                return await self._threads.delete(address, caller.client, max(0.0, end - clock()))

        async def purge(address: Address) -> tuple[Address, Receipt | None]:
            async with gate:
                with suppress(UnknownThreadError, ThreadDeletingError):  # it has begun anew meanwhile
                    receipt = await self._threads.receipt(address)
                    if any(instance.outcome == "pending" for instance in receipt.instances):
                        await self._purging.purge(address, caller.client, max(0.0, end - clock()))
                        receipt = await self._threads.receipt(address)
                    return address, receipt
            return address, None

        is_complete = False
        while not is_complete and clock() < end:
            alive = [address async for address, state in self.listed(caller.owner) if state != "deleted"]
            is_complete = not alive
            if not all(await asyncio.gather(*map(delete, alive))):
                break
        receipts = await asyncio.gather(
            *[purge(address) async for address, state in self.listed(caller.owner) if state == "deleted"]
        )
        deleted = tuple((address, receipt) for address, receipt in receipts if receipt is not None)
        is_complete &= not any(one.outcome == "pending" for _, receipt in deleted for one in receipt.instances)
        unreached = {address.agent for address, _ in deleted if self._is_absent(address.agent)}
        return ErasedOwner(deleted, is_complete, tuple(sorted(unreached)))

    async def assign(self, address: Address, principal: Principal, client: ClockClient, seconds: float) -> bool:
        """Assign the thread to the principal, under the same id; return whether the old copy is deleted by now.

        Again changes nothing. Raises `UnknownThreadError` where there is no such thread, `ThreadChangedError` where
        runs of it are open, approvals wait, it changes meanwhile, or the principal has a thread of that id that did
        not come from there; `InvalidThreadIdError` for an id that is too long next to an owner; and as `Threads.export`
        and `Threads.delete` do.
        """
        thread_id = check_thread_id(address.thread_id, address.agent, principal.owner)
        target = Address.of(address.agent, thread_id, principal.owner)
        head, copy = await self._log.head(address), await self._log.head(target)
        copied = assigned_source(copy)
        if head.state != "open":
            if copied is None or copied.key != address.key:
                raise UnknownThreadError(f"There is no thread {address.thread_id[:80]!r} of {address.agent!r}.")
            return await self._threads.delete(address, client, seconds)
        source = AssignedSource.of(address, head)
        if copied != source:
            if head.runs or head.waiting is not None:
                raise ThreadChangedError("Runs of the thread are open or wait for approvals. Try again when they end.")
            copy = await self._import(address, target, source, principal, client)
        assert copy.imported is not None
        await self._signals.store(target, copy.imported.position, client)
        await self._files.finish((target, copy.epoch), source.text, client)
        decided = await self._log.execute(address, DeleteThread(self._log.clocks.wall(), "assigned", head.position))
        if decided.head.state == "open":
            raise ThreadChangedError("The thread changed. Try again.")
        return await self._threads.delete(address, client, seconds)

    async def _import(
        self, address: Address, target: Address, source: AssignedSource, principal: Principal, client: ClockClient
    ) -> Head:
        export = await self._threads.export(address, client)
        copy = await self._log.head(target)
        epoch = copy.epoch + 1 if copy.state == "deleted" else copy.epoch
        for name in export.attachments.names:
            if (content := await export.attachments.read(name)) is not None:
                await self._stores.attachments.put(epoch_store_key(self._stores.hub, target, epoch), {name: content})
        await self._files.begin((address, source.epoch), (target, epoch), source.text)
        conversation = export.conversation or export.view.conversation
        text = write(owned_by(conversation, principal.issuer, principal.id))
        begin = ImportThread(self._log.clocks.wall(), text, source, epoch, export.view.head.metadata)
        decided = await self._log.execute(target, begin)
        if isinstance(decided.outcome, Refused):
            await self._files.give_up((target, epoch), source.text)
            raise decided.outcome.error
        return decided.head

    async def listed(self, owner: str, after: tuple[str, str] = ("", "")) -> AsyncIterator[tuple[Address, str]]:
        """Iterate over the owner's threads that the log knows after that agent and id, each with its state."""
        for agent in await self._log.agents():
            thread_id = after[1] if agent == after[0] else ""
            page = [] if agent < after[0] else await self._log.threads(agent, owner, thread_id, _PAGE)
            while page:
                for address, head in page:
                    yield address, head.state
                page = await self._log.threads(agent, owner, page[-1][0].thread_id, _PAGE)
