"""The step journal: a later attempt goes on where an earlier one was, and pays for nothing twice."""

from __future__ import annotations

from collections import Counter

import pytest

from hosting.core.thread.events import Failed, ToolResult, decode, encode
from tests.support.cluster.cluster import AppProcess, Cluster
from tests.support.killed_runs import counting, killed_at
from tests.support.planned import PLAN, Plan, planned_agent

pytestmark = pytest.mark.moved_time


class Planned(Cluster):
    """Processes of an agent that follows a plan, and what the outside counts."""

    def __init__(self, plan: Plan = PLAN, **settings: str) -> None:
        self.counted, note = counting()
        super().__init__(lambda: planned_agent(note, plan), settings=settings)


@pytest.mark.behaviour("journal.records-steps")
@pytest.mark.behaviour("hosting.raising-tool-logged")
async def test_each_step_is_recorded_as_it_ends_and_a_tool_call_before_it_begins(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The answer without tool calls is the run's own record; a tool that raises leaves its traceback in the log."""
    cluster = Planned()
    app = cluster.process()
    run_id = await app.run("go")

    kinds = [event.kind for event in await app.run_events(run_id)]
    assert Counter(kinds) == Counter(accepted=1, claimed=1, model_result=3, tool_started=5, tool_result=5, completed=1)
    assert kinds.index("tool_started") > kinds.index("model_result")
    assert list(cluster.counted.values()) == [1] * (len(PLAN) + 5)
    # What earlier tests left to the collector may be collected now, and log its errors.
    raised = [record.getMessage() for record in caplog.records if record.exc_info]
    assert [message for message in raised if run_id in message] == [f"Tool flaky of run {run_id} raised."]
    assert "in flaky" in caplog.text


@pytest.mark.behaviour("journal.unknown-outcome-told")
@pytest.mark.behaviour("journal.interrupted-result")
@pytest.mark.parametrize(("setting", "kind", "when"), [("fail", "failed", "before"), ("tell", "completed", "after")])
async def test_each_call_that_was_cut_short_gets_a_result_that_says_so_once(setting: str, kind: str, when: str) -> None:
    """Before the run fails or the model is told; also where the process that appends it is killed there."""
    cluster = Planned((("add", "look"), "all done"), AGENT_INTERRUPTED_TOOLS=setting)
    app = cluster.process()
    run_id = await app.open("go")
    await killed_at(app, run_id, 2)
    await killed_at(cluster.process(), run_id, 2, when)

    app = cluster.process()
    await app.deliver(run_id)

    results = [event for event in await app.run_events(run_id) if isinstance(event, ToolResult)]
    assert [(event.key, event.interrupted) for event in results] == [("1.call-0-0", True), ("1.call-0-1", True)]
    assert (await app.terminal(run_id)).kind == kind
    assert not {"add", "look"} & set(cluster.counted)
    told = [message for entry in app.entries() for message in entry["messages"] if message["role"] == "tool"]
    assert ("may have done its work" in str(told)) == (setting == "tell")


def change_digests(cluster: Cluster, kind: str) -> None:
    """Have the steps of that kind be of something else, as where the code has changed since."""
    (thread,) = (thread for thread in cluster.memory.threads.values() if thread.events)
    for position, (append_id, payload) in thread.events.items():
        event = decode(payload)
        if event.kind == kind:
            thread.events[position] = append_id, encode(event.model_copy(update={"digest": "another"}))


@pytest.mark.behaviour("journal.diverged")
@pytest.mark.parametrize(("kind", "step"), [("tool_started", "call 1.call-0-0"), ("model_result", "model call 1")])
async def test_an_attempt_that_does_something_else_ends_the_run(kind: str, step: str) -> None:
    """As where the code changed, or says something else each time; the sentence names the step."""
    cluster = Planned((("add",), ("look",), "all done"))
    app: AppProcess = cluster.process()
    run_id = await app.open("go")
    await killed_at(app, run_id, 4)
    change_digests(cluster, kind)

    app = cluster.process()
    await app.deliver(run_id)

    terminal = await app.terminal(run_id)
    assert isinstance(terminal, Failed)
    assert terminal.code == "run_diverged"
    assert step in terminal.detail
    assert set(cluster.counted.values()) == {1}
