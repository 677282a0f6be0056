"""A workflow's process is killed by SIGKILL while others over the same store are alive, and go on with its run."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import httpx
import pytest

from tests.faults.killing_app import SOURCE, ClerksApp
from tests.support.carriers import GUARD_SECONDS
from tests.support.grouped_app import grouped_app
from tests.support.kept_in import KINDS, kept_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

# Appends: 1 accepted and claimed, 2 the superstep of the first, 3 the model's answer with the begin of its tool, 4 the
# tool's result, 5 the model's next answer, 6 the superstep of the agent, 7 that of the third, 8 that of the last, 9 the
# end.
POINTS: dict[str, dict[str, int]] = {
    "after 2": {},
    "before 3": {"model": 1},
    "after 4": {},
    "before 6": {},
    "after 6": {},
    "before 7": {"third": 1},
    "after 8": {},
}
"""Where it dies, and what is done once more for it: what came behind the last append, never a tool of an agent."""

CLERKS = "app = hosting.app.AgentFunctionApp(agents=[clerk(note)])"
CHAIN = '''
from agent_framework import Agent, Executor, WorkflowBuilder, WorkflowContext, handler, tool

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


class Last(Executor):
    @handler
    async def go(self, text: str, ctx: WorkflowContext[str, str]) -> None:
        await ctx.yield_output(f"{text} of {ctx.get_state('began')}")


def chain():
    first, asking, third, last = Step("first"), Asking(), Step("third"), Last("last")
    return WorkflowBuilder(name="Chain", start_executor=first).add_chain([first, asking, third, last]).build()


app = hosting.app.AgentFunctionApp(workflow=chain)
'''
ONCE = {"first": 1, "model": 2, "tool": 1, "third": 1}


@pytest.mark.behaviour("workflows.survives-kill")
@pytest.mark.parametrize(
    ("points", "stores"),
    kept_in(*KINDS, first=["after 4", "after 6"], rest=[[one for one in POINTS if one not in ("after 4", "after 6")]]),
    indirect=["stores"],
)
def test_processes_that_are_alive_go_on_where_another_one_was_killed(
    tmp_path: Path, points: list[str], stores: dict[str, str]
) -> None:
    """The same answer, with the shared state; nothing is done again but what was under way, and no tool at all."""
    app, said, again = ClerksApp(tmp_path, stores, SOURCE.replace(CLERKS, CHAIN)), {}, {}
    settings = {**stores, "NOTES": str(tmp_path / "notes.txt")}
    dying = [{"KILL": point} for point in points]
    with grouped_app(app.path, http=len(points) + 1, log=settings, of_http=dying) as group:
        for point, host in zip(points, group.http, strict=False):
            before = Counter(app.notes())
            with pytest.raises(httpx.TransportError):
                run(host.origin, point)
            ended = run(group.http[-1].origin, point).json()
            done = Counter(app.notes()) - before
            said[point] = ended.get("response", ended)
            again[point] = {name: number - ONCE[name] for name, number in done.items() if number != ONCE[name]}

    text = "tea, first, all done, third"
    assert said == dict.fromkeys(points, f"first of tea\n\nthird of tea\n\n{text} of tea")
    assert again == {point: POINTS[point] for point in points}


def run(origin: str, point: str) -> httpx.Response:
    """Run the workflow on a thread of that name, once however often it is sent."""
    name = point.replace(" ", "-")
    body = {"message": "tea", "thread_id": name}
    headers = {"idempotency-key": name}
    return httpx.post(f"{origin}/api/workflows/Chain/run", json=body, headers=headers, timeout=6 * GUARD_SECONDS)
