"""The step journal: a later attempt goes on where an earlier one was, and pays for nothing twice."""

from __future__ import annotations

from collections import Counter

import pytest

from hosting.core.thread.events import Failed, ToolResult, decode
from tests.support.bench import ADDRESS
from tests.support.halted_runs import World
from tests.support.planned import PLAN

# The events of the planned run behind `accepted`; parallel tools may end in any order. A model's answer is written with
# the begin of the calls that it asks for.
EVENTS = 1 + 3 + 2 * 5 + 1


@pytest.mark.behaviour("journal.records-steps")
async def test_each_step_is_recorded_as_it_ends_and_a_tool_call_before_it_begins() -> None:
    """The answer without tool calls is the run's own record."""
    world = World()
    run_id = await world.bench.run("go")
    world.bench.loop.close()

    kinds = await world.bench.kinds(run_id)
    assert len(kinds) == 1 + EVENTS
    assert Counter(kinds) == Counter(accepted=1, claimed=1, model_result=3, tool_started=5, tool_result=5, completed=1)
    assert kinds.index("tool_started") > kinds.index("model_result")
    assert (await world.bench.terminal(run_id)).kind == "completed"
    assert [count for what, count in world.counted.items()] == [1] * (len(PLAN) + 5)


@pytest.mark.behaviour("hosting.raising-tool-logged")
async def test_a_tool_that_raises_leaves_its_traceback_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """With its name and the run; the framework says no more than the error's class, and the run goes on."""
    world = World()
    run_id = await world.bench.run("go")
    world.bench.loop.close()

    # What earlier tests left to the collector may be collected now, and log its errors.
    raised = [record.getMessage() for record in caplog.records if record.exc_info]
    assert [message for message in raised if run_id in message] == [f"Tool flaky of run {run_id} raised."]
    assert "in flaky" in caplog.text
    assert (await world.bench.terminal(run_id)).kind == "completed"


@pytest.mark.behaviour("journal.unknown-outcome-told")
async def test_the_model_may_be_told_that_an_outcome_is_unknown() -> None:
    """By a setting; the run goes on and the tool is not called again."""
    world = World({"AGENT_INTERRUPTED_TOOLS": "tell"}, plan=(("add",), "all done"))
    run_id = await world.killed_at(2, "after")

    await world.finished(run_id)

    assert (await world.bench.terminal(run_id)).kind == "completed"
    results = [message for message in world.bench.entries()[1]["messages"] if message["role"] == "tool"]
    assert "may have done its work" in str(results)


@pytest.mark.behaviour("journal.interrupted-result")
@pytest.mark.parametrize(("setting", "kind", "when"), [("fail", "failed", "before"), ("tell", "completed", "after")])
async def test_each_call_that_was_cut_short_gets_a_result_that_says_so_once(setting: str, kind: str, when: str) -> None:
    """Before the run fails or the model is told; also where the process that appends it is killed there."""
    world = World({"AGENT_INTERRUPTED_TOOLS": setting}, plan=(("add", "look"), "all done"))
    run_id = await world.killed_at(2, "after")
    await world.killed_again_at(run_id, 4, when)

    await world.finished(run_id)

    events = [decode(stored.payload) for stored in await world.store.events(ADDRESS, 0)]
    results = [event for event in events if isinstance(event, ToolResult)]
    assert [(event.key, event.interrupted) for event in results] == [("1.call-0-0", True), ("1.call-0-1", True)]
    assert (await world.bench.terminal(run_id)).kind == kind
    assert not {"add", "look"} & set(world.counted)


@pytest.mark.behaviour("journal.diverged")
@pytest.mark.parametrize(("kind", "step"), [("tool_started", "call 1.call-0-0"), ("model_result", "model call 1")])
async def test_an_attempt_that_does_something_else_ends_the_run(kind: str, step: str) -> None:
    """As where the code changed, or says something else each time; the sentence names the step."""
    world = World(plan=(("add",), ("look",), "all done"))
    run_id = await world.killed_at(4, "after")
    await world.rewrite(lambda event: event.model_copy(update={"digest": "another"}) if event.kind == kind else event)

    await world.finished(run_id)

    terminal = await world.bench.terminal(run_id)
    assert isinstance(terminal, Failed)
    assert terminal.code == "run_diverged"
    assert step in terminal.detail
    assert set(world.counted.values()) == {1}
