"""Sweeps over what no request touches: idle threads, tombstones, uploads; cut off, gone on with, and after deaths."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from hosting.core.deletion import UNUSED_SECONDS
from hosting.core.retention import DAY_SECONDS
from hosting.core.rotation import Rotation
from hosting.core.sweeps import (
    MOST_SECONDS,
    PAGE_SIZE,
    PURGED_AFTER_SECONDS,
    Signalled,
    Sweep,
    Swept,
    UploadSweep,
    sweeps_of,
)
from hosting.core.thread_log import epoch_store_key
from hosting.errors import EngineUnavailableError
from hosting.names import Address, entity_name
from hosting.ports import Clock, Clocks, EntityPage, utc
from tests.support.cluster.cluster import ADDRESS, AGENT, HUB, INSTANCE, AppProcess, Cluster, call
from tests.support.cluster.engine import Engine, instance_of
from tests.support.cluster.life import DiedError, Life

pytestmark = pytest.mark.moved_time

HOUR = 3600.0
TTL = HOUR
TWELVE_HOURS = 12 * HOUR
FOREIGN = "a thread of another package"
DOCUMENT = '{"schemaVersion": "1.1.0", "data": {"conversationHistory": []}}'
AGENTS = ("ann", "bob", "cid")


def sweep_of(cluster: Cluster, app: AppProcess, operation: Signalled, age_seconds: float, *agents: str) -> Sweep:
    rotation = Rotation(app.attachments, HUB, operation)
    ages = dict.fromkeys(agents or (AGENT,), age_seconds)
    return Sweep(operation, lambda: ages, app.purging, rotation, clocks=cluster.clocks)


@pytest.mark.behaviour("erasure.sweep")
async def test_a_thread_that_is_asked_early_is_asked_again_a_time_to_live_later() -> None:
    """One that was touched since its last answer, or whose clock was another's. Nothing of it is left then."""
    cluster = Cluster(registered={"ttl_seconds": TTL})
    app = cluster.process()
    sweep = sweep_of(cluster, app, "expire", TTL)
    await app.run("hi")
    cluster.engine.changed[INSTANCE] = utc(cluster.wall() - TTL - 1)

    early = await sweep.run(app.engine)
    await cluster.deliver(app)
    is_there = INSTANCE in cluster.engine.documents
    cluster.wall_ahead += TTL + 1
    sweeping = asyncio.ensure_future(sweep.run(app.engine))
    await asyncio.sleep(0.1)
    await cluster.deliver(app)

    assert (early.signalled, is_there, (await sweeping).signalled) == (1, True, 1)
    assert (cluster.engine.documents, cluster.engine.purged) == ({}, [INSTANCE])
    await cluster.close()


@pytest.mark.behaviour("erasure.sweep")
async def test_a_thread_that_nobody_uses_loses_its_old_events_to_the_sweep(cluster: Cluster, app: AppProcess) -> None:
    """Its conversation stays; one that is in use is not asked."""
    await app.run("hi")
    sweep = sweep_of(cluster, app, "trim", 30 * DAY_SECONDS)

    before = await sweep.run(app.engine)
    cluster.wall_ahead += 31 * DAY_SECONDS
    behind = await sweep.run(app.engine)
    await cluster.deliver(app)

    assert (before.signalled, behind.signalled, await app.kinds()) == (0, 1, ["trimmed"])
    assert len(app.entries()) == 2


class Lists(Engine):
    """An engine with a thread of each agent, whose lists of some are `broken`; `begun_lists` are those asked for."""

    def __init__(self, wall: Clock) -> None:
        super().__init__(wall)
        self.broken: dict[str, str] = {}
        self.begun_lists: list[str] = []
        self.changed = {instance_of(entity_name(agent), "t"): utc(wall()) for agent in AGENTS}

    async def list(self, entity: str, limit: int, cursor: str | None, *times: float | None, **named: Any) -> EntityPage:
        agent = entity.removeprefix(entity_name(""))
        self.begun_lists += [agent] if cursor is None else []
        match self.broken.get(agent):
            case "away":
                raise EngineUnavailableError("The durable engine cannot be reached.")
            case "hangs":
                await asyncio.Event().wait()
            case "leads in a circle":
                return EntityPage((), "again")
        return await super().list(entity, limit, cursor, *times, **named)


@pytest.fixture
async def lists() -> AsyncIterator[Cluster]:
    cluster = Cluster()
    cluster.engine = Lists(cluster.wall)
    yield cluster
    await cluster.close()


@pytest.mark.behaviour("erasure.sweep-turns")
async def test_a_sweep_whose_process_dies_is_gone_on_with_at_the_next_agent(lists: Cluster) -> None:
    """A store that is away costs no agent its sweep."""
    engine, app = lists.engine, lists.process()
    assert isinstance(engine, Lists)
    engine.broken = {"ann": "hangs"}
    dying = asyncio.ensure_future(sweep_of(lists, app, "trim", 0.0, *AGENTS).run(app.engine))
    await asyncio.sleep(1.0)
    dying.cancel()
    engine.broken, engine.begun_lists = {}, []

    other = lists.process()
    await sweep_of(lists, other, "trim", 0.0, *AGENTS).run(other.engine)
    order, engine.begun_lists, other.attachments.is_away = engine.begun_lists, [], True
    swept = await sweep_of(lists, other, "trim", 0.0, *AGENTS).run(other.engine)

    assert order == ["bob", "cid", "ann"]
    assert (swept.is_complete, engine.begun_lists) == (True, list(AGENTS))


@pytest.mark.behaviour("erasure.sweep-turns")
@pytest.mark.parametrize("fault", ["away", "leads in a circle"])
async def test_an_agent_whose_list_fails_keeps_no_other_from_its_turn(lists: Cluster, fault: str) -> None:
    engine, app = lists.engine, lists.process()
    assert isinstance(engine, Lists)
    engine.broken = {"ann": fault}

    with pytest.raises(EngineUnavailableError):
        await sweep_of(lists, app, "trim", 0.0, *AGENTS).run(app.engine)

    assert [signal.entity for signal in engine.signals] == [entity_name("bob"), entity_name("cid")]


@pytest.fixture
async def erased(cluster: Cluster, app: AppProcess) -> AppProcess:
    """A process that erased a thread; whoever deleted it died behind the tombstone."""
    await app.run("hi")
    await app.threads.delete(ADDRESS, app.engine, 0.0)
    await cluster.deliver(app)
    return app


async def sweep_instances(app: AppProcess, ahead_seconds: float = 0.0) -> Swept:
    app.cluster.wall_ahead += ahead_seconds
    return await sweeps_of(app.services, lambda: [AGENT])[1].run(app.engine)


async def outcome(app: AppProcess) -> str:
    return (await app.threads.receipt(ADDRESS)).instances[-1].outcome


@pytest.mark.behaviour("erasure.entity")
async def test_what_nobody_purged_is_purged_by_the_sweep(erased: AppProcess) -> None:
    """Not at once, for whoever deletes a thread purges it then."""
    early = await sweep_instances(erased)
    before = await outcome(erased)

    assert await sweep_instances(erased, PURGED_AFTER_SECONDS + 1) == Swept(0, is_complete=True) == early
    assert (before, await outcome(erased), erased.cluster.engine.purged) == ("pending", "deleted", [INSTANCE])


@pytest.mark.behaviour("erasure.entity")
async def test_a_sweep_by_a_clock_that_was_ahead_hides_nothing_from_the_next(erased: AppProcess) -> None:
    """It left its mark behind moments that were still to come."""
    await sweep_instances(erased, 24 * HOUR)
    erased.cluster.wall_ahead -= 24 * HOUR
    await erased.operate({"logged": True}, "delete")
    await sweep_instances(erased, PURGED_AFTER_SECONDS + 1)

    assert (await outcome(erased), len(erased.cluster.engine.purged)) == ("deleted", 2)


@pytest.mark.behaviour("erasure.entity")
async def test_an_entity_that_has_not_ended_is_signalled_and_purged_by_the_next_sweep(erased: AppProcess) -> None:
    """Whoever was to signal it died; the engine has its document still. A thread that lives again is left alone."""
    engine = erased.cluster.engine
    engine.documents[INSTANCE] = DOCUMENT
    await sweep_instances(erased, HOUR)
    signalled, purged = engine.sent, list(engine.purged)
    await erased.cluster.deliver(erased)
    await sweep_instances(erased, HOUR)
    purged_once, outcome_then = list(engine.purged), await outcome(erased)
    await erased.start(call("again"))

    assert (signalled, purged) == ([("delete", {"logged": True})], [])
    assert (outcome_then, purged_once) == ("deleted", [INSTANCE])
    assert await sweep_instances(erased, HOUR) == Swept(0, is_complete=True)
    assert engine.purged == purged_once


@pytest.mark.behaviour("erasure.entity")
@pytest.mark.parametrize("is_done", [False, True], ids=["before a call", "after it"])
async def test_wherever_a_deletion_dies_the_next_one_leaves_nothing_with_the_engine(
    cluster: Cluster, app: AppProcess, *, is_done: bool
) -> None:
    """And the receipt has it so: nothing is called gone that is there."""

    async def delete(process: AppProcess) -> None:
        await process.threads.delete(ADDRESS, process.engine, 0.0)
        await process.cluster.deliver(process)
        await process.threads.delete(ADDRESS, process.engine, 0.0)

    await app.run("hi")
    for ends in itertools.count(1):
        again = cluster.again()
        try:
            await delete(again.process(Life(ends, is_done=is_done)))
        except DiedError:
            await delete(again.process())
        else:
            break
        receipt = await again.process().threads.receipt(ADDRESS)
        assert (again.engine.documents, again.engine.ends) == ({}, {})
        assert receipt.instances[-1].outcome in ("deleted", "missing")

    assert ends > 15


async def upload(cluster: Cluster, thread_id: str) -> None:
    key = epoch_store_key(HUB, Address.of(AGENT, thread_id), 0)
    await cluster.attachments.put(key, {f"{cluster.wall()}".ljust(64, "0"): b"body"})


async def sweep_uploads(cluster: Cluster, clocks: Clocks | None = None) -> tuple[Swept, list[str]]:
    """Sweep, and return the keys of the threads that were asked besides what came of it."""
    sweep = UploadSweep(cluster.attachments, HUB, lambda: [AGENT], clocks=clocks or cluster.clocks)
    swept = await sweep.run(cluster.engine)
    assert {signal.operation for signal in cluster.engine.signals} <= {"trim"}
    keys = [signal.key for signal in cluster.engine.signals]
    cluster.engine.signals.clear()
    return swept, keys


@pytest.mark.behaviour("erasure.unused-uploads")
async def test_a_thread_with_an_upload_is_asked_once_it_is_old(cluster: Cluster) -> None:
    """Not before: an append may be about to refer to it. Twice a day is then within a day of each upload."""
    await upload(cluster, "t")
    cluster.wall_ahead += UNUSED_SECONDS - 1
    young = await sweep_uploads(cluster)
    cluster.wall_ahead += TWELVE_HOURS
    old = await sweep_uploads(cluster)

    assert (young, old) == ((Swept(0, is_complete=True), []), (Swept(1, is_complete=True), ["t"]))
    assert UNUSED_SECONDS + TWELVE_HOURS < DAY_SECONDS


@pytest.mark.behaviour("erasure.unused-uploads")
async def test_a_clock_that_was_years_ahead_leaves_nothing_unseen(cluster: Cluster) -> None:
    """Nor an id that no key holds: the engine knows that thread."""
    await sweep_uploads(cluster, Clocks(lambda: cluster.wall() + 1e9))
    cluster.engine.changed = {
        instance_of(*Address.of(AGENT, name).entity): utc(cluster.wall())
        for name in [*(f"k-{number}" for number in range(PAGE_SIZE)), FOREIGN]
    }
    await upload(cluster, "t")
    await upload(cluster, FOREIGN)
    cluster.wall_ahead += UNUSED_SECONDS + 1

    assert sorted((await sweep_uploads(cluster))[1]) == [FOREIGN, "t"]


@pytest.mark.behaviour("erasure.unused-uploads")
async def test_a_sweep_over_uploads_that_is_broken_off_is_gone_on_with(cluster: Cluster) -> None:
    """By its time, at a page's end; and whole, where the engine was away."""
    names = [f"t-{number:04}" for number in range(2 * PAGE_SIZE)]
    for name in names:
        cluster.wall_ahead += 1
        await upload(cluster, name)
    cluster.wall_ahead += TWELVE_HOURS
    cluster.engine.is_away = True
    with pytest.raises(EngineUnavailableError):
        await sweep_uploads(cluster)
    await asyncio.sleep(1.0)  # what is under way meets the outage, too
    cluster.engine.is_away = False

    first = await sweep_uploads(cluster, Clocks(cluster.wall, partial(next, iter([0.0, MOST_SECONDS]))))
    second = await sweep_uploads(cluster)

    assert [first[0], second[0]] == [Swept(PAGE_SIZE, is_complete=False), Swept(PAGE_SIZE, is_complete=True)]
    assert sorted(first[1]) + sorted(second[1]) == names
