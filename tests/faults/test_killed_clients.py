"""Official clients of the wires whose host is killed: by their own means they get the rest of another one."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from agent_framework import Message
from agent_framework_openai import OpenAIChatClient

from tests.faults.planned_app import PlannedApp
from tests.support.npm_client import printed_by, with_packages
from tests.support.planned import ALL_SAID
from tests.support.python_packages import CHAT_CLIENT, installed, printed_with
from tests.support.running_host import RunningHost

pytestmark = pytest.mark.slow

WIRES = Path(__file__).resolve().parents[1] / "hosting" / "features"
POINT = "after 4"
"""In the middle: some words are said, and tools are called."""


@pytest.fixture
def planned(tmp_path: Path) -> PlannedApp:
    log = {"AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}"}
    return PlannedApp(tmp_path, {**log, "AGENT_STREAM_BATCH_SECONDS": "10", "LEASE_SECONDS": "1"})


@contextlib.asynccontextmanager
async def until_killed(planned: PlannedApp) -> AsyncIterator[RunningHost]:
    """A host that is killed when the block ends, once the run that the block begins stands at its point."""
    with planned.host(stands=True) as host:
        yield host
        await planned.until_standing(1)
        host.process.kill()


@pytest.mark.parametrize(
    ("wire", "package"),
    [
        pytest.param("responses", "openai", marks=pytest.mark.behaviour("responses.npm-client")),
        pytest.param("a2a", "@a2a-js/sdk", marks=pytest.mark.behaviour("a2a.npm-client")),
        pytest.param("ag_ui", "@ag-ui/client", marks=pytest.mark.behaviour("ag-ui.npm-clients")),
        pytest.param("ag_ui", "client-before", marks=pytest.mark.behaviour("ag-ui.npm-clients")),
    ],
)
async def test_a_client_for_javascript_has_all_that_was_said(
    planned: PlannedApp, pytestconfig: pytest.Config, wire: str, package: str
) -> None:
    """It comes back with what it had, in a process of its own."""
    cache = Path(pytestconfig.cache.mkdir(f"{wire.replace('responses', 'openai').replace('_', '-')}-node"))
    script = with_packages(WIRES / wire / "killed.mjs", cache)
    async with until_killed(planned) as host:
        reading = asyncio.ensure_future(printed_by(script, host.origin, POINT, "", package))
    before = await reading
    with planned.host() as host:
        after = await printed_by(script, host.origin, POINT, json.dumps(before), package)

    assert ("said" in before, "broken" in before) == (False, True), (before, after)
    assert "said" in after, after
    assert "\n\n".join(after["said"]) == ALL_SAID


def client_of(host: RunningHost) -> openai.AsyncOpenAI:
    """Return OpenAI's client for Python."""
    return openai.AsyncOpenAI(api_key="unused", base_url=f"{host.origin}/api/openai/v1", max_retries=0)


async def read(stream: Any, events: list[Any]) -> None:
    """Take events until the stream ends or breaks."""
    with contextlib.suppress(Exception):  # whatever the client makes of a connection that is gone
        async for event in await stream:
            events += [event]


@pytest.mark.behaviour("responses.chat-client")
async def test_agent_frameworks_client_has_the_answer_by_its_token(planned: PlannedApp) -> None:
    """It had begun the response in the background."""
    message = [Message("user", [POINT])]
    async with until_killed(planned) as host, client_of(host) as first:
        one = OpenAIChatClient(model="Speaker", async_client=first)
        answer = await one.get_response(message, options={"background": True})
    with planned.host() as host:
        async with client_of(host) as second:
            other = OpenAIChatClient(model="Speaker", async_client=second)
            while answer.continuation_token is not None:
                await asyncio.sleep(0.05)
                answer = await other.get_response(message, options={"continuation_token": answer.continuation_token})

    assert answer.text.split() == ALL_SAID.split()


@pytest.mark.behaviour("a2a.agent")
async def test_agent_frameworks_agent_has_the_answer_by_its_token(planned: PlannedApp) -> None:
    """It had begun the task in the background, and polls it; the task is read to its end once."""
    pytest.importorskip("a2a", reason="a2a-sdk is not installed")
    from agent_framework_a2a import A2AAgent

    def agent(host: RunningHost) -> A2AAgent:
        return A2AAgent(name="Speaker", url=f"{host.origin}/api/a2a/Speaker", timeout=60)

    async with until_killed(planned) as host, agent(host) as one:
        begun = await one.run(POINT, background=True)
    answer, token = begun, begun.continuation_token
    with planned.host() as host:
        async with agent(host) as other:
            while answer.continuation_token is not None:
                await asyncio.sleep(0.05)
                answer = await other.poll_task(answer.continuation_token)

    assert token is not None
    assert answer.text == ALL_SAID


@pytest.mark.behaviour("ag-ui.chat-client")
async def test_agent_frameworks_client_for_ag_ui_asks_again_in_its_thread(
    planned: PlannedApp, pytestconfig: pytest.Config
) -> None:
    """It makes a new run of each request: the killed one goes on, and the new one has its turn after that."""
    packages = installed(Path(pytestconfig.cache.mkdir("ag-ui-python")), *CHAT_CLIENT)
    script = WIRES / "ag_ui" / "killed_chat_client.py"
    async with until_killed(planned) as host:
        asking = asyncio.ensure_future(printed_with(packages, script, host.origin, POINT))
    before = await asking
    with planned.host() as host:
        after = await printed_with(packages, script, host.origin, POINT)
        async with httpx.AsyncClient(base_url=host.origin) as http:
            runs = (await http.get("/api/agents/Speaker/threads/t/runs")).json()["runs"]

    assert ("said" in before, "broken" in before) == (False, True), (before, after)
    assert after["said"] == ALL_SAID.split()
    assert [run["status"] for run in runs] == ["success", "success"]
