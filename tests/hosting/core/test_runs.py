"""Runs as callers see them, in one process and in two, over the threads' log."""

from __future__ import annotations

import asyncio
import math
import time

import pytest
from msgspec.structs import replace

from hosting.core.care import Care
from hosting.core.runs import Runs
from hosting.core.starts import STARTS_AT_ONCE, Starts
from hosting.core.thread.commands import AcceptRun, CancelRun, ClaimRun, DeleteThread, FinishDelete
from hosting.core.thread.events import Accepted, Claimed, Completed
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import RunRequest
from hosting.errors import EngineUnavailableError, IdempotencyKeyReusedError
from hosting.names import Address
from hosting.options import Retry
from hosting.ports import Wait
from hosting.settings import read_settings
from tests.support.process import ADDRESS, AGENT, MINUTE, Process, call
from tests.support.threads import NOW, terms

Processes = tuple[Process, Process]

GUARD_SECONDS = 5.0


def text_of(run: Run) -> str:
    assert isinstance(run.end, Completed)
    text: str = run.end.entry["messages"][-1]["contents"][0]["text"]
    return text


async def until_asked(process: Process, verb: str = "watch", times: int = 1) -> None:
    async def asked() -> None:
        while process.store.calls[verb] < times:  # noqa: ASYNC110 - the waiter counts it
            await asyncio.sleep(0)

    await asyncio.wait_for(asked(), GUARD_SECONDS)


async def answered(process: Process, message: str = "hi", **members: object) -> Run:
    run = await process.start(call(message, **members))  # type: ignore[arg-type]
    return await process.runs.wait(run, process.engine, 5.0)


@pytest.mark.behaviour("service.runs-here")
async def test_a_waited_run_is_executed_where_its_request_came_in(process: Process) -> None:
    run = await answered(process, thread_id=None)

    assert text_of(run) == "echo: hi"
    assert await process.kinds(run.address) == ["accepted", "claimed", "completed"]
    assert process.engine.signals == [("run", {"run_id": run.run_id, "logged": True})]


@pytest.mark.behaviour("service.calls")
async def test_a_turn_of_a_new_thread_and_of_a_known_one_costs_two_calls(counted: Process) -> None:
    """Whatever was said before: this process appended it."""
    first = await answered(counted, thread_id=None)
    calls_of_new = dict(counted.store.calls)
    counted.store.calls.clear()
    await answered(counted, "again", thread_id=first.address.thread_id)

    assert calls_of_new == {"append": 2}
    assert dict(counted.store.calls) == {"append": 2}
    assert (counted.engine.reads, counted.agent.turns[-1]) == (0, ["hi", "echo: hi", "again"])


def patient(process: Process) -> Runs:
    care = Care(process.log, process.changes, process.holders, pace=MINUTE)
    return Runs(process.log, process.holders, care, read_settings({}), process.promised)


@pytest.mark.behaviour("service.waits-elsewhere")
async def test_whoever_waits_for_another_processs_run_learns_of_its_end_from_the_store(processes: Processes) -> None:
    one, other = processes
    one.agent.gate.clear()
    run = await one.start(call())
    waiting = asyncio.ensure_future(patient(other).wait(run, other.engine, 60.0))
    await until_asked(other)
    one.agent.gate.set()

    assert text_of(await asyncio.wait_for(waiting, GUARD_SECONDS)) == "echo: hi"


@pytest.mark.behaviour("service.waits-elsewhere")
async def test_a_wait_outlives_a_store_that_is_away_for_a_while(processes: Processes) -> None:
    one, other = processes
    one.agent.gate.clear()
    run = await one.start(call())
    other.store.is_away = True
    waiting = asyncio.ensure_future(other.runs.wait(run, other.engine, 60.0))
    await until_asked(other, "events", times=2)
    one.agent.gate.set()
    other.store.is_away = False

    assert text_of(await asyncio.wait_for(waiting, GUARD_SECONDS)) == "echo: hi"


@pytest.mark.behaviour("service.runs-here")
async def test_the_next_run_of_the_same_process_is_claimed_with_the_end_before_it(process: Process) -> None:
    process.agent.gate.clear()
    first = await process.start(call("first"))
    second = await process.start(call("second"))
    waiting = asyncio.ensure_future(process.runs.wait(second, process.engine, 5.0))
    await asyncio.sleep(0)
    process.agent.gate.set()
    await process.runs.wait(first, process.engine, 5.0)

    assert text_of(await waiting) == "echo: second"
    assert (await process.kinds())[3:5] == ["completed", "claimed"]


@pytest.mark.behaviour("service.short-waits")
@pytest.mark.parametrize(
    ("seconds", "holder"), [(0.0, "entity"), (1.0, "entity"), (30.0, "caller"), (math.inf, "caller")]
)
async def test_a_run_is_claimed_for_a_caller_who_stays(processes: Processes, seconds: float, holder: str) -> None:
    """Who waits for a second or less is answered 202 before most agents are done; who reads the events stays."""
    one, other = processes
    asked = replace(call(), wait=Wait(seconds))
    run = await one.start(asked)
    accepted_by_it = await one.kinds()
    waiting = asyncio.ensure_future(one.runs.wait_as(asked.wait, run, one.engine))
    await asyncio.wait((waiting,), timeout=0.05)  # it looks at the log once or twice
    await other.deliver(run.run_id)
    await waiting

    claims = [event.holder for _, event in await one.log.events(ADDRESS, 0) if isinstance(event, Claimed)]
    assert accepted_by_it[:2] == (["accepted"] if holder == "entity" else ["accepted", "claimed"])
    assert claims == [holder]
    assert [len(each.agent.turns) for each in processes] == ([0, 1] if holder == "entity" else [1, 0])


@pytest.mark.behaviour("hosting.waits-that-fit")
async def test_a_wait_counts_from_when_the_request_was_read(process: Process) -> None:
    """Its caller's own does: what it took to begin the run is not waited for once more."""
    process.agent.gate.clear()
    asked = replace(call(), wait=Wait(30.0, since=time.monotonic() - 30.0))
    run = await process.start(asked)

    waited = await asyncio.wait_for(process.runs.wait_as(asked.wait, run, process.engine), GUARD_SECONDS)

    assert (waited.run_id, waited.end) == (run.run_id, None)
    process.agent.gate.set()


@pytest.mark.behaviour("service.short-waits")
async def test_the_end_before_it_claims_no_run_whose_caller_hardly_waits(process: Process) -> None:
    """It would be handed on at the first step, by a caller who has left."""
    process.agent.gate.clear()
    first = await process.start(call("first"))
    hasty = replace(call("second"), wait=Wait(1.0))
    second = await process.start(hasty)
    waiting = asyncio.ensure_future(process.runs.wait_as(hasty.wait, second, process.engine))
    await asyncio.wait((waiting,), timeout=0.05)
    process.agent.gate.set()
    await process.runs.wait(first, process.engine, 5.0)

    assert await process.kinds() == ["accepted", "claimed", "accepted", "completed"]
    waiting.cancel()


@pytest.mark.behaviour("service.promises")
async def test_a_run_that_nobody_waits_for_is_left_to_its_entity(process: Process) -> None:
    run = await process.start(call(waits=False))

    assert await process.kinds() == ["accepted"]
    assert process.engine.signals == [("run", {"run_id": run.run_id, "logged": True})]


@pytest.mark.behaviour("service.promises")
@pytest.mark.parametrize("waits", [True, False])
async def test_a_signal_that_fails_leaves_nothing_but_a_cancelled_run_and_a_free_key(
    process: Process, waits: bool
) -> None:
    process.engine.is_away = True
    with pytest.raises(EngineUnavailableError):
        await process.start(call(waits=waits, key="k"))
    process.engine.is_away = False

    started = await process.runs.start(AGENT, call(key="k"), process.caller)
    run = await process.runs.wait(started.run, process.engine, 5.0)

    assert (text_of(run), started.replayed) == ("echo: hi", False)
    assert len(process.agent.turns) == 1
    assert (await process.kinds())[-4:][0] in ("cancelled", "accepted")


@pytest.mark.behaviour("service.promises")
async def test_a_key_with_another_request_is_refused(processes: Processes) -> None:
    one, other = processes
    await answered(one, "hi", key="k")

    with pytest.raises(IdempotencyKeyReusedError):
        await other.start(call("something else", key="k"))


@pytest.mark.behaviour("service.cancel")
async def test_a_cancelled_run_whose_attempt_fails_asks_the_model_no_more(processes: Processes) -> None:
    """Its next attempt would have been a claim, which a cancelled run has no more."""
    one, other = processes
    one.agent.gate.clear()
    one.agent.fails = [RuntimeError("once")]
    request = call().request.model_copy(update={"retry": Retry(attempts=2, first_pause_seconds=0.0)})
    run = await one.start(replace(call(), request=request))

    await other.log.execute(ADDRESS, CancelRun(NOW, run.run_id))
    one.agent.gate.set()
    await one.holders.drain(5.0)

    assert (await one.kinds())[-1] == "cancelled"
    assert len(one.agent.turns) <= 1


@pytest.mark.behaviour("service.cancel")
async def test_a_run_that_another_process_holds_is_cancelled_within_a_look(processes: Processes) -> None:
    one, other = processes
    one.agent.gate.clear()
    run = await one.start(call())

    await other.runs.cancel(Address.of(AGENT, "t1"), run.run_id, other.engine)
    ended = await one.runs.wait(run, one.engine, 5.0)

    assert ended.end is not None
    assert ended.end.kind == "cancelled"


@pytest.mark.behaviour("service.stale")
async def test_a_holder_that_was_taken_over_appends_nothing_more(processes: Processes) -> None:
    """And its agent is stopped; whoever waits has the end from the log."""
    one, other = processes
    one.agent.gate.clear()
    run = await one.start(call())
    head = await other.log.head(ADDRESS)
    await other.log.execute(ADDRESS, ClaimRun(0.0, terms("entity-token", "entity"), idle_append=head.append_id))
    one.agent.gate.set()

    held = one.holders.held.get(run.run_id)
    assert held is not None
    await asyncio.wait_for(held.is_over.wait(), 5.0)

    assert await one.kinds() == ["accepted", "claimed", "claimed"]


@pytest.mark.behaviour("service.leave")
async def test_a_process_that_is_told_to_stop_hands_its_runs_on(process: Process) -> None:
    process.agent.gate.clear()
    await process.start(call())

    await process.holders.drain(0.05)

    assert await process.kinds() == ["accepted", "claimed", "released"]
    assert (await process.log.head(ADDRESS)).runs[0].signalled


@pytest.mark.behaviour("service.promises")
@pytest.mark.parametrize("verb", ["find", "cancel"])
async def test_whoever_asks_for_a_run_whose_process_died_before_its_signal_has_one_taken(
    processes: Processes, verb: str
) -> None:
    """It was claimed, which proves nothing; a second one who asks needs another."""
    one, other = processes
    dead = Accepted(
        at=time.time(), run_id="r1", agent=AGENT, thread_id="t1", request=RunRequest(message="hi"), fingerprint="f"
    )
    await one.log.execute(ADDRESS, AcceptRun(dead, 32, one.holders.claim_terms(AGENT.lower())))
    before = list(other.engine.signals)

    for _ in range(2):
        await getattr(other.runs, verb)(Address.of(AGENT, "t1"), "r1", other.engine)

    assert (before, other.engine.signals) == ([], [("run", {"run_id": "r1", "logged": True})] * 2)


@pytest.mark.behaviour("service.find")
async def test_a_run_of_a_deleted_thread_is_gone(process: Process) -> None:
    run = await answered(process)
    await process.log.execute(ADDRESS, DeleteThread(1.0))
    await process.log.execute(ADDRESS, FinishDelete(2.0, {}))

    with pytest.raises(Exception, match="deleted with its thread"):
        await process.runs.find(Address.of(AGENT, "t1"), run.run_id, process.engine)


@pytest.mark.slow
@pytest.mark.behaviour("service.outage")
async def test_an_end_that_cannot_be_logged_is_left_to_the_entity(process: Process) -> None:
    """The caller is told at once that its run goes on, however long it would wait; nothing is ended twice."""
    process.agent.gate.clear()
    run = await process.start(call())
    process.store.is_away = True
    process.agent.gate.set()

    waited = await asyncio.wait_for(process.runs.wait(run, process.engine, 60.0), GUARD_SECONDS)

    process.store.is_away = False
    assert waited.end is None
    assert await process.kinds() == ["accepted", "claimed"]


@pytest.mark.behaviour("service.retry")
async def test_a_failed_attempt_is_made_again_in_its_own_claim(processes: Processes) -> None:
    process = processes[0]
    process.agent.fails = [RuntimeError("once")]
    request = call().request.model_copy(update={"retry": Retry(attempts=2, first_pause_seconds=0.0)})
    run = await process.start(replace(call(), request=request))

    ended = await process.runs.wait(run, process.engine, 5.0)

    assert text_of(ended) == "echo: hi"
    assert await process.kinds() == ["accepted", "claimed", "claimed", "completed"]


@pytest.mark.behaviour("service.runs-here")
async def test_of_many_starts_few_are_under_way_and_a_slow_one_holds_up_nobody() -> None:
    """The next ones go when all of sixteen have started, or after a moment; whoever leaves the queue takes no turn."""
    starts, under_way, most, ended = Starts(), 0, 0, 0

    async def start(seconds: float) -> None:
        nonlocal under_way, most, ended
        async with starts:
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(seconds)
            under_way -= 1
            ended += 1

    quick = [asyncio.ensure_future(start(0)) for _ in range(50)]
    await asyncio.sleep(0)
    quick[30].cancel()
    await asyncio.wait(quick)
    assert (ended, most) == (49, STARTS_AT_ONCE)

    slow = [asyncio.ensure_future(start(60)) for _ in range(40)]
    await asyncio.wait_for(asyncio.ensure_future(start(0)), 5.0)
    for one in slow:
        one.cancel()
    await asyncio.wait(slow)
    await asyncio.wait_for(start(0), 5.0)
    assert (ended, under_way) == (51, 40)
