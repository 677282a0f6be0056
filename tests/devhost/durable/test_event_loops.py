"""Loops that wait for an event or a timer and continue as new: each event once, and no episode without a cause."""

from __future__ import annotations

import json
from collections.abc import Generator
from datetime import timedelta
from typing import Any

import azure.durable_functions as df
import pytest

from devhost.durable import events
from tests.devhost.durable.running_engine import RunningEngine, running
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.engine_clocks import ManualClock

pytestmark = pytest.mark.behaviour("engine.event-loops")
Steps = Generator[Any, Any, Any]
HOUR = timedelta(hours=1)


def _functions() -> SdkFunctions:
    app = df.DFApp()

    def loop(c: df.DurableOrchestrationContext, cancels: bool) -> Steps:
        seen = c.get_input() or []
        late = c.create_timer(c.current_utc_datetime + HOUR)
        event = c.wait_for_external_event("go")
        winner = yield c.task_any([event, late])
        if winner == late:
            return seen
        if cancels:
            late.cancel()
        c.continue_as_new([*seen, event.result])
        return None

    @app.orchestration_trigger(context_name="c")
    def cancelling(c: df.DurableOrchestrationContext) -> Steps:
        return (yield from loop(c, cancels=True))

    @app.orchestration_trigger(context_name="c")
    def forgetful(c: df.DurableOrchestrationContext) -> Steps:
        return (yield from loop(c, cancels=False))

    return SdkFunctions(app)


async def _waits(engine: RunningEngine, seen: list[int]) -> None:
    """Return once the execution that has seen these waits for its timer."""

    async def is_there() -> bool:
        stored = await engine.store.orchestration("loop")
        if stored is None or json.loads(stored.instance.input or "null") != (json.dumps(seen) if seen else None):
            return False
        return any(isinstance(event, events.TimerCreated) for event in stored.history)

    await engine.store.until(is_there)


@pytest.mark.behaviour("engine.carried-events")
async def test_events_raised_at_once_are_taken_one_by_one_in_their_order() -> None:
    """What arrives behind the one that won is for the next execution."""
    clock, functions = ManualClock(), _functions()
    async with running(functions, clock=clock) as engine:
        await engine.hub.start("cancelling", "loop", None)
        await _waits(engine, [])
        for number in ("1", "2", "3"):
            await engine.hub.raise_event("loop", "go", number)
        await _waits(engine, [1, 2, 3])
        clock.advance(HOUR.total_seconds())
        ended = await engine.store.until_ended("loop")
    assert ended.output == "[1,2,3]"
