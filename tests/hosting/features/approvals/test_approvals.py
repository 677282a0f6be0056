"""Tool calls that wait for a person, over the threads' log and in two processes."""

from __future__ import annotations

import asyncio

import pytest

from hosting.core.thread.events import Completed
from hosting.core.thread.run_request import Answering, Decision
from hosting.errors import (
    EngineUnavailableError,
)
from hosting.features.approvals.approvals import Answered
from hosting.names import Address
from tests.support.process import AGENT, Process, call

Processes = tuple[Process, Process]


async def paused(process: Process, *calls: str) -> list[str]:
    """Have a run ask for approval of these calls; return the ids under which they are answered."""
    process.agent.asks = list(calls)
    run = await process.start(call())
    ended = await process.runs.wait(run, process.engine, 5.0)
    assert isinstance(ended.end, Completed)
    return [approval.id for approval in ended.end.approvals]


async def answer(process: Process, approval_id: str, *, approved: bool = True, waits: bool = True) -> Answered:
    decision = Decision(id=approval_id, approved=approved)
    return await process.approvals.answer(Address.of(AGENT, "t1"), Answering(decision, process.caller, waits=waits))


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
async def test_an_answer_whose_signal_was_not_taken_is_repeated_and_goes_on(process: Process) -> None:
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
