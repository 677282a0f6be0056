"""A workflow whose process is killed with SIGKILL: at every superstep's boundary, and inside of one."""

import asyncio
import shutil
from collections import Counter
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.support import planned
from tests.support.running_host import RunningHost

pytestmark = pytest.mark.slow

APP = Path(__file__).resolve().parent / "flow_app"
SAMPLE = APP.parents[2] / "samples" / "workflow_builders" / "function_app.py"
GUARD_SECONDS = 60.0
KEY = {"idempotency-key": "once"}
BUILDERS = ("Sequential", "Concurrent", "Handoff", "GroupChat", "Magentic")
DONE = {"step 1": 1, "model 1": 1, "tool": 1, "model 2": 1, "step 3": 1, "step 4": 1}


class Flows:
    """A copy of the app, and what the outside saw of it."""

    def __init__(self, folder: Path) -> None:
        self.path = shutil.copytree(APP, folder / "app")
        shutil.copy(planned.__file__, self.path / "planned.py")
        self._notes = folder / "notes.txt"

    def host(self) -> RunningHost:
        """Start a process."""
        return RunningHost(self.path, environ={"NOTES": str(self._notes)})

    def counted(self) -> Counter[str]:
        """Return what was done, and how often."""
        return Counter(line for line in self._notes.read_text().splitlines() if not line.startswith("died"))

    async def killed_and_ended(self, point: str, change: tuple[str, str] | None = None) -> dict[str, str]:
        """Run the workflow in a process that dies at the point; return how it ends in another one."""
        body = {"message": f"die {point}", "thread_id": "t", "wait_for_response": False}
        with self.host() as host:
            async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
                with suppress(httpx.RemoteProtocolError):  # it may die before it has answered
                    await http.post("/api/workflows/Chain/run", json=body, headers=KEY)
                await asyncio.to_thread(host.process.wait)
        if change is not None:
            file = self.path / "function_app.py"
            file.write_text(file.read_text().replace(*change))
        with self.host() as host:
            async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
                begun = await http.post("/api/workflows/Chain/run", json=body, headers=KEY)
                place = f"/api/workflows/Chain/threads/t/runs/{begun.headers['x-ms-run-id']}"
                async with asyncio.timeout(GUARD_SECONDS):
                    async with http.stream("GET", f"{place}/events") as events:
                        await events.aread()
                return dict((await http.get(place)).json())


@pytest.mark.behaviour("workflows.survives-kill")
@pytest.mark.parametrize("point", ["1", "2", "2.5", "3", "4"])
async def test_a_killed_workflow_continues_behind_its_last_superstep(tmp_path: Path, point: str) -> None:
    """The same output; no superstep before the kill again, and of the one under way no recorded call."""
    flows = Flows(tmp_path)

    ended = await flows.killed_and_ended(point)

    assert ended["status"] == "success", ended
    assert ended["response"] == "said 1\n\nsaid 3\n\nsaid 4"
    assert flows.counted() == DONE


@pytest.mark.behaviour("workflows.as-agent")
@pytest.mark.parametrize("point", ["1", "2", "2.5", "3"])
async def test_a_killed_agent_that_is_a_workflow_continues_with_the_state_of_its_thread(
    tmp_path: Path, point: str
) -> None:
    """A turn before, the killed one, and one behind it: what was kept is neither lost nor counted twice."""
    flows = Flows(tmp_path)
    run = {"url": "/api/agents/Talk/run", "headers": KEY}
    body = {"message": f"die {point}", "thread_id": "t", "wait_for_response": False}

    with flows.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            first = (await http.post("/api/agents/Talk/run", json={"message": "a", "thread_id": "t"})).json()
            with suppress(httpx.RemoteProtocolError):
                await http.post(**run, json=body)  # type: ignore[arg-type]
            await asyncio.to_thread(host.process.wait)
    with flows.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            begun = await http.post(**run, json=body)  # type: ignore[arg-type]
            place = f"/api/agents/Talk/threads/t/runs/{begun.headers['x-ms-run-id']}"
            async with asyncio.timeout(GUARD_SECONDS), http.stream("GET", f"{place}/events") as events:
                await events.aread()
            killed = (await http.get(place)).json()
            last = (await http.post("/api/agents/Talk/run", json={"message": "b", "thread_id": "t"})).json()

    said = [body["response"].partition("\n")[0] for body in (first, killed, last)]
    assert said == ["turn 1 1, 1 messages", "turn 2 2, 4 messages", "turn 3 3, 7 messages"]
    assert flows.counted() == {"turn": 3, "model 1": 3, "tool": 3, "model 2": 3, "step 3": 3}


@pytest.mark.behaviour("workflows.changed")
async def test_a_workflow_whose_graph_changed_meanwhile_is_refused(tmp_path: Path) -> None:
    """By name; nothing is done by the other graph."""
    flows = Flows(tmp_path)

    ended = await flows.killed_and_ended("3", change=('Step("4")', 'Step("5")'))

    assert ended["error"]["code"] == "workflow_changed"  # type: ignore[index]
    assert flows.counted() == {"step 1": 1, "model 1": 1, "tool": 1, "model 2": 1}


@pytest.mark.behaviour("workflows.builders")
async def test_killed_ready_made_workflows_continue_behind_their_last_superstep(tmp_path: Path) -> None:
    """All five in one process, each at its second model call; the first one of those in a row is not made again."""
    app = shutil.copytree(APP.parent / "builder_app", tmp_path / "app")
    shutil.copy(SAMPLE, app / "sample.py")
    notes = tmp_path / "notes.txt"
    environ = {"NOTES": str(notes)}

    async def begin(http: httpx.AsyncClient, name: str, thread_id: str) -> httpx.Response:
        told = "Call handoff_to_guide with {}" if name == "Handoff" else f"Write about {name}."
        body = {"message": told, "thread_id": thread_id, "wait_for_response": False}
        return await http.post(f"/api/workflows/{name}/run", json=body, headers={"idempotency-key": thread_id})

    async def end(http: httpx.AsyncClient, name: str, thread_id: str) -> str:
        run_id = (await begin(http, name, thread_id)).headers["x-ms-run-id"]
        place = f"/api/workflows/{name}/threads/{thread_id}/runs/{run_id}"
        async with asyncio.timeout(GUARD_SECONDS), http.stream("GET", f"{place}/events") as events:
            await events.aread()
        ended = (await http.get(place)).json()
        return str(ended.get("response", ended))

    with RunningHost(app, environ=environ) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            with suppress(httpx.RemoteProtocolError):
                await asyncio.gather(*(begin(http, name, "killed") for name in BUILDERS))
            await asyncio.to_thread(host.process.wait)
    with RunningHost(app, environ=environ) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            killed = {name: await end(http, name, "killed") for name in BUILDERS}
            made = Counter(notes.read_text().splitlines())
            whole = {name: await end(http, name, "whole") for name in BUILDERS}

    assert killed == whole
    assert all(text for text in whole.values())
    assert made.pop("Concurrent") in (2, 3)  # its two calls are of one superstep
    assert made == dict.fromkeys(made, 2) | {"died": 1}
