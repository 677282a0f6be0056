"""A workflow that asks a person, under SIGKILL: killed around each append, before the question to behind the answer."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.app_process import until_dead
from tests.faults.killing_app import SOURCE, ClerksApp
from tests.support.carriers import GUARD_SECONDS
from tests.support.kept_in import KINDS, kept_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

# Appends: 1 accepted, 2 the superstep that asks, 3 the end with the question, 4 the answer with the run that goes on,
# 5 that it was given to the graph, 6 to 8 its agent and the tool, 9 the superstep, 10 the end.
POINTS = ["after 2", "before 2", "after 3", "before 4", "after 4", "after 5", "after 7", "after 9"]
CLERKS = "app = hosting.app.AgentFunctionApp(agents=[clerk(note)])"
ASKING = '''
from agent_framework import Agent, Executor, WorkflowBuilder, WorkflowContext, handler, response_handler, tool
from typing_extensions import Never

from tests.support.planned import planned_client


@tool(approval_mode="never_require")
def city(n: str) -> str:
    """Name a city."""
    note("tool")
    return "Paris"


class Front(Executor):
    def __init__(self):
        super().__init__("front")
        self.agent = Agent(planned_client(note, (("city",), "all done")), name="Asked", tools=[city])

    @handler
    async def ask(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.yield_output("asked")
        await ctx.request_info(text, bool)

    @response_handler
    async def judge(self, text: str, well: bool, ctx: WorkflowContext[Never, str]) -> None:
        answer = await self.agent.run("which city?")
        await ctx.yield_output(f"{text} {well}, {answer.text}")


def asking():
    return WorkflowBuilder(name="Front", start_executor=Front()).build()


app = hosting.app.AgentFunctionApp(workflow=asking)
'''
KEY = {"idempotency-key": "once"}
ASK = {"message": "tea", "thread_id": "t"}
THREAD = "/api/workflows/Front/threads/t"


async def answer_what_waits(http: httpx.AsyncClient) -> list[str]:
    """Answer what the thread waits for; return its ids."""
    waiting = [one["id"] for one in (await http.get(f"{THREAD}/approvals")).json().get("approvals", [])]
    for name in waiting:
        await http.post(f"{THREAD}/approvals/{name}", json={"value": True})
    return waiting


async def run_and_answer(http: httpx.AsyncClient) -> None:
    """Run the workflow until it asks, and answer."""
    await http.post("/api/workflows/Front/run", json=ASK, headers=KEY)
    await answer_what_waits(http)


async def last_run(http: httpx.AsyncClient, asked: set[str]) -> dict[str, object]:
    """Answer what still waits, add its ids to those that were asked, and return how the run that went on ended."""
    await http.post("/api/workflows/Front/run", json=ASK, headers=KEY)
    while True:
        asked.update(await answer_what_waits(http))
        runs = (await http.get(f"{THREAD}/runs")).json().get("runs", [])
        ends = [(await http.get(f"{THREAD}/runs/{run['run_id']}")).json() for run in runs]
        asked.update(approval["id"] for end in ends for approval in end.get("pending_approvals", []))
        for end in ends:
            if end["status"] not in ("accepted", "running") and "pending_approvals" not in end:
                return dict(end)
        await asyncio.sleep(0.02)


@pytest.mark.behaviour("workflows.asks-survives-kill")
@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first=POINTS[0], rest=POINTS[1:]), indirect=["stores"])
async def test_a_host_killed_around_a_question_asks_once_and_loses_no_answer(
    tmp_path: Path, point: str, stores: dict[str, str]
) -> None:
    """Another process goes on; the agent that the answer leads to does nothing twice."""
    app, asked = ClerksApp(tmp_path, stores, SOURCE.replace(CLERKS, ASKING)), set[str]()
    with app.host(KILL=point) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            with contextlib.suppress(httpx.TransportError):
                await run_and_answer(http)
        assert await until_dead(host) != 0

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            ended = await asyncio.wait_for(last_run(http, asked), 4 * GUARD_SECONDS)

    assert (ended["status"], ended.get("response")) == ("success", "tea True, all done"), ended
    assert (len(asked), Counter(app.notes())) == (1, {"model": 2, "tool": 1})


async def inbox_of(http: httpx.AsyncClient) -> list[dict[str, Any]]:
    """Return what waits for a person as soon as there is something: the inbox follows what entities commit."""
    while not (found := (await http.get("/api/approvals")).json()["approvals"]):  # noqa: ASYNC110 - another process does it
        await asyncio.sleep(0.05)
    return list(found)


@pytest.mark.behaviour("workflows.asks")
@pytest.mark.parametrize("stores", kept_in(*KINDS), indirect=True)
async def test_another_process_takes_the_answer(tmp_path: Path, stores: dict[str, str]) -> None:
    """It has the question in its inbox; the process that asked has the end."""
    app = ClerksApp(tmp_path, stores, SOURCE.replace(CLERKS, ASKING))
    with app.host() as first:
        async with httpx.AsyncClient(base_url=first.origin, timeout=GUARD_SECONDS) as http:
            (waiting,) = (await http.post("/api/workflows/Front/run", json=ASK)).json()["pending_approvals"]
    with app.host() as second:
        async with httpx.AsyncClient(base_url=second.origin, timeout=GUARD_SECONDS) as http:
            (inbox,) = await asyncio.wait_for(inbox_of(http), 4 * GUARD_SECONDS)
            end = (await http.post(f"{THREAD}/approvals/{inbox['id']}", json={"value": False})).json()

    told = {"agent": "Front", "agent_kind": "workflow", "message": "tea", "response": "asked"}
    assert inbox == {**waiting, **told, "thread_id": "t", "session_id": "t"}
    assert (end["status"], end["response"]) == ("success", "tea False, all done")
