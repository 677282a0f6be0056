"""Rewind of calls with a retry policy: the last attempt is repeated, and the ids of all others stay in step."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator
from typing import Any

import azure.durable_functions as df
import pytest

from devhost.durable import events
from devhost.durable.events import read_event, show_event, write_event
from devhost.durable.records import Status
from tests.devhost.durable.running_engine import RunningEngine, running
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.engine_clocks import START

pytestmark = pytest.mark.behaviour("engine.rewind-retries")
Steps = Generator[Any, Any, Any]


def _options(attempts: int, milliseconds: int = 20) -> df.RetryOptions:
    return df.RetryOptions(milliseconds, attempts)


class Weather:
    """An app whose activity `fly` fails while the number of its flights is below `good_from`, counted by plane."""

    def __init__(self) -> None:
        self.good_from: dict[str, int] = {}
        self.flights: Counter[str] = Counter()
        self.packed: Counter[str] = Counter()
        app = df.DFApp()

        @app.activity_trigger(input_name="x")
        def pack(x: str) -> str:
            self.packed[x] += 1
            return x

        @app.activity_trigger(input_name="x")
        def fly(x: str) -> str:
            self.flights[x] += 1
            if self.flights[x] < self.good_from.get(x, 1):
                raise ValueError(f"storm {self.flights[x]}")
            return f"{x} is there"

        @app.entity_trigger(context_name="context", entity_name="tower")
        def tower(context: df.DurableEntityContext) -> None:
            context.set_state(context.get_state(lambda: 0) + 1)
            context.set_result(context.get_state(lambda: 0))

        def orchestrator(function: Any) -> Any:
            return app.orchestration_trigger(context_name="c")(function)

        @orchestrator
        def one(c: df.DurableOrchestrationContext) -> Steps:
            yield c.call_activity("pack", "one")
            flown = yield c.call_activity_with_retry("fly", _options(3), "one")
            return [flown, (yield c.call_activity("pack", "end"))]

        @orchestrator
        def many(c: df.DurableOrchestrationContext) -> Steps:
            """`a` runs out first: the timer behind it comes between the attempts of `b`."""
            yield c.call_activity("pack", "many")
            flights = [
                c.call_activity_with_retry("fly", _options(1), "a"),
                c.call_activity_with_retry("fly", _options(4), "b"),
                c.call_activity_with_retry("fly", _options(2, 50), "c"),
                c.call_activity("pack", "d"),
            ]
            return [(yield c.task_all(flights)), (yield c.call_activity("pack", "end"))]

        @orchestrator
        def survivor(c: df.DurableOrchestrationContext) -> Steps:
            """Its retries succeed; a call without any fails it."""
            return [(yield c.call_activity_with_retry("fly", _options(3), "a")), (yield c.call_activity("fly", "b"))]

        @orchestrator
        def leg(c: df.DurableOrchestrationContext) -> Steps:
            packed = yield c.call_activity("pack", c.get_input())
            return (yield c.call_activity_with_retry("fly", _options(2), packed))

        @orchestrator
        def parent(c: df.DurableOrchestrationContext) -> Steps:
            named = c.call_sub_orchestrator_with_retry("leg", _options(2), "named", "leg-named")
            return (yield c.task_all([named, c.call_sub_orchestrator_with_retry("leg", _options(2), "x")]))

        @orchestrator
        def aside(c: df.DurableOrchestrationContext) -> Steps:
            """Asks an entity and a child when the one attempt of `a` has failed, and looks at `a` only then."""
            flight = c.call_activity_with_retry("fly", _options(1), "a")
            yield c.task_any([flight, c.call_activity("pack", "aside")])
            yield c.wait_for_external_event("go")
            count = yield c.call_entity(df.EntityId("tower", "t"), "add")
            child = yield c.call_sub_orchestrator_with_retry("leg", _options(1), "b")
            return [count, child, (yield flight)]

        self.functions = SdkFunctions(app)


async def _ends(engine: RunningEngine, name: str, status: Status) -> Any:
    ended = await engine.store.until_ended(name)
    assert ended.status is status, ended.output
    return json.loads(ended.output or "null")


@pytest.mark.parametrize("good_from", [{"a": 2}, {"a": 2, "c": 3}, {"a": 2, "b": 5, "c": 3}, {"a": 2, "b": 4}])
async def test_calls_that_run_out_side_by_side_are_rewound_together(good_from: dict[str, int]) -> None:
    """`a` fails for good while `b` and `c` are still trying: what they ask for after it moves up by an id."""
    weather = Weather()
    weather.good_from = good_from
    async with running(weather.functions) as engine:
        await engine.hub.start("many", "many", None)
        await _ends(engine, "many", Status.FAILED)
        await engine.hub.rewind("many", None)
        flights, end = await _ends(engine, "many", Status.COMPLETED)
    assert (flights, end) == (["a is there", "b is there", "c is there", "d"], "end")
    assert (weather.flights, set(weather.packed.values())) == ({"a": 1, "b": 1, "c": 1} | good_from, {1})


async def test_requests_behind_a_call_that_ran_out_keep_their_results_under_new_ids() -> None:
    """The entity's reply is found under the id that was sent; a failed child is asked for anew under its new id."""
    weather = Weather()
    weather.good_from = {"a": 2, "b": 3}
    async with running(weather.functions) as engine:
        await engine.hub.start("aside", "i", None)
        await engine.store.until(lambda: _has_fired(engine))
        await engine.hub.raise_event("i", "go", "1")
        await _ends(engine, "i", Status.FAILED)
        await engine.hub.rewind("i", None)
        assert await _ends(engine, "i", Status.COMPLETED) == [1, "b is there", "a is there"]
    assert (weather.flights, weather.packed) == ({"a": 2, "b": 3}, {"aside": 1, "b": 2})


async def _has_fired(engine: RunningEngine) -> bool:
    stored = await engine.store.orchestration("i")
    return stored is not None and any(isinstance(event, events.TimerFired) for event in stored.history)


def test_the_app_is_not_shown_which_attempts_belong_together() -> None:
    event = events.TimerCreated(timestamp=START, event_id=3, fire_at=START, retry_of=0)
    assert read_event(write_event(event)) == event
    assert write_event(event) == {**show_event(event), "RetryOf": 0}
    assert "RetryOf" not in show_event(event)
