"""Runs that somebody left: their process, their caller, or the engine whose answer never came. None waits for ever."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from hosting.core.broadcast import LoggedEvent
from hosting.core.promised_runs import SWEPT_SECONDS
from hosting.core.sweeps import sweeps_of
from hosting.core.thread.commands import AcceptRun, RecordSteps
from hosting.core.thread.events import Cancelled, CancelRequested, Completed, Failed
from hosting.errors import EngineUnavailableError
from hosting.names import Address
from hosting.ports import Wait
from tests.support.cluster.charging import THINKING_SECONDS, charging_agent
from tests.support.cluster.cluster import ADDRESS, AGENT, INSTANCE, THREAD, AppProcess, Cluster, call
from tests.support.cluster.engine import Engine, instance_of
from tests.support.threads import accepted, terms

pytestmark = pytest.mark.moved_time

HOUR = 3600.0
LATER = 2 * SWEPT_SECONDS
LOOKED = ["accepted", "claimed", "model_result", "tool_started", "tool_result"]
Two = tuple[AppProcess, AppProcess]


async def sweep(app: AppProcess, *agents: str) -> None:
    """Let time pass until marks are old, and have them swept."""
    await asyncio.sleep(LATER)
    await app.services.promise_sweep(lambda: agents).run(app.engine)


async def marked(app: AppProcess) -> list[tuple[Address, str]]:
    return [(run.address, run.run_id) for run in await app.promised.marked()]


@pytest.mark.behaviour("service.promised")
async def test_a_run_that_nobody_takes_up_is_signalled_for_again_until_its_entity_has_it(app: AppProcess) -> None:
    """By the process that answered about it. Its mark is left to the sweep then, for its entity may be lost."""
    app.agent.gate.clear()
    run = await app.start(call(waits=False))
    await asyncio.sleep(100.0)
    sent = app.engine.sent
    delivery = asyncio.ensure_future(app.cluster.deliver(app))
    await asyncio.sleep(100.0)
    watched, left = app.promised.watched, await marked(app)
    app.agent.gate.set()
    await delivery
    await sweep(app, AGENT)

    assert 3 <= len(sent) < 10
    assert {name: order["run_id"] for name, order in sent} == {"run": run.run_id}
    assert isinstance(await app.end_of(run.run_id), Completed)
    assert (watched, left, await marked(app)) == (0, [(ADDRESS, run.run_id)], [])


@pytest.mark.behaviour("service.promised")
async def test_a_run_that_outlives_the_wait_is_marked_before_that_is_said(app: AppProcess) -> None:
    app.agent.gate.clear()
    run = await app.start(call())

    run = await app.runs.wait_as(Wait(seconds=5.0), run, app.engine)

    assert (run.end, await marked(app)) == (None, [(ADDRESS, run.run_id)])


@pytest.mark.behaviour("service.promised")
async def test_the_sweep_finds_a_run_whose_process_died_behind_its_answer(two: Two) -> None:
    """By a process that has its agent. Once it has ended a last signal brings its document up to date."""
    one, other = two
    run = await one.start(call(waits=False))
    one.die()
    engine, signal = one.cluster.engine, ("run", {"run_id": run.run_id, "logged": True})
    engine.signals.clear()
    await sweep(other)
    assert (engine.sent, await marked(other)) == ([], [(ADDRESS, run.run_id)])

    await sweep(other, AGENT)
    assert engine.sent == [signal]
    await other.deliver(run.run_id)
    await sweep(other, AGENT)

    assert (await marked(other), engine.sent) == ([], [signal] * 2)


@pytest.mark.behaviour("service.promised")
async def test_the_sweep_signals_for_a_run_whose_holder_is_gone_and_for_none_whose_holder_lives(two: Two) -> None:
    one, other = two
    one.agent.gate.clear()
    run = await one.start(call())
    await one.promised.keep(ADDRESS, run.run_id, one.engine)
    one.cluster.engine.signals.clear()
    swept = other.services.promise_sweep(lambda: [AGENT])
    for _ in range(3):
        await asyncio.sleep(LATER)  # it renews its lease
        await swept.run(other.engine)
    alive = other.engine.sent
    one.die()
    await asyncio.sleep(LATER)
    await swept.run(other.engine)

    assert (alive, len(other.engine.sent)) == ([], 1)


@pytest.mark.behaviour("service.promised")
async def test_a_run_whose_mark_cannot_be_kept_is_answered_and_looked_after_all_the_same(app: AppProcess) -> None:
    app.attachments.is_away = True
    run = await app.start(call(waits=False))
    await asyncio.sleep(100.0)

    assert (run.end, len(app.engine.sent) >= 2) == (None, True)


@pytest.mark.behaviour("service.lost-runs")
@pytest.mark.parametrize("off_seconds", [0.0, HOUR, -HOUR])
async def test_a_run_is_lost_to_whoever_waits_once_its_holder_is_gone_for_as_long_as_it_could_run(
    app: AppProcess, off_seconds: float
) -> None:
    """By the waiter's own clock: a holder that lives loses nothing to a clock that is off, as it is renewed."""
    began_at = app.cluster.wall() + off_seconds
    event = accepted("r1", at=began_at).model_copy(update={"agent": AGENT})
    await app.log.execute(ADDRESS, AcceptRun(event, 32, terms("elsewhere", deadline=began_at + 300)))
    run = await app.runs.find(ADDRESS, "r1", app.engine)
    waiting = asyncio.ensure_future(app.runs.wait(run, app.engine, HOUR))
    for _ in range(70):
        await app.log.execute(ADDRESS, RecordSteps("elsewhere"))
        await asyncio.sleep(10.0)
    alive = waiting.done()
    gone_at = app.cluster.wall()

    ended = await waiting

    assert isinstance(ended.end, Failed)
    assert (alive, ended.end.code) == (False, "run_lost")
    assert 280 < app.cluster.wall() - gone_at < 400


@pytest.mark.behaviour("service.lost-runs")
async def test_a_run_that_waits_for_its_turn_for_too_long_ends_in_its_turn(cluster: Cluster) -> None:
    """Ended by whoever waits for it or follows it, as lost."""
    one, other = cluster.process(), cluster.process(AGENT_QUEUE_TIMEOUT_SECONDS="100")
    one.agent.gate.clear()
    await one.start(call("first"))
    run = await other.start(call("second"))
    async for news in other.following.follow(run, other.engine):
        if any(isinstance(update.event, CancelRequested) for update in news if isinstance(update, LoggedEvent)):
            one.agent.gate.set()

    end = await other.end_of(run.run_id)
    assert isinstance(end, Failed)
    assert (end.code, other.agent.turns) == ("run_lost", [])


@pytest.mark.behaviour("service.lost-processes")
async def test_new_requests_keep_no_dead_holder_alive(two: Two) -> None:
    """They are appends of others, and say nothing of it: they go on until it is taken over."""
    one, other = two
    one.agent.gate.clear()
    run = await one.start(call())
    one.die()
    delivery, number = asyncio.ensure_future(other.deliver(run.run_id)), 0
    while not delivery.done():
        await other.log.execute(ADDRESS, AcceptRun(accepted(f"later-{number}"), 10_000))
        await asyncio.sleep(2.0)
        number += 1

    kinds = await other.kinds()
    assert isinstance(await other.end_of(run.run_id), Completed)
    assert "accepted" in kinds[kinds.index("claimed") : kinds.index("completed")]


class LateEngine(Engine):
    """Takes a signal, and what happens `meanwhile` comes before its answer is lost; or `refuses` all."""

    meanwhile: Callable[[], Awaitable[object]] | None = None
    refuses = False

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        if self.refuses:
            raise EngineUnavailableError("The durable engine cannot be reached.")
        await super().signal(entity, key, operation, value)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await meanwhile()
            raise EngineUnavailableError("The durable engine cannot be reached.")


Late = tuple[AppProcess, AppProcess, LateEngine]


@pytest.fixture
async def late() -> AsyncIterator[Late]:
    """A process that is stopped while it signals, as a machine is that sleeps; and another one, which then works."""
    cluster = Cluster()
    cluster.engine = engine = LateEngine(cluster.wall)
    stopped, other = cluster.process(), cluster.process()

    async def take_it_over() -> None:
        stopped.life.freeze()
        await other.take(engine.signals[-1])
        stopped.life.thaw()

    engine.meanwhile = take_it_over
    yield stopped, other, engine
    await cluster.close()


@pytest.mark.behaviour("service.late-answers")
@pytest.mark.parametrize("waits", [False, True])
async def test_a_run_that_ended_on_its_entity_is_answered_and_not_taken_back(late: Late, *, waits: bool) -> None:
    """Whether or not the process that was stopped held it."""
    stopped, other, _ = late

    run = await stopped.start(call(waits=waits))

    assert isinstance(run.end, Completed)
    assert [len(each.agent.turns) for each in (stopped, other)] == [0, 1]


@pytest.mark.behaviour("service.late-answers")
@pytest.mark.parametrize("what", ["find", "cancel", "key"])
async def test_whoever_asks_for_a_run_that_ended_meanwhile_gets_its_end(late: Late, what: str) -> None:
    """By its id or its key, to read it or to cancel it."""
    stopped, _, engine = late
    meanwhile, engine.meanwhile = engine.meanwhile, None
    run = await stopped.start(call(waits=False, key="k"))
    engine.meanwhile = meanwhile

    if what == "key":
        again = await stopped.start(call(waits=False, key="k"))
    else:
        again = await getattr(stopped.runs, what)(ADDRESS, run.run_id, stopped.engine)

    assert again.run_id == run.run_id
    assert isinstance(again.end, Cancelled if what == "cancel" else Completed)


@pytest.mark.behaviour("service.late-answers")
async def test_a_signal_of_which_nothing_shows_that_it_was_taken_is_refused(late: Late) -> None:
    stopped, _, engine = late
    engine.meanwhile = lambda: asyncio.sleep(0)

    with pytest.raises(EngineUnavailableError):
        await stopped.start(call(waits=False, key="k"))

    assert (await stopped.kinds())[-1] == "cancelled"


@pytest.mark.behaviour("service.late-answers")
async def test_a_fork_that_stands_is_answered_whether_or_not_its_signal_was_taken(late: Late) -> None:
    """Whoever is refused one makes another. The sweep has its document stored."""
    app, _, engine = late
    await app.run("hi")
    engine.refuses = True
    made = await app.http.post(f"/api/agents/{AGENT}/threads/{THREAD}/fork", json={})
    engine.refuses, engine.meanwhile = False, None
    app.cluster.wall_ahead += 86_400.0
    await sweeps_of(app.services, lambda: [AGENT])[0].run(app.engine)
    await app.cluster.deliver(app)

    forked = app.address(made.json()["thread_id"])
    assert made.status_code == 201
    assert set(engine.documents) == {INSTANCE, instance_of(*forked.entity)}


@pytest.fixture
async def looking() -> AsyncIterator[AppProcess]:
    """A process whose agent thinks, works with a tool, and thinks again."""

    async def asked(messages: Any) -> int:
        return 1

    cluster = Cluster(lambda: charging_agent(AGENT, asked, Counter()))
    yield cluster.process()
    await cluster.close()


@pytest.mark.behaviour("service.callers-leave")
async def test_a_run_whose_last_caller_has_left_is_handed_on_behind_its_next_step(looking: AppProcess) -> None:
    """What its tool gave is recorded, and the entity goes on from there."""
    run = await looking.start(call("a charge"))
    held = looking.holders.held[run.run_id]
    await looking.runs.wait(run, looking.engine, 1.5 * THINKING_SECONDS)
    await held.is_over.wait()
    handed_on = await looking.kinds()

    await looking.deliver(run.run_id)

    assert handed_on == [*LOOKED, "released"]
    assert await looking.kinds() == [*LOOKED, "released", "claimed", "completed"]


@pytest.mark.behaviour("service.callers-leave")
async def test_a_run_that_its_entity_holds_is_not_handed_on_when_a_caller_leaves(looking: AppProcess) -> None:
    """Its operation is the invocation that keeps the instance alive."""
    run = await looking.start(call("a charge", waits=False))
    delivery = asyncio.ensure_future(looking.deliver(run.run_id))
    await asyncio.sleep(0.1)
    await looking.runs.wait(run, looking.engine, 1.5 * THINKING_SECONDS)
    await delivery

    assert await looking.kinds() == [*LOOKED, "completed"]
