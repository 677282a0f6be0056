"""One version after another over the same data: docs/guides/redeploying.md."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.support.instances import Instances
from tests.support.running_host import ROOT, RunningHost

pytestmark = pytest.mark.slow

VERSION = """
from agent_framework import Agent
from benchmarks.app.timed_model import TimedClient
from hosting.app import AgentFunctionApp
from hosting.functions import agent_calls

agent_calls.WAIT_SECONDS = 0.05
names = {names}
app = AgentFunctionApp(agents=[Agent(TimedClient(), name=name) for name in names], enable_mcp_tool_trigger=True)


@app.orchestration_trigger(context_name="context")
def later(context):
    yield context.wait_for_external_event("go")
    answer = yield app.get_agent(context, "timed").run("later")
    return answer.text
"""
GUARD_SECONDS = 20
RUN, THREAD = "/api/agents/timed/run", "/api/agents/timed/threads/kept"


@dataclass(frozen=True)
class App:
    """One folder, whose data stays when another version of the app is put into it."""

    folder: Path

    @asynccontextmanager
    async def version(self, *names: str, **environ: str) -> AsyncIterator[httpx.AsyncClient]:
        """Host the version that has agents of these names; its process is killed at the end of the block."""
        (self.folder / "function_app.py").write_text(VERSION.format(names=names), encoding="utf-8")
        with RunningHost(self.folder, environ=environ) as host:
            async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as client:
                yield client


@pytest.fixture
def app(tmp_path: Path) -> App:
    shutil.copy(ROOT / "host.json", tmp_path)
    return App(tmp_path)


async def say(client: httpx.AsyncClient, message: str, wait: bool = True) -> httpx.Response:
    return await client.post(RUN, json={"message": message, "thread_id": "kept", "wait_for_response": wait})


async def begun(client: httpx.AsyncClient) -> str:
    """The path of a run that is under way when its host is killed; it is the thread's second."""
    await say(client, "first")
    accepted = await say(client, "wait 0.5", wait=False)
    return httpx.URL(accepted.headers["location"]).path


@pytest.mark.behaviour("template.removed-agent")
async def test_what_a_removed_agent_left_behind_is_refused_by_name_and_changed_by_nothing(app: App) -> None:
    """Reading, asking, cancelling and deleting: the answer says which agents there are."""
    async with app.version("other", "timed") as client:
        place = await begun(client)

    async with app.version("other") as client:
        refused = [
            await client.get(place),
            await client.post(f"{place}/cancel"),
            await client.get(THREAD),
            await client.get(f"{THREAD}/messages"),
            await client.delete(THREAD),
            await say(client, "hello?"),
        ]

    async with app.version("other", "timed") as client:
        recalled = (await say(client, "recall")).json()["response"]
        done = await client.get(place)

    assert [(answer.status_code, answer.json()["code"]) for answer in refused] == [(404, "unknown_agent")] * 6
    assert {answer.json()["error"] for answer in refused} == {"There is no agent 'timed' here. Agents: other."}
    assert recalled == '["first", "wait 0.5", "recall"]'
    assert (done.status_code, done.json()["response"]) == (200, "Heard: wait 0.5")


@pytest.mark.behaviour("template.redeployed")
async def test_a_run_in_flight_and_an_orchestration_are_finished_by_the_next_version(app: App) -> None:
    """The name in another letter case is the same agent: names are compared without it."""
    async with app.version("timed") as client:
        await Instances(client).start("later", None, "waiting")
        place = await begun(client)

    async with app.version("Timed", "new") as client:
        recalled = (await say(client, "recall")).json()["response"]
        done = await client.get(place)
        await Instances(client).tell("waiting", "go", True)
        ended = await Instances(client).ended("waiting")

    assert recalled == '["first", "wait 0.5", "recall"]'
    assert (done.status_code, done.json()["response"]) == (200, "Heard: wait 0.5")
    assert ended == ("Completed", "Heard: later")
