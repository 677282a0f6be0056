"""The app on the Durable Functions SDK 2.x, by the local host's gRPC."""

from __future__ import annotations

import sys
from pathlib import Path

import httpx
import pytest

from tests.support.interpreters import fresh_environment, install
from tests.support.template_process import ROOT, copy_tree, running

ORCHESTRATIONS = """

import azure.durable_functions as df
import azure.functions as func


@app.orchestration_trigger(context_name="context")
def ask(context: df.DurableOrchestrationContext):
    agent = app.get_agent(context, "assistant")
    session = agent.create_session()
    first = yield agent.run("What is the weather in Paris?", session=session)
    both = yield context.task_all([agent.run("one"), agent.run("two")])
    shouted = yield context.call_activity("shout", "done")
    child = yield context.call_sub_orchestrator("child", {"n": 1})
    return [first.text, len(both), shouted, child]


@app.orchestration_trigger(context_name="context")
def child(context: df.DurableOrchestrationContext):
    return context.get_input()


@app.activity_trigger(input_name="word")
def shout(word: str) -> str:
    return word.upper()


@app.route(route="ask", methods=["POST"])
@app.durable_client_input(client_name="client")
async def begin(req: func.HttpRequest, client) -> func.HttpResponse:
    return await app.run_orchestration(req, client, "ask", wait_seconds=30)
"""
PARIS = "The weather in Paris: partly cloudy, 18 °C."


@pytest.fixture(scope="module")
def next_sdk(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of an environment with the SDK 2.x."""
    python = fresh_environment("3.13", tmp_path_factory.mktemp("next") / "environment")
    install(python, "--override", str(ROOT / "requirements-durable-2.txt"), "-r", str(ROOT / "requirements-local.txt"))
    return python


@pytest.mark.slow(seconds=10)
@pytest.mark.timeout(600)
@pytest.mark.behaviour("hosting.durable-2")
async def test_the_app_runs_on_the_next_sdk(next_sdk: str, tmp_path: Path) -> None:
    """A turn that its entity stores, an orchestration, and the end of a thread; no hint of the SDK is in the log."""
    folder = _app(tmp_path)
    with (folder / "function_app.py").open("a", encoding="utf-8") as file:
        file.write(ORCHESTRATIONS)
    command = [next_sdk, "-m", "devhost", "start", "--port", "0"]
    async with running(command, folder) as app, httpx.AsyncClient(base_url=f"{app.origin}/api", timeout=60) as client:
        turn = await client.post("/agents/assistant/run", json={"message": "What is the weather in Paris?"})
        asked = await client.post("/ask")
        thread = f"/agents/assistant/threads/{turn.json()['thread_id']}"
        deleted = await client.delete(thread)
        gone = await client.get(thread)

    assert (turn.status_code, turn.json()["response"]) == (200, PARIS)
    assert (asked.status_code, asked.json()) == (200, [PARIS, 2, "DONE", {"n": 1}])
    assert (deleted.status_code, gone.status_code) == (204, 404)
    assert [line for line in app.printed_since if "azure.functions" in line or "eprecat" in line] == []


@pytest.mark.slow(seconds=6)
@pytest.mark.timeout(600)
@pytest.mark.behaviour("hosting.durable-2")
async def test_a_thread_goes_on_with_the_next_sdk_and_with_the_one_before(next_sdk: str, tmp_path: Path) -> None:
    """What its log and its entity have stored is the same for both."""
    folder = _app(tmp_path)
    counts = []
    for each in (sys.executable, next_sdk, sys.executable):
        async with (
            running([each, "-m", "devhost", "start", "--port", "0"], folder) as app,
            httpx.AsyncClient(base_url=f"{app.origin}/api", timeout=60) as client,
        ):
            turn = await client.post("/agents/assistant/run", json={"message": "hello", "thread_id": "t"})
            counts.append(turn.json()["message_count"])

    assert counts == [2, 4, 6]


def _app(folder: Path) -> Path:
    copy_tree(folder)
    return folder
