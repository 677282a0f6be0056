"""Workflows whose process dies around each append: between their steps and supersteps, and within them."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.killed_app import KILLED, KilledApp, Row, Scenario, each_dies
from tests.support.carriers import GUARD_SECONDS, Api
from tests.support.running_host import ROOT, RunningHost

pytestmark = KILLED

TRIP = '''
import asyncio

from agent_framework import Agent, RunContext, step, tool, workflow

from hosting.tools import idempotent
from tests.support.planned import planned_client


@tool(approval_mode="never_require")
def city(n: str) -> str:
    """Name a city."""
    note("tool")
    return "Paris"


guide = Agent(planned_client(note, (("city",), "all done")), name="Guide", tools=[city])


@step
async def book(what: str) -> dict[str, str]:
    note("book")
    return {"booked": what}


@idempotent
@step
async def look(what: str) -> str:
    note("look")
    return f"saw {what}"


@idempotent
@step
async def ask_guide(text: str) -> str:
    return (await guide.run("which city?")).text


@workflow(name="Trip")
async def trip(text: str, ctx: RunContext) -> str:
    note("function")
    booked = (await book(text))["booked"]
    ctx.set_state("booked", booked)
    seen, other = await asyncio.gather(look(text), book("another"))
    said = await ask_guide(text)
    return f"{ctx.get_state('booked')}, {seen}, {other['booked']}, {said}"


app = AgentFunctionApp(workflow=trip)
'''
"""A function with steps of its own, one of an agent."""
CHAIN = '''
from agent_framework import Agent, Executor, Message, WorkflowBuilder, WorkflowContext, handler, tool

from tests.support.planned import planned_client


@tool(approval_mode="never_require")
def city(n: str) -> str:
    """Name a city."""
    note("tool")
    return "Paris"


class Step(Executor):
    @handler
    async def go(self, text: str, ctx: WorkflowContext[str, str]) -> None:
        note(self.id)
        began = ctx.get_state("began") or text
        ctx.set_state("began", began)
        await ctx.yield_output(f"{self.id} of {began}")
        await ctx.send_message(f"{text}, {self.id}")


class Asking(Executor):
    def __init__(self):
        super().__init__("asking")
        self.agent = Agent(planned_client(note, (("city",), "all done")), name="Asked", tools=[city])

    @handler
    async def go(self, text: str, ctx: WorkflowContext[str, str]) -> None:
        await ctx.send_message(f"{text}, {(await self.agent.run('which city?')).text}")


class Turns(Executor):
    """Counts the turns, in its own state and in the workflow's."""

    own = 0

    @handler
    async def count(self, messages: list[Message], ctx: WorkflowContext[str, str]) -> None:
        note("turn")
        self.own += 1
        ctx.set_state("turns", ctx.get_state("turns", 0) + 1)
        await ctx.yield_output(f"turn {self.own} {ctx.get_state('turns')}, {len(messages)} messages")
        await ctx.send_message(messages[-1].text)

    async def on_checkpoint_save(self):
        return {"own": self.own}

    async def on_checkpoint_restore(self, state):
        self.own = state["own"]


class Last(Executor):
    @handler
    async def go(self, text: str, ctx: WorkflowContext[str, str]) -> None:
        await ctx.yield_output(f"{text} of {ctx.get_state('began')}")


def chain():
    first, asking, third, last = Step("first"), Asking(), Step("third"), Last("last")
    return WorkflowBuilder(name="Chain", start_executor=first).add_chain([first, asking, third, last]).build()


def talk():
    turns, asking, last = Turns("turns"), Asking(), Step("third")
    return WorkflowBuilder(name="Talk", start_executor=turns).add_chain([turns, asking, last]).build()


app = AgentFunctionApp(agents=[talk().as_agent()], workflow=chain)
'''
"""A chain of four executors, an agent with a tool among them; and an agent that is a workflow with a state."""


async def run(api: Api, place: str, message: str, thread_id: str = "t") -> Any:
    """Run a workflow on a thread, once however often it is sent."""
    body = {"message": message, "thread_id": thread_id}
    return (await api.http.post(f"/api/{place}/run", json=body, headers={"idempotency-key": message})).json()


async def travel(app: KilledApp, api: Api) -> Any:
    return await run(api, "workflows/Trip", "tea")


ONCE = {"function": 1, "book": 2, "look": 1, "model": 2, "tool": 1}
# Appends of a run: 1 accepted and claimed, 2 the booking begins, 3 its result, 4 the other booking begins, 5 what was
# seen, 6 the other result, 7 the model's answer with the begin of its tool, 8 the tool's result, 9 the model's next
# answer, 10 what the guide said, 11 the end.
DONE_AGAIN: dict[str, dict[str, int]] = {
    "after 8": {},
    "after 3": {},
    "before 2": {},
    "before 4": {"look": 1},
    "after 6": {},
    "before 7": {"model": 1},
    "before 10": {},
    "after 10": {},
    "before 11": {},
}
"""Where it dies between two records, and what is done once more for it, besides the function's own code."""
SAYS = "tea, saw tea, another, all done"


async def the_function_went_on(app: KilledApp, api: Api) -> None:
    """The same answer, with its state; no step is done again, and no recorded call of an agent."""
    assert (await travel(app, api))["response"] == SAYS
    assert Counter(app.tools) == Counter(ONCE) + Counter({"function": 1, **DONE_AGAIN[app.known["point"]]})


CUT_OFF = ["before 3", "after 2", "after 4"]
"""Where it dies within a step that may not run twice: after that has acted, and before the step's own code."""
BOOKED = {"before 3": 1, "after 2": 0, "after 4": 1}


async def the_step_ended_its_run(app: KilledApp, api: Api) -> None:
    """It is not run again, whether it had acted or not, and nothing after it is."""
    answer = await travel(app, api)
    assert answer["code"] == "run_interrupted"
    assert ("while step 'book' was running" in answer["detail"], "@idempotent" in answer["detail"]) == (True, True)
    assert app.tools.count("book") == BOOKED[app.known["point"]]


async def run_the_chain(app: KilledApp, api: Api) -> Any:
    return await run(api, "workflows/Chain", "tea")


# Appends: 1 accepted and claimed, 2 the superstep of the first, 3 the model's answer with the begin of its tool, 4 the
# tool's result, 5 the model's next answer, 6 the superstep of the agent, 7 that of the third, 8 that of the last, 9 the
# end.
CHAIN_ONCE = {"first": 1, "model": 2, "tool": 1, "third": 1}
CHAINED_AGAIN: dict[str, dict[str, int]] = {
    "after 4": {},
    "after 2": {},
    "before 3": {"model": 1},
    "before 6": {},
    "after 6": {},
    "before 7": {"third": 1},
    "after 8": {},
}
"""Where it dies, and what is done once more for it: what came behind the last append, never a tool of an agent."""


async def the_chain_went_on(app: KilledApp, api: Api) -> None:
    """The same answer, with the shared state; nothing is done again but what was under way."""
    said = (await run_the_chain(app, api))["response"]
    assert said == "first of tea\n\nthird of tea\n\ntea, first, all done, third of tea"
    assert Counter(app.tools) == Counter(CHAIN_ONCE) + Counter(CHAINED_AGAIN[app.known["point"]])


async def talk_first(app: KilledApp, api: Api) -> None:
    app.known["said"] = [(await run(api, "agents/Talk", "a"))["response"]]


async def talk(app: KilledApp, api: Api) -> Any:
    return (await run(api, "agents/Talk", "b"))["response"]


async def the_state_of_the_thread_went_on(app: KilledApp, api: Api) -> None:
    """A turn before, the killed one, and one behind it: what was kept is neither lost nor counted twice."""
    said = [*app.known["said"], await talk(app, api), (await run(api, "agents/Talk", "c"))["response"]]
    assert [each.partition("\n")[0] for each in said] == [
        "turn 1 1, 1 messages",
        "turn 2 2, 4 messages",
        "turn 3 3, 7 messages",
    ]
    assert Counter(app.tools)["tool"] == 3


@each_dies(
    Scenario("function", TRIP, list(DONE_AGAIN), travel, the_function_went_on).rows(
        pytest.mark.behaviour("workflows.steps")
    ),
    Scenario("cut off", TRIP, CUT_OFF, travel, the_step_ended_its_run).rows(
        pytest.mark.behaviour("workflows.cut-off-steps")
    ),
    Scenario("supersteps", CHAIN, list(CHAINED_AGAIN), run_the_chain, the_chain_went_on).rows(
        pytest.mark.behaviour("workflows.survives-kill")
    ),
    Scenario(
        "agent",
        CHAIN,
        ["after tool_result 1", *(f"{side} checkpointed {nth}" for nth in (1, 2, 3) for side in ("before", "after"))],
        talk,
        the_state_of_the_thread_went_on,
        talk_first,
    ).rows(pytest.mark.behaviour("workflows.as-agent")),
)
async def test_a_workflow_whose_process_dies_goes_on_behind_its_last_step(row: Row) -> None:
    """In another process, which does nothing again that was recorded."""
    await row.dies_and_ends()


BUILDERS = ("Sequential", "Concurrent", "Handoff", "GroupChat", "Magentic")


@pytest.mark.behaviour("workflows.builders")
async def test_killed_ready_made_workflows_continue_behind_their_last_superstep(tmp_path: Path) -> None:
    """All five in one process, each at its second model call; the first one of those in a row is not made again."""
    app = shutil.copytree(Path(__file__).parent / "builder_app", tmp_path / "app")
    shutil.copy(ROOT / "samples" / "workflow_builders" / "function_app.py", app / "sample.py")
    notes = tmp_path / "notes.txt"

    async def begin(http: httpx.AsyncClient, name: str, thread_id: str) -> str:
        told = "Call handoff_to_guide with {}" if name == "Handoff" else f"Write about {name}."
        body = {"message": told, "thread_id": thread_id, "wait_for_response": False}
        answer = await http.post(f"/api/workflows/{name}/run", json=body, headers={"idempotency-key": thread_id})
        return f"/api/workflows/{name}/threads/{thread_id}/runs/{answer.headers['x-ms-run-id']}"

    async def end(http: httpx.AsyncClient, name: str, thread_id: str) -> str:
        place = await begin(http, name, thread_id)
        async with asyncio.timeout(12 * GUARD_SECONDS), http.stream("GET", f"{place}/events") as events:
            await events.aread()
        return str((await http.get(place)).json()["response"])

    with RunningHost(app, environ={"NOTES": str(notes)}) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=12 * GUARD_SECONDS) as http:
            with suppress(httpx.RemoteProtocolError):
                await asyncio.gather(*(begin(http, name, "killed") for name in BUILDERS))
            await asyncio.to_thread(host.process.wait)
    with RunningHost(app, environ={"NOTES": str(notes)}) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=12 * GUARD_SECONDS) as http:
            killed = {name: await end(http, name, "killed") for name in BUILDERS}
            made = Counter(notes.read_text().splitlines())
            whole = {name: await end(http, name, "whole") for name in BUILDERS}

    assert killed == whole
    assert all(text for text in whole.values())
    assert made.pop("Concurrent") in (2, 3)  # its two calls are of one superstep
    assert made == dict.fromkeys(made, 2) | {"died": 1}
