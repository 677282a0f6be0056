"""The sweep over the tombstones: it purges what nobody purged, and what a late signal made anew."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from hosting.core.purging import Purging
from hosting.core.stores.memory import MemoryObjects, SharedMemory
from hosting.core.sweeps import PURGED_AFTER_SECONDS, InstanceSweep, Swept
from tests.support.process import ADDRESS, QUIET_SECONDS, Engine, Process, call

HOUR = 3600.0


class SweptApp:
    """One process, whose deleter died behind the tombstone, and its sweep, by a clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.engine = Engine()
        self.process = Process(SharedMemory(), MemoryObjects(lambda: self.now), self.engine)
        log = self.process.log_at(lambda: self.now)
        purging = Purging(
            log, self.process.holders.draining, quiet_seconds={**QUIET_SECONDS, "ended": 0.01, "at work": 0.0}
        )
        self.sweep = InstanceSweep(log, purging, self.process.attachments, "hub", ending_seconds=0.0)

    async def delete(self) -> None:
        run = await self.process.start(call("hi"))
        await self.process.runs.wait(run, self.engine, 5.0)
        await self.process.threads.delete(ADDRESS, self.engine, 0.0)
        await self.process.deliver_delete()

    async def outcome(self) -> str:
        return (await self.process.threads.receipt(ADDRESS)).instances[-1].outcome


@pytest.fixture
async def swept() -> AsyncIterator[SweptApp]:
    app = SweptApp()
    await app.delete()
    yield app
    app.process.loop.close()


@pytest.mark.behaviour("erasure.entity")
async def test_what_nobody_purged_is_purged_by_the_sweep(swept: SweptApp) -> None:
    """Not at once, for whoever deletes a thread purges it then."""
    early = await swept.sweep.run(swept.engine)
    before = await swept.outcome()
    swept.now += PURGED_AFTER_SECONDS + 1

    assert await swept.sweep.run(swept.engine) == Swept(0, is_complete=True) == early
    assert (before, await swept.outcome(), swept.engine.purged) == ("pending", "deleted", ["@dafx-echo@t1"])


@pytest.mark.behaviour("erasure.entity")
async def test_a_sweep_by_a_clock_that_was_ahead_hides_nothing_from_the_next(swept: SweptApp) -> None:
    """It left its mark behind moments that were still to come."""
    swept.now += 24 * HOUR
    await swept.sweep.run(swept.engine)
    swept.now -= 24 * HOUR
    await swept.process.deliver_delete()
    swept.now += PURGED_AFTER_SECONDS + 1
    await swept.sweep.run(swept.engine)

    assert (await swept.outcome(), len(swept.engine.purged)) == ("deleted", 2)


@pytest.mark.behaviour("erasure.entity")
async def test_an_entity_that_has_not_ended_is_signalled_and_purged_by_the_next_sweep(swept: SweptApp) -> None:
    """Whoever was to signal it died; the engine has its document still."""
    swept.engine.documents["t1"] = '{"schemaVersion": "1.1.0", "data": {"conversationHistory": []}}'
    swept.engine.signals.clear()
    swept.now += HOUR
    await swept.sweep.run(swept.engine)
    signalled, purged = list(swept.engine.signals), list(swept.engine.purged)
    await swept.process.deliver_delete()
    swept.now += HOUR
    await swept.sweep.run(swept.engine)

    assert (signalled, purged) == ([("delete", {"logged": True})], [])
    assert await swept.outcome() == "deleted"


@pytest.mark.behaviour("erasure.entity")
async def test_a_thread_that_lives_again_is_left_alone(swept: SweptApp) -> None:
    await swept.process.start(call("again"))
    swept.now += HOUR

    assert await swept.sweep.run(swept.engine) == Swept(0, is_complete=True)
    assert swept.engine.purged == []
