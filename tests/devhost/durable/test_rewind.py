"""Rewind: a failed instance runs again from what had succeeded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator
from typing import Any

import azure.durable_functions as df
import pytest

from devhost.durable.records import Status
from tests.devhost.durable.running_engine import RunningEngine, running
from tests.devhost.durable.sdk_functions import SdkFunctions

pytestmark = pytest.mark.behaviour("engine.rewind")
Steps = Generator[Any, Any, Any]


class Weather:
    """An app whose activity `fly` fails while it is `bad`; counts what its activities did."""

    def __init__(self) -> None:
        self.is_bad = True
        self.done: Counter[str] = Counter()
        app = df.DFApp()

        @app.activity_trigger(input_name="x")
        def pack(x: str) -> str:
            self.done[f"pack {x}"] += 1
            return x

        @app.activity_trigger(input_name="x")
        def fly(x: str) -> str:
            if self.is_bad:
                raise ValueError("storm")
            self.done[f"fly {x}"] += 1
            return f"{x} is there"

        @app.orchestration_trigger(context_name="c")
        def leg(c: df.DurableOrchestrationContext) -> Steps:
            packed = yield c.call_activity("pack", c.instance_id)
            return (yield c.call_activity("fly", packed))

        @app.orchestration_trigger(context_name="c")
        def journey(c: df.DurableOrchestrationContext) -> Steps:
            yield c.call_activity("pack", "all")
            return (yield c.task_all([c.call_sub_orchestrator("leg", None, f"leg-{number}") for number in range(2)]))

        @app.orchestration_trigger(context_name="c")
        def waiting_leg(c: df.DurableOrchestrationContext) -> Steps:
            return (yield c.wait_for_external_event("go"))

        @app.orchestration_trigger(context_name="c")
        def waiting_journey(c: df.DurableOrchestrationContext) -> Steps:
            return (yield c.call_sub_orchestrator("waiting_leg", None, "waiting"))

        self.functions = SdkFunctions(app)


async def _fail(engine: RunningEngine, name: str) -> None:
    await engine.hub.start(name, name, None)
    assert (await engine.store.until_ended(name)).status is Status.FAILED


async def test_failed_sub_orchestrations_are_rewound_with_their_parent() -> None:
    """Both legs failed; each repeats its flight alone, and the parent waits for both."""
    weather = Weather()
    async with running(weather.functions) as engine:
        await _fail(engine, "journey")
        weather.is_bad = False
        await engine.hub.rewind("journey", None)
        ended = await engine.store.until_ended("journey")
    assert json.loads(ended.output or "") == ["leg-0 is there", "leg-1 is there"]
    assert set(weather.done.values()) == {1}


async def test_a_terminated_child_is_asked_for_anew() -> None:
    """It is another execution under the same id, not the terminated one told to start twice."""
    weather = Weather()
    weather.is_bad = False
    async with running(weather.functions) as engine:
        await engine.hub.start("waiting_journey", "journey", None)
        await engine.store.until(lambda: _is_live(engine, "waiting"))
        await engine.hub.terminate("waiting", "no more")
        assert (await engine.store.until_ended("journey")).status is Status.FAILED
        await engine.hub.rewind("journey", None)
        await engine.store.until(lambda: _is_live(engine, "waiting"))
        await engine.hub.raise_event("waiting", "go", "1")
        ended = await engine.store.until_ended("journey")
    assert (ended.status, ended.output) == (Status.COMPLETED, "1")


async def _is_live(engine: RunningEngine, instance_id: str) -> bool:
    stored = await engine.store.orchestration(instance_id)
    return stored is not None and not stored.instance.status.is_terminal
