"""The step journal of agents that are tools of other agents: what was done inside one is given again, too."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from agent_framework import Agent

from hosting.core.thread.events import ModelResult, ToolStarted
from tests.support.bench import Bench
from tests.support.halted_runs import GUARD_SECONDS, counting, killed_and_finished
from tests.support.planned import Note, Plan, planned_agent, planned_client

pytestmark = pytest.mark.behaviour("journal.agents-as-tools")

INNER: Plan = (("add",), ("look",), "seven")
# Appends: the claim, `helper` begins, `add` begins and ends, `look` begins and ends.
LOOK_BEGAN, LOOK_ENDED = 5, 6


def asks_a_helper(note: Note, inner: Plan = INNER, outer: Plan = (("helper",), "all done")) -> Agent[Any]:
    """Return an agent whose tool `helper` is another agent; what that one does is noted as `inner`."""
    helper = planned_agent(lambda what: note(f"inner {what}"), plan=inner, name="Helper")
    tools = [helper.as_tool(name="helper", arg_name="n")]
    return Agent(planned_client(note, outer), name="Joker", tools=tools)


async def test_a_tool_of_it_that_was_cut_short_ends_the_run() -> None:
    """As one of the agent that runs; the sentence names the tool, and not the agent that called it."""
    counted, note = counting()

    ended = await killed_and_finished(asks_a_helper(note), counted, appends=LOOK_BEGAN)

    assert (ended.terminal["code"], ended.done_after) == ("run_interrupted", Counter())
    assert "tool 'look'" in ended.terminal["detail"]


async def test_another_answer_than_before_inside_of_it_ends_the_run() -> None:
    """The sentence names the model call within the call of the agent."""
    counted, note = counting()
    agent = asks_a_helper(note)

    def changed(event: Any) -> Any:
        is_inner = isinstance(event, ModelResult) and event.within
        return event.model_copy(update={"digest": "another"}) if is_inner else event

    ended = await killed_and_finished(agent, counted, appends=LOOK_ENDED, changed=changed)

    assert (ended.terminal["code"], ended.done_after) == ("run_diverged", Counter())
    assert "model call 1.call-0-0/1:" in ended.terminal["detail"]


async def test_every_call_inside_has_a_key_of_its_own() -> None:
    """Also where an agent is called twice at once, and by an agent that is a tool itself."""
    noted: list[str] = []
    inner = asks_a_helper(noted.append, inner=(("add",), "seven"), outer=(("helper", "helper"), "both"))
    tools = [inner.as_tool(name="middle", arg_name="n")]
    bench = Bench(Agent(planned_client(noted.append, (("middle",), "all done")), name="Joker", tools=tools))

    run_id = await asyncio.wait_for(bench.run("go"), GUARD_SECONDS)
    bench.loop.close()

    place = f"{run_id}-1.call-0-0/1.call-0"
    keys = {what.rpartition(" ")[2] for what in noted if what.startswith("inner add")}
    assert keys == {f"{place}-0/1.call-0-0", f"{place}-1/1.call-0-0"}
    started = [step for step in (await bench.find_run(run_id)).steps if isinstance(step, ToolStarted)]
    assert Counter(step.name for step in started) == Counter(middle=1, helper=2, add=2)


async def test_an_agent_that_was_a_tool_has_runs_of_its_own_as_before() -> None:
    helper = planned_agent(lambda _: None, plan=(("add",), "seven"))
    outer_client = planned_client(lambda _: None, (("helper",), "all done"))
    outer = Agent(outer_client, name="Joker", tools=[helper.as_tool(name="helper", arg_name="n")])
    benches = [Bench(outer), Bench(helper)]

    runs = [await asyncio.wait_for(bench.run("go"), GUARD_SECONDS) for bench in benches]
    for bench in benches:
        bench.loop.close()

    steps = ["model_result", "tool_started", "tool_result"]
    assert await benches[1].kinds(runs[1]) == ["accepted", "claimed", *steps, "completed"]
