"""Purges the instances in receipts of deleted threads, each once it has surely ended.

Theory. The engine commits what an entity did after it was done. If it is purged in between, it cannot be committed: the
engine delivers its operation again, which makes it anew, and backs off from everything else for many seconds. So an
entity is purged once the engine shows the end that it left (`EntityEnd`), and the log knows of no later operation.

Signals that were under way when the thread was deleted come behind that end. Each is an event of the log before it is
committed, so a look that finds the log and the engine agree for a while finds nothing under way. A signal that comes
even later makes the entity anew; its event says that the instance is there again, and the next look purges it: another
deletion of the thread, or the sweep over tombstones. The outcome of an instance is recorded only if nothing was
appended since the look, so the receipt never calls gone what came meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from hosting.core.care import PACE
from hosting.core.clocks import end_clock
from hosting.core.deletion import Instance, Receipt, ended_at, own_instance, read_receipt
from hosting.core.hooks import ThreadData
from hosting.core.thread.commands import RecordInstances
from hosting.core.thread.run_request import InstanceOutcome
from hosting.core.thread_log import ThreadLog
from hosting.errors import EngineUnavailableError
from hosting.names import Address
from hosting.ports import EntityClient, EntityEnd, Purge

logger = logging.getLogger(__name__)

_OWED = ("pending", "running")
EntityState = Literal["ended", "missing", "at work"]
QUIET_SECONDS: Mapping[EntityState, float] = {"ended": 0.2, "missing": 2.0, "at work": 1.0}
"""The waits before an entity is purged, counted as unknown to the engine, or signalled."""


class _Look(Struct, frozen=True):
    """A deleted thread at a position of its log: its receipt, its own entity in that, and how that ends."""

    receipt: Receipt
    own: Instance
    end: EntityEnd
    position: int


class Purging:
    """Purges the instances in the receipts of one app's deleted threads."""

    def __init__(
        self,
        log: ThreadLog,
        draining: asyncio.Event,
        *,
        quiet_seconds: Mapping[EntityState, float] = QUIET_SECONDS,
        is_absent: Callable[[str], bool] = lambda agent: False,
        thread_data: Sequence[ThreadData] = (),
    ) -> None:
        """While the process is `draining` nothing is waited for; an agent `is_absent` that the app does not have."""
        self._is_absent = is_absent
        self._thread_data = thread_data
        self._log = log
        self._draining = draining
        self._quiet_seconds = quiet_seconds

    async def purge(self, address: Address, client: EntityClient, seconds: float = 0.0) -> bool:
        """Purge the instances in the thread's receipt; return whether there is a receipt without pending ones.

        One at a time and by id, never in bulk. An instance that runs is left alone, and so is the thread's own entity
        until it has ended, for which it is waited so long. Raises `LogUnavailableError`; an engine that cannot be
        reached leaves instances pending.
        """
        look = await self._look(address)
        if look is not None:
            await self._purge_others(look, address, client)
            own = look.own
            try:
                look = await self._purge_own(address, client, seconds)
            except EngineUnavailableError:
                _warn(own)
                return False
        return look is not None and all(instance.outcome != "pending" for instance in look.receipt.instances)

    async def is_owed(self, address: Address) -> bool:
        """Return whether the thread's receipt has its entity as still to be purged."""
        look = await self._look(address)
        return look is not None and look.own.outcome in _OWED

    async def _purge_others(self, look: _Look, address: Address, client: EntityClient) -> None:
        """Purge the orchestrations that have ended, and record their outcomes."""
        orchestrations = (instance for instance in look.receipt.instances if instance is not look.own)
        others = [instance for instance in orchestrations if instance.outcome in _OWED]
        purged: list[Instance] = []
        for instance in others:
            if (outcome := await self._purged(instance, client)) is None:
                break  # each of the others would be waited for as long
            purged.append(Instance(id=instance.id, outcome=outcome))
        await self._record(address, look.end.epoch, [instance for instance in purged if instance not in others])

    async def _purge_own(self, address: Address, client: EntityClient, seconds: float) -> _Look | None:
        """Purge the thread's entity once it has ended and nothing comes behind that; return how it stands then.

        An engine that shows no instance may not have stored the first operation, or may show none without a state:
        what it has after that time is purged. An entity that the app has no more gets no signal, and is purged as it
        is, with its document: nothing brings it to its end.
        """
        clock = asyncio.get_running_loop().time
        deadline, pause, sighting, since = clock() + seconds, PACE.first, ("", 0), clock()
        has_asked = has_purged = False
        is_left = self._is_absent(address.agent)
        while (look := await self._look(address)) is not None and look.own.outcome in _OWED:
            end = await client.ended(*address.entity)
            state: EntityState = "missing" if end == "missing" else "ended" if end == look.end else "at work"
            if sighting != (state, look.end.position):
                sighting, since, pause = (state, look.end.position), clock(), PACE.first
            is_quiet = clock() - since >= self._quiet_seconds[state]
            if is_quiet and state == "at work" and not has_asked and not is_left:
                has_asked = True  # its signaller died, or its signal is lost
                await client.signal(*address.entity, "delete", {"logged": True})
            elif is_quiet and (is_left or state != "at work"):
                has_purged |= await client.purge(look.own.id) == "deleted" or state == "ended"
                own = Instance(id=look.own.id, outcome="deleted" if has_purged else "missing")
                await self._record(address, look.end.epoch, [own], look.position)
                continue
            patience = 0.0 if state == "at work" and not is_left else self._quiet_seconds[state]  # an end is seen out
            if clock() >= max(deadline, since + patience) or self._draining.is_set():
                break
            await asyncio.sleep(pause)
            pause = PACE.after(pause)
        return look

    async def _look(self, address: Address) -> _Look | None:
        """Return a deleted thread as its log has it; None for any other."""
        head = await self._log.head(address)
        if head.state != "deleted":
            return None
        events = await self._log.events(address, head.trimmed, through=head.position)
        receipt = read_receipt(event for _, event in events)
        if receipt is None:
            return None
        own = next(instance for instance in receipt.instances if instance.id == own_instance(address))
        return _Look(receipt, own, EntityEnd(head.epoch, ended_at(address, events)), head.position)

    async def _record(
        self, address: Address, epoch: int, instances: Sequence[Instance], position: int | None = None
    ) -> None:
        """Record the outcomes of instances; with a position only if nothing was appended since, perhaps about them."""
        if instances:
            outcomes = tuple(InstanceOutcome(id=instance.id, outcome=instance.outcome) for instance in instances)
            await self._log.execute(address, RecordInstances(self._log.clocks.wall(), epoch, outcomes, position))

    async def _purged(self, instance: Instance, client: EntityClient) -> Purge | None:
        """Purge an orchestration, and end a clock first; None where the engine cannot be reached."""
        try:
            if instance.id.startswith(tuple(data.clock_prefix for data in self._thread_data)):
                return await end_clock(instance.id, client)
            return await client.purge(instance.id)
        except EngineUnavailableError:
            _warn(instance)
            return None


def _warn(instance: Instance) -> None:
    logger.warning("Instance %s of a deleted thread is not purged: the engine cannot be reached.", instance.id)
