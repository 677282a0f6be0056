"""Sweeps find data to delete that no request touches: expired threads, tombstones, and unused uploads.

The sweep decides nothing. It lists the threads that have not been used for so long, a page at a time, and signals each;
the entity checks its own document, clock and runs. So a message at the last second wins, and a sweep may be interrupted
or run twice. After a sweep that is cut off, or fails to list an agent, the next sweep begins with the next agent
(`rotation`). A sweep waits a moment for the receipts of those that it signalled to expire, because only a durable
client can purge the instances that they name. What it does not see by then stays pending for another sweep.

That one goes over the tombstones since the first of which something was left. An entity puts the address of its thread
among them whenever it leaves its end with the engine, so an entity that a late signal made anew is found too. A thread
of an agent that the app does not have is put there before its deletion begins, and this sweep goes on with that.

Tombstones go when nothing can come late any more: after AGENT_RECEIPT_DAYS no lease, signal or repeated request of that
life is left. A log cannot be listed by time, attachments can: an erasure first puts the thread's address there, so no
death leaves a tombstone without one. Only the very tombstone that was read goes. A thread that lives again keeps its
log.

Uploads come before what refers to them, so a process that dies in between leaves some that are not used. The
attachments are listed by time; each thread with uploads that became old enough since the last sweep is signalled once
and checks itself. The moment up to which that was done is stored next to the attachments, so missed moments are made up
for. The spans of two sweeps overlap by more than clocks differ.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Literal, TypeVar

from msgspec import Struct

from hosting.core.absent_agents import AbsentAgents
from hosting.core.deletion import TOMBSTONE, UNUSED_SECONDS
from hosting.core.purging import Purging
from hosting.core.retention import DAY_SECONDS
from hosting.core.rotation import Rotation
from hosting.core.services import Services
from hosting.core.thread_log import ThreadLog
from hosting.errors import EngineUnavailableError
from hosting.listing import entity_pages
from hosting.names import Address, StoreKey, agent_of_key, entity_name, store_space
from hosting.ports import SYSTEM_CLOCKS, Clocks, EntityClient, ObjectStore

logger = logging.getLogger(__name__)

PAGE_SIZE = 100
MOST_AT_ONCE = 8
"""Signals under way at one time: each is a call to the engine, which has other work."""

MOST_SECONDS = 120.0
"""After which a sweep begins no further page; the next one continues with the next agent."""

RECEIPT_SECONDS = (0.0, 0.5, 2.0)
"""How long a sweep waits each time before it reads the receipts of those that it signalled."""

PURGE_SECONDS = 0.5
"""For so long a sweep waits each time for the end of an entity that it finds deleted."""

ENDING_SECONDS = 5.0
"""The same for an entity that should have ended long ago, and is signalled to."""

PURGED_AFTER_SECONDS = 600.0
"""After this time only a sweep purges the rest of a deleted thread."""

OVERLAP_SECONDS = UNUSED_SECONDS / 2
"""By so much the spans of two sweeps over uploads overlap; a sweep that comes sooner has nothing to do."""

_MARK = "until"

_T = TypeVar("_T")

Signalled = Literal["expire", "trim"]
"""The signal to threads: to delete themselves if they have expired, or to remove old events."""


class Swept(Struct, frozen=True):
    """How many threads a sweep signalled, and whether it came to the end of its lists."""

    signalled: int
    is_complete: bool


class Sweep:
    """Signals threads of agents that were not touched for so many seconds; `ages` gives those by the agents' names."""

    def __init__(
        self,
        operation: Signalled,
        ages: Callable[[], Mapping[str, float]],
        purging: Purging,
        rotation: Rotation,
        *,
        clocks: Clocks = SYSTEM_CLOCKS,
        receipt_seconds: Sequence[float] = RECEIPT_SECONDS,
    ) -> None:
        self._operation = operation
        self._ages = ages
        self._purging = purging
        self._rotation = rotation
        self._clocks = clocks
        self._receipt_seconds = receipt_seconds

    async def run(self, client: EntityClient) -> Swept:
        """Sweep once. Raises `EngineUnavailableError` and `LogUnavailableError`; signalled work continues.

        If the list of an agent fails, the others still have their turn.
        """
        end = self._clocks.awake() + MOST_SECONDS
        ages, signalled, is_complete = self._ages(), list[Address](), True
        failure: EngineUnavailableError | None = None
        async for agent, is_last in self._rotation.turns(ages):
            try:
                is_complete = await self._sweep(agent, ages[agent], end, signalled, client) and is_last
            except EngineUnavailableError as error:
                failure, is_complete = failure or error, False
            if not is_complete and self._clocks.awake() >= end:
                break
        if self._operation == "expire":
            await self._purge(signalled, client)
        if failure is not None:
            raise failure
        if signalled:
            ending = "the sweep is complete" if is_complete else "the next sweep continues"
            logger.info("%d threads were signalled to %s; %s.", len(signalled), self._operation, ending)
        return Swept(len(signalled), is_complete)

    async def _sweep(
        self, agent: str, age_seconds: float, end: float, signalled: list[Address], client: EntityClient
    ) -> bool:
        """Signal the agent's threads, adding them to `signalled`; return whether that came to the end of its list."""
        changed_until = self._clocks.wall() - age_seconds
        async for page in entity_pages(client, entity_name(agent), PAGE_SIZE, changed_until=changed_until):
            threads = [Address.of_entity(agent, key) for key, _ in page.keys]
            await _gently(partial(_signal, self._operation), threads, client)
            signalled += threads
            if page.cursor is not None and self._clocks.awake() >= end:
                return False
        return True

    async def _purge(self, threads: list[Address], client: EntityClient) -> None:
        """Purge the instances in these threads' receipts; threads that are not deleted have none."""
        for seconds in self._receipt_seconds:
            if not threads:
                return
            await asyncio.sleep(seconds)
            purged = await _gently(self._purged, threads, client)
            threads = [thread for thread, is_over_now in zip(threads, purged, strict=True) if not is_over_now]

    async def _purged(self, address: Address, client: EntityClient) -> bool:
        return await self._purging.purge(address, client, PURGE_SECONDS)


class InstanceSweep:
    """Purges instances in receipts of threads erased a while ago, in the app with the task hub `hub`."""

    def __init__(
        self,
        log: ThreadLog,
        purging: Purging,
        attachments: ObjectStore,
        hub: str,
        *,
        ending_seconds: float = ENDING_SECONDS,
        absent: AbsentAgents | None = None,
    ) -> None:
        self._log = log
        self._purging = purging
        self._absent = absent
        self._attachments = attachments
        self._tombstones = store_space(hub, "deleted")
        self._marks = StoreKey(store_space(hub, "swept"), "instances")
        self._ending_seconds = ending_seconds
        self._clocks = log.clocks

    async def run(self, client: EntityClient) -> Swept:
        """Sweep once; no thread is signalled. Raises `LogUnavailableError` and `AttachmentsUnavailableError`."""
        end, until = self._clocks.awake() + MOST_SECONDS, self._clocks.wall() - PURGED_AFTER_SECONDS
        marks = await self._attachments.read(self._marks, [_MARK])  # none before the first sweep
        after = float(marks.get(_MARK, b"0"))
        if after > until:  # a clock was set back, who knows from where
            after = 0.0
        erased = await self._attachments.put_between(self._tombstones, after, until)
        reached, owed_since = 0, list[float]()
        while reached < len(erased) and (not reached or self._clocks.awake() < end):
            page, reached = erased[reached : reached + PAGE_SIZE], reached + PAGE_SIZE
            are_over = await _gently(self._purged, [await self._address(key) for _, key in page], client)
            owed_since += [put_at for (put_at, _), is_over in zip(page, are_over, strict=True) if not is_over]
        owed_since += [put_at for put_at, _ in erased[reached : reached + 1]]
        await self._attachments.put(self._marks, {_MARK: repr(min(owed_since, default=until)).encode()})
        return Swept(0, is_complete=reached >= len(erased))

    async def _address(self, key: str) -> Address | None:
        """Return the thread of that tombstone; None if it was forgotten."""
        tombstones = await self._attachments.read(StoreKey(self._tombstones, key), [TOMBSTONE])
        return next((Address(*json.loads(text)) for text in tombstones.values()), None)

    async def _purged(self, address: Address | None, client: EntityClient) -> bool:
        """Return whether nothing of the thread is left to be purged, or it lives again."""
        if address is None:
            return True
        state = (await self._log.head(address)).state
        if state != "open" and self._absent is not None and self._absent.has(address.agent):
            if state == "deleting" or await self._purging.is_owed(address):  # the eraser may have died
                await self._absent.erase(address, client)
        elif state != "deleted":
            return True
        return await self._purging.purge(address, client, self._ending_seconds)


class UploadSweep:
    """Signals threads of these agents to erase unreferenced uploads, for the app with the hub `hub`."""

    def __init__(
        self,
        attachments: ObjectStore,
        hub: str,
        agents: Callable[[], Iterable[str]],
        *,
        clocks: Clocks = SYSTEM_CLOCKS,
    ) -> None:
        self._attachments = attachments
        self._uploads = store_space(hub, "log")
        self._marks = StoreKey(store_space(hub, "swept"), "uploads")
        self._agents = agents
        self._clocks = clocks

    async def run(self, client: EntityClient) -> Swept:
        """Sweep once. Raises `EngineUnavailableError` and `AttachmentsUnavailableError`; signalled work continues."""
        end = self._clocks.awake() + MOST_SECONDS
        marks = await self._attachments.read(self._marks, [_MARK])  # none before the first sweep
        until, after = self._clocks.wall() - UNUSED_SECONDS, float(marks.get(_MARK, b"0"))
        if 0 <= until - after < 2 * OVERLAP_SECONDS:
            return Swept(0, is_complete=True)
        if after > until:  # a clock was set back, who knows from where
            after = 0.0
        uploads = await self._attachments.put_between(self._uploads, after, until)
        threads = await self._addresses([name for _, name in uploads], client)
        signalled, reached = 0, 0
        while reached < len(uploads) and (not reached or self._clocks.awake() < end):
            page, reached = uploads[reached : reached + PAGE_SIZE], reached + PAGE_SIZE
            addresses = dict.fromkeys(threads[name] for _, name in page if name in threads)
            await _gently(partial(_signal, "trim"), list(addresses), client)
            signalled += len(addresses)
        is_complete = reached >= len(uploads)
        swept_until = until - OVERLAP_SECONDS if is_complete else uploads[reached][0]
        await self._attachments.put(self._marks, {_MARK: repr(swept_until).encode()})
        if signalled:
            logger.info("%d threads were signalled to erase unreferenced attachments.", signalled)
        return Swept(signalled, is_complete)

    async def _addresses(self, names: Iterable[str], client: EntityClient) -> dict[str, Address]:
        """Return the threads with these names, `<key of the address>/<epoch>` each.

        Where a digest stands for a thread id of another package, the engine knows the thread, and lists all.
        """
        agents, keys = {agent.lower() for agent in self._agents()}, {name: name.rpartition("/")[0] for name in names}
        by_key = {key: address for key in keys.values() if (address := Address.of_key(key)) is not None}
        for agent in sorted({agent_of_key(key) for key in keys.values() if key not in by_key} & agents):
            async for page in entity_pages(client, entity_name(agent), PAGE_SIZE):
                addresses = [Address.of_entity(agent, key) for key, _ in page.keys]
                by_key |= {address.key: address for address in addresses}
        return {name: by_key[key] for name, key in keys.items() if key in by_key and by_key[key].agent in agents}


class TombstoneSweep:
    """Forgets the rest of threads that were erased so many days ago, in the app with the task hub `hub`."""

    def __init__(self, log: ThreadLog, attachments: ObjectStore, hub: str, days: float) -> None:
        self._log = log
        self._attachments = attachments
        self._tombstones = store_space(hub, "deleted")
        self._kept_seconds = days * DAY_SECONDS
        self._clocks = log.clocks

    async def run(self, client: EntityClient) -> Swept:
        """Sweep once; no thread is signalled. Raises `LogUnavailableError` and `AttachmentsUnavailableError`."""
        end, until = self._clocks.awake() + MOST_SECONDS, self._clocks.wall() - self._kept_seconds
        forgotten, is_complete = 0, True
        for _, key in await self._attachments.put_between(self._tombstones, 0.0, until):
            is_complete = self._clocks.awake() < end
            if not is_complete:
                break
            store_key = StoreKey(self._tombstones, key)
            for text in (await self._attachments.read(store_key, [TOMBSTONE])).values():
                forgotten += await self._log.forget(Address(*json.loads(text)))
            await self._attachments.erase(store_key, before=until)
        if forgotten:
            logger.info("%d deleted threads were forgotten, with their receipts.", forgotten)
        return Swept(0, is_complete)


async def _signal(operation: Signalled, address: Address, client: EntityClient) -> bool:
    await client.signal(*address.entity, operation, {"logged": True})
    return True


async def _gently(
    work: Callable[[_T, EntityClient], Awaitable[bool]], threads: Sequence[_T], client: EntityClient
) -> list[bool]:
    """Do the work for each thread, a few at once."""
    gate = asyncio.Semaphore(MOST_AT_ONCE)

    async def one(address: _T) -> bool:
        async with gate:
            return await work(address, client)

    return await asyncio.gather(*map(one, threads))


def sweeps_of(
    services: Services, agents: Callable[[], Iterable[str]]
) -> tuple[UploadSweep, InstanceSweep, TombstoneSweep]:
    """Return the sweeps over data next to the log of an app: uploads, and tombstones with their instances."""
    log, attachments, hub = services.log, services.stores.attachments, services.stores.hub
    instances = InstanceSweep(log, services.purging, attachments, hub, absent=services.absent)
    tombstones = TombstoneSweep(log, attachments, hub, services.settings.receipt_days)
    return UploadSweep(attachments, hub, agents, clocks=services.clocks), instances, tombstones
