"""The step journal with what else an agent may have: context providers, a wanted format, another agent as a tool."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from agent_framework import Agent, AgentSession, ContextProvider

from hosting.events import Accepted, ResponseFormat, RunRequest
from tests.hosting.bench import NOW, Bench
from tests.hosting.planned import PlannedClient, planned_agent
from tests.hosting.test_journal import GUARD_SECONDS, HaltingStore

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
AFTER_THE_TOOL = 3  # started; model result with the begin of the call; its end


class Counting(ContextProvider):
    """Adds to the model's instructions, and counts its runs in what the session keeps."""

    def __init__(self) -> None:
        super().__init__("counting")

    async def before_run(self, *, agent: Any, session: AgentSession, context: Any, state: dict[str, Any]) -> None:
        context.extend_instructions(self.source_id, "Be brief.")

    async def after_run(self, *, agent: Any, session: AgentSession, context: Any, state: dict[str, Any]) -> None:
        state["runs"] = state.get("runs", 0) + 1


async def killed_and_finished(agent: Agent[Any], request: RunRequest, counted: Counter[str]) -> dict[str, Any]:
    """Kill the run once its first tool has its result, finish it, and return its terminal record."""
    bench = Bench(agent)
    bench.store = store = HaltingStore()
    bench.restart()
    store.halts_at = (AFTER_THE_TOOL, "after")
    await bench.log.open(
        Accepted(at=NOW, run_id="r-1", agent="Joker", thread_id="t", fingerprint="print", request=request)
    )
    delivery = asyncio.create_task(bench.signal("r-1"))
    await asyncio.wait_for(store.halted.wait(), GUARD_SECONDS)
    delivery.cancel()
    await asyncio.gather(delivery, return_exceptions=True)
    before = Counter(counted)
    bench.restart()
    store.halts_at = None
    await asyncio.wait_for(bench.signal("r-1"), GUARD_SECONDS)
    bench.loop.close()
    assert counted - before == Counter({"model 2": 1})
    return (await bench.terminal("r-1")).model_dump(mode="json")


def counting() -> tuple[Counter[str], Callable[[str], None]]:
    """Return what is counted and how it is told."""
    counted: Counter[str] = Counter()
    return counted, lambda what: counted.update([what.partition(" r-")[0]])


@pytest.mark.behaviour("journal.nothing-twice")
async def test_a_context_provider_runs_again_and_its_state_is_of_one_run() -> None:
    """What it put into the session is kept by the attempt that ended the run."""
    counted, note = counting()
    agent = planned_agent(note, plan=(("add",), "all done"))
    agent.context_providers.append(Counting())

    ended = await killed_and_finished(agent, RunRequest(message="go"), counted)

    assert ended["kind"] == "completed"
    assert ended["session"]["state"]["counting"] == {"runs": 1}


@pytest.mark.behaviour("journal.nothing-twice")
async def test_an_answer_in_a_format_is_checked_by_the_attempt_that_gets_it() -> None:
    """Its value is recorded."""
    counted, note = counting()
    request = RunRequest(message="go", response_format=ResponseFormat(json_schema=SCHEMA))

    ended = await killed_and_finished(planned_agent(note, plan=(("add",), '{"a": 1}')), request, counted)

    assert ended["kind"] == "completed"
    assert '"a": 1' in json.dumps(ended["entry"])


@pytest.mark.behaviour("journal.nothing-twice")
async def test_an_agent_that_is_a_tool_is_one_step_of_the_other() -> None:
    """Recorded whole by its result; neither its model nor its tools are called again."""
    counted, note = counting()
    inner = planned_agent(lambda what: note(f"inner {what}"), plan=(("add",), "seven"))
    client = PlannedClient()
    client.note, client.plan = note, (("helper",), "all done")
    outer = Agent(client, name="Joker", tools=[inner.as_tool(name="helper", arg_name="n")])

    ended = await killed_and_finished(outer, RunRequest(message="go"), counted)

    assert ended["kind"] == "completed"
    assert counted["inner model 1"] == counted["inner model 2"] == 1
