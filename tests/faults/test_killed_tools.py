"""What tools and models leave behind a run whose process dies: facts, files, background tasks, what was spent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.faults.killed_app import KILLED, KilledApp, Row, Scenario, each_dies
from tests.support.carriers import Api
from tests.support.delegating import go_on, result, start, wait

pytestmark = KILLED

CLERKS = "/api/agents/Clerk"
TASKS = "/api/agents/Clerk_Researcher/threads"


async def ask(api: Api, message: str, place: str = CLERKS, thread_id: str = "t") -> Any:
    body = {"message": message, "thread_id": thread_id}
    return (await api.http.post(f"{place}/run", json=body)).json()


async def ended(app: KilledApp, api: Api, place: str = CLERKS) -> Any:
    """Return how the thread's newest run ended, in its second attempt."""
    run = (await app.ended(api, f"{place}/threads/t"))[0]
    assert run["attempts"] == 2
    return {**run, **(await api.http.get(f"{place}/threads/t/runs/{run['run_id']}")).json()}


REMEMBERING = """
from hosting.features.memory.facts import Memories
from tests.support.rememberer import rememberer

dies_around(Memories, "remember", "remember")
dies_around(Memories, "forget", "forget")
app = AgentFunctionApp(agents=[rememberer(shared=True)])
"""
TEA = "Drinks tea without milk."


async def facts(api: Api) -> list[Any]:
    return list((await api.http.get(f"{CLERKS}/memory")).json()["facts"])


async def remember(app: KilledApp, api: Api) -> None:
    await ask(api, f"remember {TEA}")


async def it_is_remembered_once(app: KilledApp, api: Api) -> None:
    """The call that was cut short is made again and finds what it did, which the next run is given too."""
    run = await ended(app, api)
    [fact] = await facts(api)

    assert run["response"] == f"told: Remembered as {fact['fact_id']}."
    assert f"- {TEA} (id {fact['fact_id']})" in (await ask(api, "hello", thread_id="u"))["response"]


async def forget(app: KilledApp, api: Api) -> None:
    app.known["fact"] = (await facts(api))[0]["fact_id"]
    await ask(api, f"forget {app.known['fact']}")


async def it_is_forgotten(app: KilledApp, api: Api) -> None:
    told = f"told: No fact has the id '{app.known['fact']}'."
    assert ((await ended(app, api))["response"], await facts(api)) == (told, [])


FILES = """
from agent_framework import create_harness_agent
from hosting.features.files.store import SessionFiles
from hosting.offline.model import OfflineChatClient

dies_around(SessionFiles, "write", "write")
app = AgentFunctionApp(agents=[create_harness_agent(OfflineChatClient(), name="Planner")])
"""
PLANNER = "/api/agents/Planner"


def call(tool: str, **arguments: Any) -> str:
    """Return the message that has the offline model call a tool."""
    return f"Call {tool} with {json.dumps(arguments)}"


async def plan(app: KilledApp, api: Api) -> None:
    await ask(api, call("todos_add", todos=[{"title": "Book the train"}]), PLANNER)
    await ask(api, call("file_memory_write", file_name="plan.md", content="To Paris"), PLANNER)


async def change_the_plan(app: KilledApp, api: Api) -> None:
    changed = {"file_name": "plan.md", "old_string": "Paris", "new_string": "Paris, Paris"}
    await ask(api, call("file_memory_replace", **changed), PLANNER)


async def the_plan_is_changed_once(app: KilledApp, api: Api) -> None:
    """What was recorded is not made again."""
    await ended(app, api, PLANNER)
    todos = (await ask(api, call("todos_get_all"), PLANNER))["response"]
    text = (await ask(api, call("file_memory_read", file_name="plan.md"), PLANNER))["response"]

    assert todos.count("Book the train") == 1
    assert text.endswith("To Paris, Paris")
    assert not list(app.path.rglob("agent-file-memory"))


async def write_a_file(app: KilledApp, api: Api) -> None:
    await ask(api, call("file_memory_write", file_name="hotel.md", content="Near the station"), PLANNER)


async def the_file_is_written(app: KilledApp, api: Api) -> None:
    """A write that was cut off is made again."""
    await ended(app, api, PLANNER)
    text = (await ask(api, call("file_memory_read", file_name="hotel.md"), PLANNER))["response"]
    assert text == "The tool says: Near the station"


DELEGATING = """
from agent_framework import WorkflowBuilder
from hosting.app import Budget
from hosting.features.background.tasks import BackgroundTasks
from tests.faults.deaths import dying
from tests.support.delegating import found_out, planner


async def find(messages):
    async def found():
        note("found")
        return await found_out(messages)

    return await dying({"found"}, found)


dies_around(BackgroundTasks, "_begin", "begin")
flow = WorkflowBuilder(name="Flow", start_executor=planner(find)).build()
app = AgentFunctionApp(agents=[planner(find)], workflows=[flow], budget=Budget(tokens=10_000))
"""
FLOW = "/api/workflows/Flow"


async def delegate(app: KilledApp, api: Api) -> None:
    await ask(api, f"{start('tea')}\n{wait(1)}\n{result(1)}\n{go_on(1, 'milk')}\n{wait(1)}\n{result(1)}")


async def there_is_one_task(app: KilledApp, api: Api) -> None:
    """The budget of the run has the planner's seven model calls and the two of the task, each once."""
    run = await ended(app, api)
    exported = (await api.http.get(f"{CLERKS}/threads/t/export")).json()["background_tasks"]

    assert run["response"].splitlines() == [
        "Background task 1 started on agent 'Researcher'.",
        "Task 1 finished with status: completed.",
        "Found tea (1).",
        "Task 1 continued with new input.",
        "Task 1 finished with status: completed.",
        "Found milk (3).",
    ]
    assert app.said == ["found"] * (3 if app.known["point"] == "after found 1" else 2)
    assert ((await api.http.get(TASKS)).status_code, len(exported)) == (404, 1)
    assert run["budget"]["used_tokens"] == 90


async def delegate_in_a_workflow(app: KilledApp, api: Api) -> None:
    await ask(api, f"{start('tea')}\n{wait(1)}\n{result(1)}", FLOW)


async def the_workflow_has_one_task(app: KilledApp, api: Api) -> None:
    """Its superstep is made again, and the task is not."""
    run = await ended(app, api, FLOW)
    exported = (await api.http.get(f"{FLOW}/threads/t/export")).json()["background_tasks"]

    assert run["response"].splitlines()[-1] == "Found tea (1)."
    assert (len(exported), run["budget"]["used_tokens"]) == (1, 50)


async def delegate_and_answer(app: KilledApp, api: Api) -> None:
    app.known["first"] = await ask(api, start("tea"))


async def the_next_turn_reads_the_task(app: KilledApp, api: Api) -> None:
    """Plain it is lost with its process."""
    second = await ask(api, f"{wait(1)}\n{result(1)}")
    assert second["response"].splitlines()[-1] == "Found tea (1)."


SPENDING = """
from hosting.app import Budget, Price
from tests.support.spender import priced, spender

prices = {"small": Price(input=100_000, output=100_000)}
app = AgentFunctionApp()
for name, per in (("Run", "run"), ("Day", "owner/day")):
    used = {"input_token_count": 6, "output_token_count": 4, "total_token_count": 10}
    budget = Budget(tokens=60, per=per, cost=6, prices=prices)
    app.add_agent(spender(name, client=priced("small", used=used)), budget=budget)
"""


def spent(name: str, per: str) -> tuple[Any, Any]:
    """Return the steps of a run that would make a hundred calls of 10 tokens, for 1 each."""

    async def begin(app: KilledApp, api: Api) -> None:
        await ask(api, "100", f"/api/agents/{name}")

    async def end(app: KilledApp, api: Api) -> None:
        """Six calls are made, however many processes make them, but for the one that was lost."""
        run = await ended(app, api, f"/api/agents/{name}")
        budget = run["error"]["budget"]

        assert (run["code"], run["usage"]["total_token_count"], run["cost"]) == ("budget_exceeded", 60, "6")
        assert ("renews_at" in budget) == (per == "owner/day")
        left = {"tokens": 60, "used_tokens": 60, "left_tokens": 0, "cost": "6", "used_cost": "6", "left_cost": "0"}
        assert {**budget, "renews_at": None} == {"per": per, "renews_at": None, **left}

    return begin, end


@each_dies(
    Scenario("remember", REMEMBERING, ["after remember 1"], remember, it_is_remembered_once).rows(
        pytest.mark.behaviour("memory.once")
    ),
    Scenario("forget", REMEMBERING, ["after forget 1"], forget, it_is_forgotten, remember).rows(
        pytest.mark.behaviour("memory.once")
    ),
    Scenario("changed file", FILES, ["after tool_result 1"], change_the_plan, the_plan_is_changed_once, plan).rows(
        pytest.mark.behaviour("files.through-a-kill")
    ),
    Scenario("new file", FILES, ["after write 1"], write_a_file, the_file_is_written).rows(
        pytest.mark.behaviour("files.through-a-kill")
    ),
    Scenario(
        "task", DELEGATING, ["after begin 1", "before begin 1", "after found 1"], delegate, there_is_one_task
    ).rows(pytest.mark.behaviour("background.once"), pytest.mark.behaviour("background.budgets")),
    Scenario(
        "task of a workflow",
        DELEGATING,
        ["after begin 1", "after found 1"],
        delegate_in_a_workflow,
        the_workflow_has_one_task,
    ).rows(pytest.mark.behaviour("background.of-workflows")),
    Scenario("task of later", DELEGATING, ["before found 1"], delegate_and_answer, the_next_turn_reads_the_task).rows(
        pytest.mark.behaviour("background.once")
    ),
    Scenario("budget of a run", SPENDING, ["after tool_result 3"], *spent("Run", "run")).rows(
        pytest.mark.behaviour("turn.budget")
    ),
    Scenario("budget of a day", SPENDING, ["after tool_result 3"], *spent("Day", "owner/day")).rows(
        pytest.mark.behaviour("turn.budget")
    ),
)
async def test_what_was_done_before_a_kill_is_done_once(row: Row) -> None:
    """The next attempt finds it."""
    await row.dies_and_ends()
