"""A request that takes the place of the runs that have not ended, in one process and in two."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agent_framework import AgentResponse, Message

from hosting.core.thread.events import Cancelled, Completed
from hosting.core.thread.run import Run
from hosting.names import Busy
from tests.support.cluster.cluster import ADDRESS, INSTANCE, AppProcess, Cluster, EchoAgent, call

pytestmark = [pytest.mark.moved_time, pytest.mark.behaviour("service.busy")]
Two = tuple[AppProcess, AppProcess]


class AskingAgent(EchoAgent):
    """Says something before the calls whose approval it asks for."""

    async def _answer(self, texts: list[str]) -> AgentResponse[Any]:
        answer = await super()._answer(texts)
        asking = [Message("assistant", ["May I?"]), *answer.messages]
        return AgentResponse(messages=asking, usage_details={"total_token_count": 40})


async def ended(by: AppProcess, run: Run) -> Run:
    return await by.runs.wait(run, by.engine, 60.0)


async def taken_over(cluster: Cluster, one: AppProcess, other: AppProcess, busy: Busy) -> tuple[str, Run]:
    """Return the code by which a run that speaks ends, and the run that took its place."""
    one.agent.gate.clear()
    first = await one.start(call("first", streams=True))
    await cluster.sleep(0.5)
    waiting = asyncio.ensure_future(ended(one, first))
    second = await other.start(call("second", busy=busy))
    first = await waiting
    one.agent.gate.set()
    second = await ended(other, second)
    await cluster.deliver(other)
    assert isinstance(first.end, Cancelled)
    assert isinstance(second.end, Completed)
    return first.end.code, second


@pytest.mark.parametrize("in_two", [False, True], ids=["one process", "two"])
async def test_an_interrupted_run_ends_and_the_next_begins_with_what_it_said(
    cluster: Cluster, two: Two, *, in_two: bool
) -> None:
    """Its caller is told; whoever holds it sees it within a second, as a cancel."""
    other = two[in_two]

    code, _ = await taken_over(cluster, two[0], other, "interrupt")

    assert code == "run_superseded"
    assert other.agent.turns[-1] == ["first", "echo: first", "second"]
    texts = [entry["messages"][0]["contents"][0]["text"] for entry in other.entries()]
    assert texts == ["first", "echo: first", "second", "echo: second"]


async def test_nothing_of_a_run_that_is_rolled_back_is_given_to_the_next(cluster: Cluster, two: Two) -> None:
    """Nor is it in the document that the entity stores."""
    code, _ = await taken_over(cluster, *two, "rollback")

    assert code == "run_rolled_back"
    assert two[1].agent.turns[-1] == ["second"]
    assert "first" not in cluster.engine.documents[INSTANCE]


async def test_an_interrupted_run_that_is_handed_on_ends_with_its_words(cluster: Cluster, two: Two) -> None:
    """Its process is told to stop at that moment: it ends the run, or whoever claims it next does."""
    one, other = two
    one.agent.gate.clear()
    first = await one.start(call("first", streams=True))
    await cluster.sleep(0.5)
    one.holders.held[first.run_id].hand_over()

    second = await other.start(call("second", busy="interrupt"))
    waiting = asyncio.ensure_future(ended(other, second))
    await other.deliver(second.run_id)
    await waiting

    assert other.agent.turns[-1] == ["first", "echo: first", "second"]


async def test_a_late_answer_that_asks_for_approvals_leaves_its_text_and_does_not_wait() -> None:
    """Its holder learns of the interruption when it ends the run."""
    agents = iter([AskingAgent(), EchoAgent()])
    cluster = Cluster(lambda: next(agents))
    one, other = cluster.process(), cluster.process()
    one.agent.gate.clear()
    one.agent.asks = ["a1"]
    first = await one.start(call("first"))
    await cluster.sleep(0.01)
    second = await other.start(call("second", busy="interrupt"))

    one.agent.gate.set()
    first, second = await ended(one, first), await ended(other, second)

    assert isinstance(first.end, Cancelled)
    assert first.end.code == "run_superseded"
    assert isinstance(second.end, Completed)
    assert other.agent.turns == [["first", "May I?", "second"]]
    assert (await one.log.head(ADDRESS)).used.tokens == 40
    await cluster.close()
