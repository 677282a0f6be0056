"""A request that takes the place of the runs that have not ended, in one process and in two."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agent_framework import AgentResponse, Message

from hosting.core.stores.memory import MemoryObjects, SharedMemory
from hosting.core.thread.events import Cancelled, Completed
from hosting.core.thread.run import Run
from hosting.names import Busy
from state.codec import read
from tests.support.process import ADDRESS, EchoAgent, Engine, Process, call
from tests.support.state_documents import history_messages

Processes = tuple[Process, Process]
GUARD_SECONDS = 10.0


class AskingAgent(EchoAgent):
    """Says something before the calls whose approval it asks for."""

    async def _answer(self, texts: list[str]) -> AgentResponse[Any]:
        answer = await super()._answer(texts)
        asking = [Message("assistant", ["May I?"]), *answer.messages]
        return AgentResponse(messages=asking, usage_details={"total_token_count": 40})


async def speaking(process: Process, message: str = "first") -> Run:
    process.agent.gate.clear()
    run = await process.start(call(message, streams=True))
    said = ""
    while said != f"echo: {message}":
        await asyncio.sleep(0.005)
        found = await process.operations.find_run(ADDRESS, run.run_id)
        said = "" if found is None else found.text
    return run


async def ended(process: Process, run: Run) -> Run:
    return await process.runs.wait(run, process.engine, GUARD_SECONDS)


def code_of(run: Run) -> str:
    assert isinstance(run.end, Cancelled)
    return run.end.code


async def taken_over(one: Process, other: Process, busy: Busy) -> tuple[Run, Run]:
    first = await speaking(one)
    waiting = asyncio.ensure_future(ended(one, first))
    second = await other.start(call("second", busy=busy))
    answered = await ended(other, second)
    one.agent.gate.set()
    return await waiting, answered


@pytest.mark.behaviour("service.busy")
@pytest.mark.parametrize("in_two", [False, True], ids=["one process", "two"])
async def test_an_interrupted_run_ends_and_the_next_begins_with_what_it_said(
    processes: Processes, in_two: bool
) -> None:
    """Its caller is told; whoever holds it sees it within a second, as a cancel."""
    one, other = processes[0], processes[1] if in_two else processes[0]
    if not in_two:
        first = await speaking(one)
        waiting = asyncio.ensure_future(ended(one, first))
        second = await one.start(call("second", busy="interrupt"))
        first = await waiting
        one.agent.gate.set()
        second = await ended(one, second)
    else:
        first, second = await taken_over(one, other, "interrupt")

    assert code_of(first) == "run_superseded"
    assert isinstance(second.end, Completed)
    assert other.agent.turns[-1] == ["first", "echo: first", "second"]
    await other.deliver(second.run_id)
    document = read(other.engine.documents["t1"])
    texts = [message.text for message in history_messages(document)]
    assert texts == ["first", "echo: first", "second", "echo: second"]


@pytest.mark.behaviour("service.busy")
async def test_nothing_of_a_run_that_is_rolled_back_is_given_to_the_next(processes: Processes) -> None:
    """Nor is it in the document that the entity stores."""
    one, other = processes

    first, second = await taken_over(one, other, "rollback")

    assert code_of(first) == "run_rolled_back"
    assert other.agent.turns[-1] == ["second"]
    await other.deliver(second.run_id)
    assert "first" not in other.engine.documents["t1"]


@pytest.mark.behaviour("service.busy")
async def test_an_interrupted_run_that_is_handed_on_ends_with_its_words(processes: Processes) -> None:
    """Its process is told to stop at that moment: it ends the run, or whoever claims it next does."""
    one, other = processes
    first = await speaking(one)
    one.holders.held[first.run_id].hand_over()

    second = await other.start(call("second", busy="interrupt"))
    waiting = asyncio.ensure_future(ended(other, second))
    await other.deliver(second.run_id)
    await waiting

    assert other.agent.turns[-1] == ["first", "echo: first", "second"]


@pytest.mark.behaviour("service.busy")
async def test_a_late_answer_that_asks_for_approvals_leaves_its_text_and_does_not_wait() -> None:
    """Its holder learns of the interruption when it ends the run."""
    shared, attachments, engine = SharedMemory(), MemoryObjects(), Engine()
    slow = {"poll_seconds": 60.0, "lease_seconds": 60.0}
    agent = AskingAgent()
    one, other = Process(shared, attachments, engine, holding=slow, run=agent), Process(shared, attachments, engine)
    agent.gate.clear()
    agent.asks = ["a1"]
    first = await one.start(call("first"))
    await asyncio.sleep(0.05)
    second = await other.start(call("second", busy="interrupt"))

    agent.gate.set()
    first, second = await ended(one, first), await ended(other, second)

    assert code_of(first) == "run_superseded"
    assert isinstance(second.end, Completed)
    assert other.agent.turns == [["first", "May I?", "second"]]
    assert (await one.log.head(ADDRESS)).used.tokens == 40
    for process in (one, other):
        process.loop.close()
