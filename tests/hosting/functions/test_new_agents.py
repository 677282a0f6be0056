"""A new agent while a deployment goes on: the engine hands operations of it to instances that do not have it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import azure.durable_functions as df
import pytest

from devhost.durable.store.contract import InstanceFilter
from devhost.durable.unkind import Armed, Fault
from hosting.app import AgentFunctionApp
from hosting.functions import agent_calls
from tests.support.app.scripted import scripted_agent
from tests.support.engine_app import EngineApp, engine_app
from tests.support.made_app import app_of
from tests.support.memory_store import MemoryStore

NEWCOMER = "@dafx-joker@t"


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits for an agent take no time."""
    monkeypatch.setattr(agent_calls, "WAIT_SECONDS", 0.0)


def asking(*agents: str, log: str = "memory") -> AgentFunctionApp:
    """Return a version of an app with these agents, and an orchestration that asks the agents of its input at once."""
    app = app_of(*map(scripted_agent, agents), environ={"AGENT_LOG": log})

    @app.orchestration_trigger(context_name="context")
    def ask(context: df.DurableOrchestrationContext) -> Any:
        calls = []
        for name in context.get_input():
            agent = app.get_agent(context, name)
            calls.append(agent.run(f"hello {name}", session=agent.get_session("t")))
        answers = yield context.task_all(calls)
        first = app.get_agent(context, context.get_input()[0])
        last = yield first.run("again", session=first.get_session("t"))
        return [answer.text for answer in [*answers, last]]

    return app


@pytest.mark.behaviour("orchestrations.new-agent")
@pytest.mark.parametrize("times", [1, 3])
async def test_a_call_whose_operation_an_older_instance_failed_is_made_again(times: int) -> None:
    unkind = Armed()
    for nth in range(1, times + 1):
        unkind.arm(Fault.LOST_OPERATION, NEWCOMER, nth)
    async with engine_app(asking("Joker", "Other"), unkind=unkind) as running:
        await running.start("ask", "i", ["Other", "Joker"])
        ended = await running.store.until_ended("i")
        messages = (await running.http.get("/api/agents/Joker/threads/t/messages")).json()["entries"]

    assert json.loads(str(ended.output)) == ["echo: hello Other", "echo: hello Joker", "echo: again"]
    assert len(unkind.struck) == times
    assert len(messages) == 2


@pytest.mark.behaviour("orchestrations.new-agent")
async def test_an_orchestration_that_an_older_instance_executes_waits_for_the_agent(tmp_path: Path) -> None:
    """It goes on at an instance that has it, and the waits in its history are no calls there."""
    store, log = MemoryStore(), f"sqlite:{tmp_path / 'log.sqlite'}"
    async with engine_app(asking("Other", log=log), inner=store) as older:
        await older.start("ask", "i", ["Other", "Joker", "Joker"])
        await older.store.until_ended(await third_wait(older))
    async with engine_app(asking("Other", "Joker", log=log), inner=store) as newer:
        ended = await newer.store.until_ended("i")

    assert json.loads(str(ended.output)) == [
        "echo: hello Other",
        "echo: hello Joker",
        "echo: hello Joker",
        "echo: again",
    ]


async def third_wait(running: EngineApp) -> str:
    """Return the id of the third wait of a run, once there is one."""
    found = list[str]()

    async def is_there() -> bool:
        listed = await running.store.list_orchestrations(InstanceFilter(prefix="wait!"), "", None)
        found[:] = [one.instance_id for one in listed if one.instance_id.endswith("!3")]
        return bool(found)

    await running.store.until(is_there)
    return found[0]


@pytest.mark.behaviour("orchestrations.new-agent")
async def test_a_call_of_an_agent_that_nobody_has_fails_by_its_name_and_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(agent_calls, "MOST_WAITS", 3)
    async with engine_app(asking("Other")) as running:
        await running.start("ask", "i", ["Joker"])
        ended = await running.store.until_ended("i")

    assert (ended.status.value, "Joker" in str(ended.output)) == ("Failed", True)
    assert sum("waits for agent" in message for message in caplog.messages) == 1
