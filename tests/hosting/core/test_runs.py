"""Runs as callers see them, in one process and in two, over the threads' log."""

from __future__ import annotations

import asyncio
import math
import time

import pytest
from msgspec.structs import replace

from hosting.core.care import PACE
from hosting.core.starts import STARTS_AT_ONCE, Starts
from hosting.core.thread.commands import AcceptRun, CancelRun, ClaimRun, DeleteThread, FinishDelete
from hosting.core.thread.events import Accepted, Claimed, Completed
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import RunRequest
from hosting.errors import EngineUnavailableError
from hosting.options import Retry
from hosting.ports import Wait
from tests.support.cluster.cluster import ADDRESS, AGENT, AppProcess, call
from tests.support.threads import NOW, terms

pytestmark = pytest.mark.moved_time

Processes = tuple[AppProcess, AppProcess]

GUARD_SECONDS = 5.0


def text_of(run: Run) -> str:
    assert isinstance(run.end, Completed)
    text: str = run.end.entry["messages"][-1]["contents"][0]["text"]
    return text


async def until_asked(app: AppProcess, verb: str = "watch", times: int = 1) -> None:
    async def asked() -> None:
        while app.store.calls[verb] < times:  # noqa: ASYNC110 - the waiter counts it
            await asyncio.sleep(0)

    await asyncio.wait_for(asked(), GUARD_SECONDS)


@pytest.mark.behaviour("service.runs-here")
@pytest.mark.behaviour("service.calls")
async def test_a_waited_run_is_executed_where_its_request_came_in_by_two_calls(app: AppProcess) -> None:
    """On a new thread, and on a known one whatever was said before: this process appended it."""
    first = await app.answered("hi", thread_id=None)
    calls_of_new = dict(app.store.calls)
    app.store.calls.clear()
    await app.answered("again", first.address.thread_id)

    assert text_of(first) == "echo: hi"
    assert app.engine.sent[0] == ("run", {"run_id": first.run_id, "logged": True})
    assert calls_of_new == dict(app.store.calls) == {"append": 2}
    assert (app.engine.reads, app.agent.turns[-1]) == (0, ["hi", "echo: hi", "again"])
    assert await app.kinds(first.address) == ["accepted", "claimed", "completed"] * 2


@pytest.mark.behaviour("service.waits-elsewhere")
async def test_whoever_waits_for_another_processs_run_learns_of_its_end_from_the_store(two: Processes) -> None:
    one, other = two
    one.agent.gate.clear()
    run = await one.start(call())
    waiting = asyncio.ensure_future(other.runs.wait(run, other.engine, 60.0))
    await until_asked(other)
    released_at = one.cluster.wall()
    one.agent.gate.set()

    assert text_of(await waiting) == "echo: hi"
    assert one.cluster.wall() - released_at < PACE.first


@pytest.mark.behaviour("service.waits-elsewhere")
async def test_a_wait_outlives_a_store_that_is_away_for_a_while(two: Processes) -> None:
    one, other = two
    one.agent.gate.clear()
    run = await one.start(call())
    other.store.is_away = True
    waiting = asyncio.ensure_future(other.runs.wait(run, other.engine, 60.0))
    await until_asked(other, "events", times=2)
    one.agent.gate.set()
    other.store.is_away = False

    assert text_of(await asyncio.wait_for(waiting, GUARD_SECONDS)) == "echo: hi"


@pytest.mark.behaviour("service.runs-here")
@pytest.mark.behaviour("service.short-waits")
@pytest.mark.parametrize(("seconds", "behind"), [(60.0, ["completed", "claimed", "completed"]), (1.0, ["completed"])])
async def test_the_next_run_of_the_same_process_is_claimed_with_the_end_before_it(
    app: AppProcess, seconds: float, behind: list[str]
) -> None:
    """But not for a caller who hardly waits: it would be handed on at the first step."""
    app.agent.gate.clear()
    first = await app.start(call("first"))
    asked = replace(call("second"), wait=Wait(seconds))
    second = await app.start(asked)
    waiting = asyncio.ensure_future(app.runs.wait_as(asked.wait, second, app.engine))
    await asyncio.sleep(0.05)
    app.agent.gate.set()
    await app.runs.wait(first, app.engine, 5.0)
    await waiting

    assert (await app.kinds())[3:] == behind


@pytest.mark.behaviour("service.short-waits")
@pytest.mark.parametrize(
    ("seconds", "holder"), [(0.0, "entity"), (1.0, "entity"), (30.0, "caller"), (math.inf, "caller")]
)
async def test_a_run_is_claimed_for_a_caller_who_stays(two: Processes, seconds: float, holder: str) -> None:
    """Who waits for a second or less is answered 202 before most agents are done; who reads the events stays."""
    one, other = two
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
    assert [len(each.agent.turns) for each in two] == ([0, 1] if holder == "entity" else [1, 0])


@pytest.mark.behaviour("hosting.waits-that-fit")
async def test_a_wait_counts_from_when_the_request_was_read(app: AppProcess) -> None:
    """Its caller's own does: what it took to begin the run is not waited for once more."""
    app.agent.gate.clear()
    asked = replace(call(), wait=Wait(30.0, since=time.monotonic() - 30.0))
    run = await app.start(asked)

    waited = await asyncio.wait_for(app.runs.wait_as(asked.wait, run, app.engine), GUARD_SECONDS)

    assert (waited.run_id, waited.end) == (run.run_id, None)
    app.agent.gate.set()


@pytest.mark.behaviour("service.promises")
@pytest.mark.parametrize("waits", [True, False])
async def test_a_signal_that_fails_leaves_nothing_but_a_cancelled_run_and_a_free_key(
    app: AppProcess, waits: bool
) -> None:
    app.engine.is_away = True
    with pytest.raises(EngineUnavailableError):
        await app.start(call(waits=waits, key="k"))
    app.engine.is_away = False

    started = await app.runs.start(AGENT, call(key="k"), app.caller)
    run = await app.runs.wait(started.run, app.engine, 5.0)

    assert (text_of(run), started.replayed) == ("echo: hi", False)
    assert len(app.agent.turns) == 1
    assert (await app.kinds())[-4:][0] in ("cancelled", "accepted")


@pytest.mark.behaviour("service.cancel")
async def test_a_cancelled_run_whose_attempt_fails_asks_the_model_no_more(two: Processes) -> None:
    """Its next attempt would have been a claim, which a cancelled run has no more."""
    one, other = two
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
@pytest.mark.parametrize(("in_two", "seconds"), [(False, 0.01), (True, 2.0)], ids=["here", "elsewhere"])
async def test_a_run_is_cancelled_at_once_where_it_is_held_and_else_within_a_look(
    two: Processes, in_two: bool, seconds: float
) -> None:
    by = two[in_two]
    two[0].agent.gate.clear()
    run = await two[0].start(call())
    asked_at = by.cluster.wall()

    await by.runs.cancel(ADDRESS, run.run_id, by.engine)
    ended = await two[0].runs.wait(run, two[0].engine, 5.0)

    assert ended.end is not None
    assert (ended.end.kind, by.cluster.wall() - asked_at < seconds) == ("cancelled", True)


@pytest.mark.behaviour("service.stale")
async def test_a_holder_that_was_taken_over_appends_nothing_more(two: Processes) -> None:
    """And its agent is stopped; whoever waits has the end from the log."""
    one, other = two
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
async def test_a_process_that_is_told_to_stop_hands_its_runs_on(app: AppProcess) -> None:
    app.agent.gate.clear()
    await app.start(call())

    await app.holders.drain(0.05)

    assert await app.kinds() == ["accepted", "claimed", "released"]
    assert (await app.log.head(ADDRESS)).runs[0].signalled


@pytest.mark.behaviour("service.promises")
@pytest.mark.parametrize("verb", ["find", "cancel"])
async def test_whoever_asks_for_a_run_whose_process_died_before_its_signal_has_one_taken(
    two: Processes, verb: str
) -> None:
    """It was claimed, which proves nothing; a second one who asks needs another."""
    one, other = two
    dead = Accepted(
        at=time.time(), run_id="r1", agent=AGENT, thread_id="t1", request=RunRequest(message="hi"), fingerprint="f"
    )
    await one.log.execute(ADDRESS, AcceptRun(dead, 32, one.holders.claim_terms(AGENT.lower())))
    before = list(other.engine.sent)

    for _ in range(2):
        await getattr(other.runs, verb)(ADDRESS, "r1", other.engine)

    assert (before, other.engine.sent) == ([], [("run", {"run_id": "r1", "logged": True})] * 2)


@pytest.mark.behaviour("service.find")
async def test_a_run_of_a_deleted_thread_is_gone(app: AppProcess) -> None:
    run = await app.answered()
    await app.log.execute(ADDRESS, DeleteThread(1.0))
    await app.log.execute(ADDRESS, FinishDelete(2.0, {}))

    with pytest.raises(Exception, match="deleted with its thread"):
        await app.runs.find(ADDRESS, run.run_id, app.engine)


@pytest.mark.behaviour("service.outage")
async def test_an_end_that_cannot_be_logged_is_left_to_the_entity(app: AppProcess) -> None:
    """The caller is told at once that its run goes on, however long it would wait; nothing is ended twice."""
    app.agent.gate.clear()
    run = await app.start(call())
    app.store.is_away = True
    app.agent.gate.set()

    waited = await asyncio.wait_for(app.runs.wait(run, app.engine, 3600.0), 60.0)

    app.store.is_away = False
    assert waited.end is None
    assert await app.kinds() == ["accepted", "claimed"]


@pytest.mark.behaviour("service.retry")
async def test_a_failed_attempt_is_made_again_in_its_own_claim(two: Processes) -> None:
    app = two[0]
    app.agent.fails = [RuntimeError("once")]
    request = call().request.model_copy(update={"retry": Retry(attempts=2, first_pause_seconds=0.0)})
    run = await app.start(replace(call(), request=request))

    ended = await app.runs.wait(run, app.engine, 5.0)

    assert text_of(ended) == "echo: hi"
    assert await app.kinds() == ["accepted", "claimed", "claimed", "completed"]


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
