"""Tool calls that wait for a person, over the threads' log and in two processes."""

from __future__ import annotations

import asyncio
import time

import pytest

from hosting.core.thread.commands import AcceptRun, ResetThread
from hosting.core.thread.events import Completed
from hosting.core.thread.run_request import Answering, Decision
from hosting.errors import (
    ApprovalAnsweredError,
    ApprovalExpiredError,
    ApprovalsPendingError,
    EngineUnavailableError,
    UnknownApprovalError,
)
from hosting.features.approvals.approvals import Answered
from hosting.names import Address
from tests.support.process import ADDRESS, AGENT, Process, call
from tests.support.threads import accepted, end, terms

Processes = tuple[Process, Process]


async def paused(process: Process, *calls: str) -> list[str]:
    """Have a run ask for approval of these calls; return the ids under which they are answered."""
    process.agent.asks = list(calls)
    run = await process.start(call())
    ended = await process.runs.wait(run, process.engine, 5.0)
    assert isinstance(ended.end, Completed)
    return [approval.id for approval in ended.end.approvals]


async def answer(process: Process, approval_id: str, *, approved: bool = True, waits: bool = True) -> Answered:
    """Decide on one of them."""
    decision = Decision(id=approval_id, approved=approved)
    return await process.approvals.answer(Address.of(AGENT, "t1"), Answering(decision, process.caller, waits=waits))


@pytest.mark.behaviour("service.approvals")
async def test_the_last_answer_begins_the_run_that_goes_on(processes: Processes) -> None:
    """In the process that was asked, whichever that is."""
    one, other = processes
    first, second = await paused(one, "c1", "c2")

    earlier = await answer(other, first)
    last = await answer(other, second)
    assert last.resumed is not None
    ended = await other.runs.wait(last.resumed, other.engine, 5.0)

    assert earlier.resumed is None
    assert isinstance(ended.end, Completed)
    assert [decision.id for decision in ended.accepted.request.decisions] == [first, second]
    assert len(other.agent.turns) == 1


@pytest.mark.behaviour("service.approvals")
async def test_the_thread_lists_what_it_waits_for_and_takes_no_message(processes: Processes) -> None:
    """In any process, until all is answered."""
    one, other = processes
    first, _ = await paused(one, "c1", "c2")
    await answer(one, first)

    waiting = await other.approvals.waiting(Address.of(AGENT, "t1"))

    assert waiting is not None
    assert [answered.decision.id for answered in waiting.answers] == [first]
    with pytest.raises(ApprovalsPendingError):
        await other.start(call())


@pytest.mark.behaviour("service.approvals")
@pytest.mark.parametrize(("seconds", "is_listed"), [(60.0, True), (-60.0, False)])
async def test_a_thread_lists_approvals_until_their_time_is_up(
    process: Process, seconds: float, is_listed: bool
) -> None:
    """And takes messages from then on."""
    now = time.time()
    await process.log.execute(ADDRESS, AcceptRun(accepted("r1", at=now), 32, terms("token-r1")))
    await process.log.execute(ADDRESS, end("r1", "approval", expires_at=now + seconds))

    waiting = await process.approvals.waiting(Address.of(AGENT, "t1"))

    assert (waiting is not None) == is_listed


@pytest.mark.behaviour("service.approvals")
async def test_a_thread_that_was_reset_waits_for_no_approval(processes: Processes) -> None:
    """And takes no answer any more."""
    one, other = processes
    (approval,) = await paused(one, "c1")
    await one.log.execute(ADDRESS, ResetThread(time.time()))

    assert await other.approvals.waiting(Address.of(AGENT, "t1")) is None
    with pytest.raises(ApprovalExpiredError):
        await answer(other, approval)


@pytest.mark.behaviour("service.approvals")
async def test_two_last_answers_at_one_moment_begin_one_run(processes: Processes) -> None:
    """Each decides on another call; the later one brings both decisions."""
    one, other = processes
    first, second = await paused(one, "c1", "c2")

    both = await asyncio.gather(answer(one, first), answer(other, second))

    resumed = [found.resumed for found in both if found.resumed is not None]
    assert len(resumed) == 1
    assert {decision.id for decision in resumed[0].accepted.request.decisions} == {first, second}


@pytest.mark.behaviour("service.approvals")
async def test_a_repeated_last_answer_finds_the_run_that_goes_on(processes: Processes) -> None:
    """The first one's answer may have been lost; another decision is refused."""
    one, other = processes
    (approval,) = await paused(one, "c1")
    last = await answer(one, approval, waits=False)

    again = await answer(other, approval)

    assert last.resumed is not None
    assert again.resumed is not None
    assert again.resumed.run_id == last.resumed.run_id
    with pytest.raises(ApprovalAnsweredError):
        await answer(other, approval, approved=False)


@pytest.mark.behaviour("service.approvals")
async def test_an_answer_whose_signal_was_not_taken_is_repeated_and_goes_on(process: Process) -> None:
    """Its decision stands, and so does the run that it began."""
    (approval,) = await paused(process, "c1")
    process.engine.is_away = True
    with pytest.raises(EngineUnavailableError):
        await answer(process, approval, waits=False)
    process.engine.is_away = False

    again = await answer(process, approval)
    assert again.resumed is not None
    ended = await process.runs.wait(again.resumed, process.engine, 5.0)

    assert isinstance(ended.end, Completed)
    assert process.engine.signals[-1] == ("run", {"run_id": ended.run_id, "logged": True})


@pytest.mark.behaviour("service.approvals")
async def test_an_approval_that_nobody_asked_for_is_unknown(process: Process) -> None:
    """On this thread."""
    await paused(process, "c1")

    with pytest.raises(UnknownApprovalError):
        await answer(process, "another")
