"""The app on the local host's engine, in this process, while the engine does by chance what the real one may do.

The gate tries a few seeds, `--explore` many. A seed that fails is said, with the faults that struck.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import azure.durable_functions as df
import pytest

from devhost.durable.unkind import Fault, Seeded
from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent
from tests.support.engine_app import engine_app
from tests.support.made_app import app_of
from tests.support.orchestrations_more import Steps, register
from tests.support.seeds import repeated

pytestmark = pytest.mark.behaviour("engine.unkind-app")

GUARD_SECONDS = 10.0
FASTER = 300
"""A minute of the engine's waiting is a fifth of a second."""


def numbers(seed: int, in_the_gate: int) -> list[int]:
    """Return the seeds of the engine that a run tries."""
    return [1000 * seed + number for number in range(repeated(in_the_gate, exploring=100))]


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
