"""Processes that are killed by SIGKILL while an agent has background agents at work."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.delegating import go_on, result, start, wait
from tests.support.grouped_app import GroupedApp, grouped_app
from tests.support.running_host import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*experimental")]

GUARD_SECONDS = 60.0
TASKS = "/api/agents/Clerk_Researcher/threads"
THREAD = "/api/agents/Clerk/threads/t"


@dataclass
class Delegating:
    """The running app, and the files by which its processes stand still."""

    app: GroupedApp
    folder: Path

    def stand_at(self, *points: str) -> None:
        """Have its processes stand still at these points from now on."""
        (self.folder / "goes_on").unlink(missing_ok=True)
        (self.folder / "stands").write_text(" ".join(points))

    def go_on(self) -> None:
        """Have them go on."""
        (self.folder / "goes_on").touch()

    def passed(self, point: str) -> int:
        """Return how often a point was reached."""
        return (self.folder / "reached").read_text().split().count(point)

    async def until_passed(self, point: str, times: int) -> None:
        """Return once the point was reached so often."""
        await asyncio.wait_for(self._until_passed(point, times), GUARD_SECONDS)

    async def _until_passed(self, point: str, times: int) -> None:
        while self.passed(point) < times:  # noqa: ASYNC110 - another process writes the file
            await asyncio.sleep(0.02)


@pytest.fixture
def delegating(tmp_path: Path) -> Iterator[Delegating]:
    """The app, as two HTTP hosts and one of its durable functions."""
    shutil.copy(Path(__file__).parent / "background_app" / "function_app.py", tmp_path)
    shutil.copy(ROOT / "host.json", tmp_path)
    for name in ("reached", "stands"):
        (tmp_path / name).touch()
    environ = {
        "AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}",
        "REACHED": str(tmp_path / "reached"),
        "STANDS": str(tmp_path / "stands"),
        "GOES_ON": str(tmp_path / "goes_on"),
    }
    with grouped_app(tmp_path, log=environ) as app:
        yield Delegating(app, tmp_path)


async def run_once_ended(http: httpx.AsyncClient, thread: str = THREAD) -> dict[str, Any]:
    """Return the newest run of a thread, the planner's, once it has ended."""
    while (run := (await http.get(f"{thread}/runs")).json()["runs"][0])["ended_at"] is None:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    return {**run, **(await http.get(f"{thread}/runs/{run['run_id']}")).json()}


async def until_recorded(http: httpx.AsyncClient, text: str) -> None:
    """Return once the result of a tool is in the log."""
    [run] = (await http.get(f"{THREAD}/runs")).json()["runs"]
    while text not in (await http.get(f"{THREAD}/runs/{run['run_id']}/timeline")).text:  # noqa: ASYNC110
        await asyncio.sleep(0.05)


@pytest.mark.behaviour("background.budgets")
@pytest.mark.behaviour("background.once")
@pytest.mark.parametrize("point", ["asked", "begun", "found"])
async def test_a_killed_run_finds_its_task_again(delegating: Delegating, point: str) -> None:
    """Killed before the task was begun, behind that, and while it was at work: there is one task with one result.

    The budget of the run has the planner's seven model calls and the two of the task, each once.
    """
    one, two = delegating.app.http
    message = f"{start('tea')}\n{wait(1)}\n{result(1)}\n{go_on(1, 'milk')}\n{wait(1)}\n{result(1)}"
    delegating.stand_at(point)
    async with httpx.AsyncClient(base_url=two.origin, timeout=GUARD_SECONDS) as http:
        body = {"message": message, "thread_id": "t"}
        begun = asyncio.ensure_future(http.post(f"{one.origin}/api/agents/Clerk/run", json=body))
        await delegating.until_passed(point, 1)
        one.kill()
        await asyncio.gather(begun, return_exceptions=True)
        delegating.go_on()
        run = await asyncio.wait_for(run_once_ended(http), GUARD_SECONDS)
        tasks = (await http.get(TASKS)).status_code
        exported = (await http.get(f"{THREAD}/export")).json()["background_tasks"]

    assert (run["status"], run["attempts"]) == ("success", 2), run
    assert run["response"].splitlines() == [
        "Background task 1 started on agent 'Researcher'.",
        "Task 1 finished with status: completed.",
        "Found tea (1).",
        "Task 1 continued with new input.",
        "Task 1 finished with status: completed.",
        "Found milk (3).",
    ]
    assert (delegating.passed("found"), tasks, len(exported)) == (2, 404, 1)
    assert run["budget"]["used_tokens"] == 90


@pytest.mark.behaviour("background.of-workflows")
@pytest.mark.parametrize("point", ["begun", "found"])
async def test_a_killed_workflow_finds_the_task_of_its_agent_again(delegating: Delegating, point: str) -> None:
    """Its superstep is made again, and the task is not."""
    one, two = delegating.app.http
    thread, message = "/api/workflows/Flow/threads/t", f"{start('tea')}\n{wait(1)}\n{result(1)}"
    delegating.stand_at(point)
    async with httpx.AsyncClient(base_url=two.origin, timeout=GUARD_SECONDS) as http:
        body = {"message": message, "thread_id": "t"}
        begun = asyncio.ensure_future(http.post(f"{one.origin}/api/workflows/Flow/run", json=body))
        await delegating.until_passed(point, 1)
        one.kill()
        await asyncio.gather(begun, return_exceptions=True)
        delegating.go_on()
        run = await asyncio.wait_for(run_once_ended(http, thread), GUARD_SECONDS)
        exported = (await http.get(f"{thread}/export")).json()["background_tasks"]

    assert (run["status"], run["attempts"]) == ("success", 2), run
    assert run["response"].splitlines()[-1] == "Found tea (1)."
    assert (delegating.passed("found"), len(exported), run["budget"]["used_tokens"]) == (1, 1, 50)


@pytest.mark.behaviour("background.once")
async def test_a_task_keeps_its_number_whatever_other_tools_recorded(delegating: Delegating) -> None:
    """The result of a tool of the same moment has the state with the task, which was cut off before it was begun."""
    one, two = delegating.app.http
    message = f"look & {start('tea')} & {start('milk')}\n{wait(2)}\n{wait(1)}\n{result(1)} & {result(2)}\nlist"
    delegating.stand_at("asked")
    async with httpx.AsyncClient(base_url=two.origin, timeout=GUARD_SECONDS) as http:
        body = {"message": message, "thread_id": "t"}
        begun = asyncio.ensure_future(http.post(f"{one.origin}/api/agents/Clerk/run", json=body))
        await delegating.until_passed("asked", 1)
        await until_recorded(http, "It rains.")
        one.kill()
        await asyncio.gather(begun, return_exceptions=True)
        delegating.go_on()
        run = await asyncio.wait_for(run_once_ended(http), GUARD_SECONDS)

    assert run["response"].splitlines()[-5:] == [
        "Found tea (1).",
        "Found milk (1).",
        "Tasks:",
        "- Task 1 [completed] (Researcher): About tea",
        "- Task 2 [completed] (Researcher): About milk",
    ]
    assert delegating.passed("found") == 2


@pytest.mark.behaviour("background.ends")
async def test_a_task_that_is_begun_behind_the_cancel_of_its_run_ends_too(delegating: Delegating) -> None:
    """The cancel found no task."""
    delegating.stand_at("asked", "found")
    async with httpx.AsyncClient(base_url=delegating.app.http[1].origin, timeout=GUARD_SECONDS) as http:
        body = {"message": f"{start('tea')}\n{wait(1)}", "thread_id": "t"}
        begun = asyncio.ensure_future(http.post(f"{delegating.app.http[0].origin}/api/agents/Clerk/run", json=body))
        await delegating.until_passed("asked", 1)
        [run] = (await http.get(f"{THREAD}/runs")).json()["runs"]
        await http.post(f"{THREAD}/runs/{run['run_id']}/cancel")
        await begun
        await delegating.until_passed("cancelled", 1)
        delegating.stand_at("found")
        await delegating.until_passed("begun", 1)
        [task] = (await http.get(f"{THREAD}/export")).json()["background_tasks"]
        ended = await asyncio.wait_for(run_once_ended(http, f"{TASKS}/{task['thread_id']}"), GUARD_SECONDS)

    assert ended["status"] == "cancelled"


@pytest.mark.behaviour("background.once")
async def test_a_task_whose_process_dies_goes_on_in_another(delegating: Delegating) -> None:
    """Its model had not answered, so it is asked again; the parent waits on."""
    two = delegating.app.http[1]
    delegating.stand_at("found")
    async with httpx.AsyncClient(base_url=two.origin, timeout=GUARD_SECONDS) as http:
        body = {"message": f"{start('tea')}\n{wait(1)}\n{result(1)}", "thread_id": "t"}
        answer = asyncio.ensure_future(http.post("/api/agents/Clerk/run", json=body))
        await delegating.until_passed("found", 1)
        delegating.app.durable.kill()
        delegating.app.durable.start()
        delegating.go_on()
        response = (await answer).json()

    assert response["response"].splitlines()[-1] == "Found tea (1)."
    assert delegating.passed("found") == 2


@pytest.mark.behaviour("background.once")
async def test_a_task_outlives_all_processes_and_the_next_turn_reads_it(delegating: Delegating) -> None:
    """Plain it is lost with them."""
    app = delegating.app
    delegating.stand_at("found")
    async with httpx.AsyncClient(base_url=app.http[0].origin, timeout=GUARD_SECONDS) as http:
        first = await http.post("/api/agents/Clerk/run", json={"message": start("tea"), "thread_id": "t"})
        await delegating.until_passed("found", 1)
        for host in (*app.http, app.durable):
            host.kill()
        delegating.go_on()
        for host in (*app.http, app.durable):
            host.start()
        second = await http.post("/api/agents/Clerk/run", json={"message": f"{wait(1)}\n{result(1)}", "thread_id": "t"})

    assert first.json()["response"] == "Background task 1 started on agent 'Researcher'."
    assert second.json()["response"].splitlines()[-1] == "Found tea (1)."
