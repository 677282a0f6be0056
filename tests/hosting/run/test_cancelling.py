"""Cancelling a run: where it waits, where it runs, in this process and in another, and after that one died."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from agent_framework import AgentResponse

from hosting.events import CancelRequested
from hosting.run.runs import Runs
from tests.support.bench import Bench, Signals, answer

GUARD_SECONDS = 5.0


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    """One thread whose agent hangs when told so."""
    bench = Bench()
    bench.agent.work = hang_or_answer
    yield bench
    bench.loop.close()


async def hang_or_answer(text: str) -> AgentResponse[object]:
    """Answer, or wait for what never comes."""
    if text == "hang":
        await asyncio.Event().wait()
    return await answer(text)


def runs_of(bench: Bench) -> Runs:
    """Return the runs as another process of the app sees them: over the same store, knowing nothing."""
    here = bench.log
    bench.restart()
    there, bench.log = bench.log, here
    return Runs(there, bench.settings, bench.clock)


async def running(bench: Bench) -> tuple[str, asyncio.Task[None]]:
    """Start a run that hangs; return its id and its delivery once the agent runs."""
    run_id = await bench.open("hang")
    delivery = asyncio.create_task(bench.signal(run_id))
    while not bench.agent.seen:  # noqa: ASYNC110 - the agent runs on a loop of its own
        await asyncio.sleep(0)
    return run_id, delivery


@pytest.mark.behaviour("turn.cancel")
async def test_a_running_run_is_stopped_by_its_own_process(bench: Bench) -> None:
    """At once: the wish is heard where it was written."""
    run_id, delivery = await running(bench)

    await Runs(bench.log, bench.settings, bench.clock).cancel("Joker", "t", run_id, Signals())
    await asyncio.wait_for(delivery, GUARD_SECONDS)

    assert bench.store.kinds(run_id) == ["accepted", "started", "cancel_requested", "cancelled"]
    assert (await bench.terminal(run_id)).kind == "cancelled"
    assert bench.places() == [run_id]


@pytest.mark.behaviour("turn.cancel")
async def test_a_running_run_is_stopped_from_another_process(bench: Bench) -> None:
    """Through the run log, where the executing process looks once a second."""
    run_id, delivery = await running(bench)
    there = runs_of(bench)

    await there.cancel("Joker", "t", run_id, Signals())
    await asyncio.wait_for(delivery, GUARD_SECONDS)

    assert bench.store.kinds(run_id) == ["accepted", "started", "cancel_requested", "cancelled"]


@pytest.mark.behaviour("turn.cancel")
async def test_a_run_whose_process_died_is_cancelled_by_the_next_attempt(bench: Bench) -> None:
    """Without running the agent again."""
    run_id, delivery = await running(bench)
    delivery.cancel()
    record = await bench.record(run_id)
    await bench.store.append(run_id, CancelRequested(at=1.0), after=record.position)
    bench.restart()

    await bench.signal(run_id)

    assert (await bench.terminal(run_id)).kind == "cancelled"
    assert len(bench.agent.seen) == 1


@pytest.mark.behaviour("turn.cancel")
async def test_a_run_that_waits_is_ended_where_it_waits(bench: Bench) -> None:
    """It never starts, and has its place in the conversation as one that was cancelled."""
    run_id = await bench.open("never")

    await Runs(bench.log, bench.settings, bench.clock).cancel("Joker", "t", run_id, Signals())
    await bench.signal(run_id)

    assert bench.agent.seen == []
    assert bench.entries()[1]["status"] == "cancelled"


@pytest.mark.behaviour("turn.cancel")
async def test_an_answer_that_was_first_stands(bench: Bench) -> None:
    """Cancelling an ended run appends nothing."""
    run_id = await bench.run("hi")

    record = await runs_of(bench).cancel("Joker", "t", run_id, Signals())

    assert record.terminal is not None
    assert bench.store.kinds(run_id) == ["accepted", "started", "completed"]
