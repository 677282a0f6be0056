"""Tasks of background agents: each a run on a thread of its own, by the framework's own tools."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from agent_framework import Agent, AgentSession, Content, Message, Workflow, WorkflowBuilder, workflow

from hosting.app import Budget
from tests.support.carriers import GUARD_SECONDS
from tests.support.delegating import asking, delegating, found_out, go_on, look, planner, result, start, wait
from tests.support.owned_app import RUN, THREADS, OwnedApp

pytestmark = pytest.mark.filterwarnings("ignore:.*experimental")

TASKS = "/api/agents/Clerk_Researcher/threads"
THREAD = f"{THREADS}/t"


@pytest.fixture
async def app() -> AsyncIterator[OwnedApp]:
    app = OwnedApp(agent=planner())
    async with app.http:
        yield app


async def plain(*messages: str) -> list[str]:
    agent, session = planner(), AgentSession()
    return [(await agent.run(message, session=session)).text for message in messages]


STORIES = {
    "two at once": [f"{start('tea')} & {start('milk')}\n{wait(2)}\n{wait(1)}\n{result(1)} & {result(2)}\nlist"],
    "none of that name": [f"{start('tea', 'Nobody')}\nlist\n{wait(1)}\n{result(1)}\n{wait()}"],
    "a failure": [f"{start('fail')}\n{wait(1)}\nlist"],
    "later turns": [
        f"{start('tea')}\n{wait(1)}",
        f"list\n{go_on(1, 'milk')}\n{wait(1)}\n{result(1)}",
        'clear {"task_id": 1}\nlist',
        f"{start('sugar')}\n{wait(2)}\n{result(2)}",
    ],
    "waited for again": [f"{start('tea')}\n{wait(1)}\n{wait(1)}\n{go_on(7, 'x')}"],
}


@pytest.mark.behaviour("background.is-plain")
@pytest.mark.parametrize("story", STORIES)
async def test_the_tools_answer_as_they_do_plain(app: OwnedApp, story: str) -> None:
    hosted = [(await app.say("ann", message))["response"] for message in STORIES[story]]

    assert hosted == await plain(*STORIES[story])


def given_graph() -> Any:
    return graph(planner())


def built_graph() -> Any:
    """What builds a graph with a planner of its own for each attempt."""
    return lambda: graph(planner())


def function() -> Any:
    agent = planner()

    @workflow(name="Flow")
    async def flow(text: str) -> str:
        return (await agent.run(text)).text

    return flow


def graph(agent: Agent[Any]) -> Workflow:
    return WorkflowBuilder(name="Flow", start_executor=agent).build()


@pytest.mark.behaviour("background.of-workflows")
@pytest.mark.parametrize("flow", [given_graph, built_graph, function])
async def test_a_workflow_s_agent_has_tasks_that_are_threads(flow: Any) -> None:
    """They are the workflow's: its thread's export has them, its budget is for them, and they go with it."""
    app = OwnedApp(workflows=[flow()], budget=Budget(tokens=1000))
    thread = "/api/workflows/Flow/threads/t"
    body = {"message": f"{start('tea')}\n{wait(1)}\n{result(1)}", "thread_id": "t"}
    async with app.http:
        said = (await app.ask("ann", "POST", "/api/workflows/Flow/run", json=body)).json()
        [task] = (await app.ask("ann", "GET", f"{thread}/export")).json()["background_tasks"]
        place = f"/api/agents/{task['agent']}/threads/{task['thread_id']}"
        read = await app.ask("ann", "GET", place)
        await app.ask("ann", "DELETE", thread)
        await app.stored()
        gone = await app.ask("ann", "GET", place)

    assert said["response"] == (await planner().run(body["message"], session=AgentSession())).text
    assert (task["agent"], said["budget"]["used_tokens"]) == ("Flow_Researcher", 50)
    assert (read.status_code, gone.status_code) == (200, 404)


@pytest.mark.behaviour("background.hidden")
async def test_a_background_agent_is_not_listed_and_nobody_begins_a_run_of_it(app: OwnedApp) -> None:
    await app.say("ann", f"{start('tea')}\n{wait(1)}")
    [task] = await tasks_of(app)
    place = f"{TASKS}/{task['thread_id']}"
    listed = (await app.ask("ann", "GET", "/api/agents")).json()["agents"]
    begun = await app.ask("ann", "POST", "/api/agents/Clerk_Researcher/run", json={"message": "hello"})
    planned = await app.ask(
        "ann", "POST", "/api/agents/Clerk_Researcher/schedules", json={"message": "hello", "cron": "0 0 * * *"}
    )

    assert [agent["name"] for agent in listed] == ["Clerk"]
    assert (begun.status_code, planned.status_code, planned.json()["code"]) == (404, 404, "unknown_agent")
    assert "Clerk_Researcher" not in (await app.ask("ann", "GET", "/api/openapi.json")).text
    assert (await app.ask("bob", "GET", place)).status_code == 404
    entries = (await app.ask("ann", "GET", f"{place}/messages")).json()["entries"]
    assert len(entries) == 2


@pytest.mark.behaviour("background.linked")
async def test_the_timelines_of_a_run_and_of_its_task_name_each_other(app: OwnedApp) -> None:
    run_id = (await app.say("ann", f"{start('tea')}\n{wait(1)}"))["run_id"]
    steps = (await app.ask("ann", "GET", f"{THREAD}/runs/{run_id}/timeline")).json()["steps"]
    [task] = [step["task"] for step in steps if "task" in step]
    place = f"/api/agents/{task['agent']}/threads/{task['thread_id']}/runs"
    [run] = (await app.ask("ann", "GET", place)).json()["runs"]
    timeline = (await app.ask("ann", "GET", f"{place}/{run['run_id']}/timeline")).json()

    assert timeline["begun_by"] == {"agent": "Clerk", "thread_id": "t", "run_id": run_id}


@pytest.mark.behaviour("background.erased")
async def test_the_export_of_a_thread_has_its_tasks_and_its_deletion_erases_them(app: OwnedApp) -> None:
    """Also those that were cleared; the receipt counts the links."""
    clear = 'clear {"task_id": 1}'
    await app.say("ann", f"{start('tea')}\n{wait(1)}\n{go_on(1, 'milk')}\n{wait(1)}\n{clear}")
    run_id = (await app.say("ann", "list"))["run_id"]
    [task] = await tasks_of(app)
    place = f"{TASKS}/{task['thread_id']}"
    texts = [
        content["text"]
        for entry in task["thread"]["conversation"]["data"]["conversationHistory"]
        for message in entry["messages"]
        for content in message["contents"]
    ]
    deleted = await app.ask("ann", "DELETE", THREAD)
    await app.stored()
    gone = await app.ask("ann", "GET", place)
    receipt = (await app.ask("ann", "GET", f"{THREAD}/erasure")).json()

    assert texts == ["tea", "Found tea (1).", "milk", "Found milk (3)."]
    assert (task["agent"], len(task["begun_by"])) == ("Clerk_Researcher", 2)
    assert run_id not in task["begun_by"]
    assert (deleted.status_code, gone.status_code) == (204, 404)
    assert receipt["background_tasks"] == 2


@dataclass
class Held:
    """A background agent that answers once it is released."""

    begun: threading.Event = field(default_factory=threading.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    loop: list[asyncio.AbstractEventLoop] = field(default_factory=list)

    async def find(self, messages: Sequence[Message]) -> Message:
        self.loop.append(asyncio.get_running_loop())
        self.begun.set()
        await self.released.wait()
        return await found_out(messages)

    async def until_begun(self) -> None:
        await asyncio.wait_for(asyncio.to_thread(self.begun.wait), GUARD_SECONDS)

    def release(self) -> None:
        self.loop[0].call_soon_threadsafe(self.released.set)


@pytest.mark.behaviour("background.ends")
async def test_a_cancelled_run_cancels_its_tasks() -> None:
    """Those of an earlier turn go on: the thread has them still."""
    held = Held()
    app = OwnedApp(agent=planner(held.find))
    async with app.http:
        await app.say("ann", start("milk"))
        await held.until_begun()
        headers = {"prefer": "respond-async"}
        body = {"message": f"{start('tea')}\n{wait(2)}", "thread_id": "t"}
        run_id = (await app.ask("ann", "POST", RUN, json=body, headers=headers)).json()["run_id"]
        while len(tasks := await tasks_of(app)) < 2:  # noqa: ASYNC110 - the run goes on by itself
            await asyncio.sleep(0.01)
        await app.ask("ann", "POST", f"{THREAD}/runs/{run_id}/cancel")
        [cancelled] = [task for task in tasks if task["begun_by"] == [run_id]]
        ended = await asyncio.wait_for(run_once_ended(app, cancelled), GUARD_SECONDS)
        held.release()
        later = await app.say("ann", f"{wait(1)}\n{result(1)}")

    assert ended["status"] == "cancelled"
    assert later["response"].splitlines()[-1] == "Found milk (1)."


@pytest.mark.behaviour("background.is-plain")
async def test_a_task_without_an_input_is_refused_to_the_model(app: OwnedApp) -> None:
    """A thread has no blank message; the next task has the number that it would have had."""
    said = await app.say("ann", f"{start(' ')}\nlist\n{start('tea')}")

    assert said["response"].splitlines() == [
        "Error: The input of the task is blank. Say what is to be done.",
        "No tasks.",
        "Background task 1 started on agent 'Researcher'.",
    ]


@pytest.mark.behaviour("background.forks")
async def test_a_fork_reads_the_tasks_of_its_origin_and_continues_none(app: OwnedApp) -> None:
    """Two threads would go on with one task otherwise."""
    await app.say("ann", f"{start('tea')}\n{wait(1)}")
    fork = (await app.ask("ann", "POST", f"{THREAD}/fork", json={})).json()["thread_id"]
    said = await app.say("ann", f"{result(1)}\n{go_on(1, 'milk')}\n{start('milk')}\n{wait(2)}\n{result(2)}", fork)

    assert said["response"].splitlines() == [
        "### Current background tasks",
        "- Task 1 [completed] (Researcher): About tea",
        "Found tea (1).",
        "Error: Session for task 1 is no longer available.",
        "Background task 2 started on agent 'Researcher'.",
        "Task 2 finished with status: completed.",
        "Found milk (1).",
    ]


@pytest.mark.behaviour("background.budgets")
async def test_a_task_begins_no_model_call_once_its_parent_has_used_up_the_budget() -> None:
    """The parent waits meanwhile, and ends by the budget too; both show the same."""
    held = Held()

    async def look_first(messages: Sequence[Message]) -> Message:
        if messages[-1].role == "tool":
            return await found_out(messages)
        await held.find(messages)
        return Message("assistant", [Content.from_function_call("call", "look", arguments="{}")])

    app = OwnedApp(
        agent=delegating(Agent(asking(look_first), name="Researcher", tools=[look]), name="Clerk"),
        budget=Budget(tokens=30),
    )
    body = {"message": f"{start('tea')}\n{wait(1)}", "thread_id": "t"}
    async with app.http:
        begun = await app.ask("ann", "POST", RUN, json=body, headers={"prefer": "respond-async"})
        place = f"{THREAD}/runs/{begun.json()['run_id']}"
        await held.until_begun()
        while (await app.ask("ann", "GET", place)).json()["budget"]["used_tokens"] < 20:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        held.release()
        [task] = await tasks_of(app)
        run_id = (await asyncio.wait_for(run_once_ended(app, task), GUARD_SECONDS))["run_id"]
        ended = (await app.ask("ann", "GET", f"{TASKS}/{task['thread_id']}/runs/{run_id}")).json()
        await asyncio.wait_for(run_once_ended(app, {"thread_id": "t"}, THREADS), GUARD_SECONDS)
        parent = (await app.ask("ann", "GET", place)).json()

    assert [run["error"]["code"] for run in (ended, parent)] == ["budget_exceeded"] * 2
    assert ended["budget"] == parent["budget"] == {"per": "run", "tokens": 30, "used_tokens": 30, "left_tokens": 0}


@pytest.mark.behaviour("background.budgets")
@pytest.mark.parametrize("per", ["run", "thread"])
async def test_a_budget_is_for_the_tasks_of_tasks_too(per: Any) -> None:
    helper = Agent(asking(found_out), name="Helper", description="Helps.")
    clerk = delegating(delegating(helper, name="Researcher"), name="Clerk")
    app = OwnedApp(agent=clerk, budget=Budget(tokens=1000, per=per))
    inner = f"{start('tea', 'Helper')}\n{wait(1)}"
    async with app.http:
        said = await app.say("ann", f"{start(inner)}\n{wait(1)}")
        [task] = await tasks_of(app)
        thread = (await app.ask("ann", "GET", f"{TASKS}/{task['thread_id']}")).json()

    assert said["budget"]["used_tokens"] == 70
    assert per == "run" or thread["budget"]["used_tokens"] == 70


async def tasks_of(app: OwnedApp, user: str = "ann") -> list[dict[str, Any]]:
    """Return the tasks of the thread, as its export has them."""
    exported = await app.ask(user, "GET", f"{THREAD}/export")
    assert exported.status_code == 200, exported.text
    return list(exported.json()["background_tasks"])


async def run_once_ended(app: OwnedApp, task: dict[str, Any], threads: str = TASKS) -> dict[str, Any]:
    """Return the newest run of a task once it has ended."""
    place = f"{threads}/{task['thread_id']}/runs"
    while (run := (await app.ask("ann", "GET", place)).json()["runs"][0])["ended_at"] is None:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return dict(run)


@pytest.mark.behaviour("background.is-plain")
async def test_a_task_may_be_a_workflow_s() -> None:
    """One that is an agent, in two turns of the task."""
    app = OwnedApp(agent=planner(is_workflow=True))
    message = f"{start('tea')}\n{wait(1)}\n{go_on(1, 'milk')}\n{wait(1)}\n{result(1)}"
    async with app.http:
        hosted = (await app.say("ann", message))["response"]

    assert hosted == (await planner(is_workflow=True).run(message, session=AgentSession())).text
