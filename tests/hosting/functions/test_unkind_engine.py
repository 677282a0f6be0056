"""The app on the local host's engine, in this process, while the engine does by chance what the real one may do.

The gate tries a few seeds, `--explore` many. A seed that fails is said, with the faults that struck.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import azure.durable_functions as df
import pytest

from devhost.durable.unkind import Fault, Seeded
from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent
from tests.support.engine_app import EngineApp, engine_app
from tests.support.made_app import app_of
from tests.support.orchestrations_more import Steps, register
from tests.support.seeds import repeated

pytestmark = pytest.mark.behaviour("engine.unkind-app")

GUARD_SECONDS = 10.0
FASTER = 300
"""A minute of the engine's waiting is a fifth of a second."""
TURNS = 3
THREADS = 3
WITHOUT_WAITING = {"x-ms-wait-for-response": "false"}


def numbers(seed: int, in_the_gate: int) -> list[int]:
    """Return the seeds of the engine that a run tries."""
    return [1000 * seed + number for number in range(repeated(in_the_gate, exploring=100))]


async def until(ask: Callable[[], Awaitable[Any]]) -> Any:
    """Return the first answer that is something, under the guard."""

    async def asked() -> Any:
        while not (answer := await ask()):  # noqa: ASYNC110 - the engine does it
            await asyncio.sleep(0.01)
        return answer

    return await asyncio.wait_for(asked(), GUARD_SECONDS)


async def ended(running: EngineApp, location: str) -> str:
    """Return how a run ended."""

    async def status() -> str | None:
        answer = await running.http.get(location)
        return None if answer.status_code == 202 else str(answer.json()["status"])

    return str(await until(status))


async def converse(running: EngineApp, thread_id: str) -> None:
    """Send some messages to one thread at once, waited for or not; see that each has one answer, and delete it."""
    place = f"/api/agents/Joker/threads/{thread_id}"

    async def say(number: int) -> None:
        headers = {} if number == 1 else WITHOUT_WAITING
        body = {"message": f"m{number}", "thread_id": thread_id}
        answer = await running.http.post("/api/agents/Joker/run", json=body, headers=headers)
        assert answer.status_code in (200, 202), answer.text
        if answer.status_code == 202:
            assert await ended(running, answer.headers["location"]) == "success"

    async def whole() -> bool:
        entries = (await running.http.get(f"{place}/messages")).json().get("entries", [])
        return [entry["type"] for entry in entries] == ["request", "response"] * TURNS

    async def deleted() -> bool:
        return (await running.http.delete(place)).status_code in (204, 404)

    await asyncio.gather(*(say(number) for number in range(TURNS)))
    assert await until(whole)
    assert await until(deleted)


async def nothing_is_left(running: EngineApp) -> bool:
    """Return whether the engine has no entity any more, and no message that would make one."""
    return not await running.store.list_entities("@", "", None) and not await running.store.messages(None, 1)


@pytest.mark.slow
async def test_each_message_has_one_answer_and_a_deletion_ends(seed: int) -> None:
    """Runs that callers wait for and runs that the entity makes, several on each thread."""
    for number in numbers(seed, 5):
        unkind = Seeded(number, FASTER)
        async with engine_app(app_of(scripted_agent("Joker")), unkind=unkind) as running:
            print(number)
            await asyncio.gather(*(converse(running, f"t{thread}") for thread in range(THREADS)))
            assert await until(lambda: nothing_is_left(running))


def orchestrating_app() -> AgentFunctionApp:
    """Return an app whose orchestrations call agents."""
    app = app_of(scripted_agent("writer"), scripted_agent("critic"))
    register(app)

    @app.orchestration_trigger(context_name="context")
    def ask_twice(context: df.DurableOrchestrationContext) -> Steps:
        writer = app.get_agent(context, "writer")
        first = yield writer.run(f"{context.get_input()} 1")
        second = yield writer.run(f"{context.get_input()} 2")
        return [first.text, second.text]

    @app.orchestration_trigger(context_name="context")
    def through_a_child(context: df.DurableOrchestrationContext) -> Steps:
        return (yield context.call_sub_orchestrator("ask_twice", context.get_input()))

    return app


async def calls_of_models(log: Path, unkind: Seeded) -> Counter[str]:
    """Run orchestrations to their ends, and return how often each thing was asked of a model."""
    log.write_text("")
    async with engine_app(orchestrating_app(), unkind=unkind) as running:
        for name, kind in (("one", "ask_twice"), ("two", "ask_twice"), ("three", "through_a_child")):
            await running.start(kind, name, name)
        for name in ("one", "two", "three"):
            instance = await running.store.until_ended(name, GUARD_SECONDS)
            assert json.loads(instance.output or "") == [f"echo: {name} 1", f"echo: {name} 2"]
    return Counter(line.partition(" ")[2] for line in log.read_text().splitlines())


CALLS = Counter(f"{name} {number}" for name in ("one", "two", "three") for number in (1, 2))


@pytest.mark.parametrize("target", ["ask_twice", "through_a_child"])
@pytest.mark.parametrize("fault", [Fault.SENT_NOT_COMMITTED, Fault.MOVED_PARTITION])
async def test_an_orchestration_calls_each_agent_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, fault: Fault, target: str
) -> None:
    """Also where its episode is made twice: in each run one is."""
    monkeypatch.setenv("SCRIPT_LOG", str(tmp_path / "asked.txt"))
    for number in numbers(seed, 1):
        unkind = Seeded(number, FASTER)
        unkind.arm(fault, target)
        assert await calls_of_models(tmp_path / "asked.txt", unkind) == CALLS
