"""Sub-orchestrations when one of the two ends before its time."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import azure.durable_functions as df
import pytest

from tests.devhost.durable.running_engine import RunningEngine, running
from tests.devhost.durable.sdk_functions import SdkFunctions

pytestmark = pytest.mark.behaviour("engine.children")
Steps = Generator[Any, Any, Any]


def _functions() -> SdkFunctions:
    app = df.DFApp()

    @app.orchestration_trigger(context_name="c")
    def child(c: df.DurableOrchestrationContext) -> Steps:
        return (yield c.wait_for_external_event("go"))

    @app.orchestration_trigger(context_name="c")
    def parent(c: df.DurableOrchestrationContext) -> Steps:
        try:
            return (yield c.call_sub_orchestrator("child", None, "kid"))
        except Exception as error:
            return str(error).partition(" \n ")[0]

    return SdkFunctions(app)


async def _runs(engine: RunningEngine, instance_id: str) -> None:
    async def has_run() -> bool:
        stored = await engine.store.orchestration(instance_id)
        return stored is not None and bool(stored.history)

    await engine.store.until(has_run)


async def test_a_terminated_child_fails_the_call_with_the_reason() -> None:
    """The parent may catch it, as any failure."""
    async with running(_functions()) as engine:
        await engine.hub.start("parent", "p", None)
        await _runs(engine, "kid")
        await engine.hub.terminate("kid", "no more")
        assert json.loads((await engine.store.until_ended("p")).output or "") == "no more"


async def test_children_of_a_terminated_parent_run_on() -> None:
    """Nobody waits for their result, which is theirs all the same."""
    async with running(_functions()) as engine:
        await engine.hub.start("parent", "p", None)
        await _runs(engine, "kid")
        await engine.hub.terminate("p", "enough")
        assert (await engine.store.until_ended("p")).status.value == "Terminated"
        await engine.hub.raise_event("kid", "go", "5")
        assert (await engine.store.until_ended("kid")).output == "5"


async def test_an_id_that_is_taken_is_refused_by_name() -> None:
    """At its parent, which the real host would leave waiting."""
    async with running(_functions()) as engine:
        await engine.hub.start("child", "kid", None)
        await _runs(engine, "kid")
        await engine.hub.start("parent", "p", None)
        assert json.loads((await engine.store.until_ended("p")).output or "") == (
            "An Orchestration instance with the ID kid and the status Running already exists."
        )
