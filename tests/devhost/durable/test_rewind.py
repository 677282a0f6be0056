"""Rewind: a failed instance runs again from what had succeeded, and the ids of all its requests stay in step."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Generator
from typing import Any

import azure.durable_functions as df
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devhost.durable import events
from devhost.durable.records import (
    EventMessage,
    Outgoing,
    Rewind,
    Status,
    Step,
    orchestration_target,
)
from tests.devhost.durable.running_engine import RunningEngine, running
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.engine_clocks import START, FastClock
from tests.support.memory_store import MemoryStore
from tests.support.seeds import repeated

Steps = Generator[Any, Any, Any]


class Weather:
    """An app whose activity `fly` fails for as many times as a plane has storms."""

    def __init__(self, **storms: int) -> None:
        self.storms, self.flights, self.packed = Counter(storms), Counter[str](), Counter[str]()
        app = df.DFApp()

        @app.activity_trigger(input_name="x")
        def pack(x: str) -> str:
            self.packed[x] += 1
            return x

        @app.activity_trigger(input_name="x")
        def fly(x: str) -> str:
            self.flights[x] += 1
            if self.storms[x]:
                self.storms[x] -= 1
                raise ValueError("storm")
            return f"{x} is there"

        @app.entity_trigger(context_name="context", entity_name="tower")
        def tower(context: df.DurableEntityContext) -> None:
            context.set_state(context.get_state(lambda: 0) + 1)
            context.set_result(context.get_state(lambda: 0))

        def orchestrator(function: Any) -> Any:
            return app.orchestration_trigger(context_name="c")(function)

        @orchestrator
        def leg(c: df.DurableOrchestrationContext) -> Steps:
            packed = yield c.call_activity("pack", c.get_input())
            return (yield c.call_activity_with_retry("fly", df.RetryOptions(20, 2), packed))

        @orchestrator
        def journey(c: df.DurableOrchestrationContext) -> Steps:
            yield c.call_activity("pack", "all")
            named = c.call_sub_orchestrator("leg", "a", "leg-a")
            return (yield c.task_all([named, c.call_sub_orchestrator_with_retry("leg", df.RetryOptions(20, 2), "b")]))

        @orchestrator
        def aside(c: df.DurableOrchestrationContext) -> Steps:
            """Asks an entity and a child when the one attempt of `a` has failed, and looks at `a` only then."""
            flight = c.call_activity_with_retry("fly", df.RetryOptions(20, 1), "a")
            yield c.task_any([flight, c.call_activity("pack", "aside")])
            yield c.wait_for_external_event("go")
            count = yield c.call_entity(df.EntityId("tower", "t"), "add")
            child = yield c.call_sub_orchestrator_with_retry("leg", df.RetryOptions(20, 1), "b")
            return [count, child, (yield flight)]

        @orchestrator
        def waits(c: df.DurableOrchestrationContext) -> Steps:
            return (yield c.wait_for_external_event("go"))

        @orchestrator
        def lands(c: df.DurableOrchestrationContext) -> Steps:
            yield c.call_activity("fly", "a")
            return (yield c.wait_for_external_event("go"))

        @orchestrator
        def asks(c: df.DurableOrchestrationContext) -> Steps:
            return (yield c.call_sub_orchestrator("waits", None, "kid"))

        @orchestrator
        def play(c: df.DurableOrchestrationContext) -> Steps:
            """Make calls, stages one after another, those of a stage side by side."""
            results = []
            for number, stage in enumerate(c.get_input()):
                calls = [_call_of(c, f"{number} {name}", *call) for name, call in stage.items()]
                results += yield c.task_all(calls)
            return results

        self.functions = SdkFunctions(app)


def _call_of(c: df.DurableOrchestrationContext, name: str, kind: str, attempts: int, milliseconds: int, _: int) -> Any:
    options = df.RetryOptions(milliseconds, attempts)
    match kind:
        case "activity":
            return c.call_activity("fly", name)
        case "retried activity":
            return c.call_activity_with_retry("fly", options, name)
        case "child":
            return c.call_sub_orchestrator("leg", name)
        case "retried child":
            return c.call_sub_orchestrator_with_retry("leg", options, name)
    return c.call_sub_orchestrator_with_retry("leg", options, name, f"child {name}")


async def ends(engine: RunningEngine, instance_id: str, status: Status) -> Any:
    ended, output = await engine.ended(instance_id)
    assert ended == status.value, output
    return output


async def is_live(engine: RunningEngine, instance_id: str) -> bool:
    stored = await engine.store.orchestration(instance_id)
    return stored is not None and not stored.instance.status.is_terminal


@pytest.mark.behaviour("engine.rewind")
@pytest.mark.behaviour("engine.rewind-retries")
async def test_failed_sub_orchestrations_are_rewound_with_their_parent_as_often_as_they_fail() -> None:
    """Within each the last flight is repeated and nothing is packed again; a retried one is another at each try."""
    weather = Weather(a=3, b=4)
    async with running(weather.functions) as engine:
        await engine.hub.start("journey", "i", None)
        await ends(engine, "i", Status.FAILED)
        await engine.hub.rewind("i", "the sun shines")
        await ends(engine, "i", Status.FAILED)
        await engine.hub.rewind("i", None)
        assert await ends(engine, "i", Status.COMPLETED) == ["a is there", "b is there"]
    assert (weather.flights, weather.packed) == ({"a": 4, "b": 5}, {"all": 1, "a": 1, "b": 2})


@pytest.mark.behaviour("engine.rewind")
async def test_a_terminated_child_is_asked_for_anew() -> None:
    """It is another execution under the same id, not the terminated one told to start twice."""
    async with running(Weather().functions) as engine:
        await engine.hub.start("asks", "i", None)
        await engine.store.until(lambda: is_live(engine, "kid"))
        await engine.hub.terminate("kid", "no more")
        await ends(engine, "i", Status.FAILED)
        await engine.hub.rewind("i", None)
        await engine.store.until(lambda: is_live(engine, "kid"))
        await engine.hub.raise_event("kid", "go", "1")
        assert await ends(engine, "i", Status.COMPLETED) == 1


@pytest.mark.behaviour("engine.rewind")
async def test_what_comes_behind_a_rewind_is_taken_by_what_was_rewound() -> None:
    """Also where both wait for the next host."""
    inner, functions, target = MemoryStore(), Weather(a=1).functions, orchestration_target("i")
    async with running(functions, inner=inner) as engine:
        await engine.hub.start("lands", "i", None)
        await ends(engine, "i", Status.FAILED)
    raised = EventMessage(events.EventRaised(timestamp=START, name="go", input="1"))
    await inner.commit(Step(produced=(Outgoing(target, Rewind("again")), Outgoing(target, raised))))
    async with running(functions, inner=inner) as engine:
        assert await ends(engine, "i", Status.COMPLETED) == 1


@pytest.mark.behaviour("engine.rewind-retries")
async def test_requests_behind_a_call_that_ran_out_keep_their_results_under_new_ids() -> None:
    """The entity's reply is found under the id that was sent; a failed child is asked for anew under its new id."""
    weather = Weather(a=1, b=2)
    async with running(weather.functions) as engine:
        await engine.hub.start("aside", "i", None)
        await engine.until_event("i", events.TimerFired)
        await engine.hub.raise_event("i", "go", "1")
        await ends(engine, "i", Status.FAILED)
        await engine.hub.rewind("i", None)
        assert await ends(engine, "i", Status.COMPLETED) == [1, "b is there", "a is there"]
    assert (weather.flights, weather.packed) == ({"a": 2, "b": 3}, {"aside": 1, "b": 2})


Stage = dict[str, list[Any]]
MOST_REWINDS = 50
KINDS = st.sampled_from(["activity", "retried activity", "child", "retried child", "retried child with an id"])
CALL = st.tuples(KINDS, st.integers(1, 4), st.sampled_from([5, 20, 60, 150]), st.integers(0, 7)).map(list)
STAGE = st.lists(CALL, min_size=1, max_size=4).map(lambda calls: {f"call{n}": call for n, call in enumerate(calls)})


async def played(program: list[Stage]) -> tuple[Status, Any, list[str], Counter[str]]:
    """Return how the program ended, with what, the names of its calls, and how often each succeeded."""
    calls = {f"{number} {name}": call for number, stage in enumerate(program) for name, call in stage.items()}
    storms = {name: call[3] for name, call in calls.items()}
    weather = Weather(**storms)
    async with running(weather.functions, clock=FastClock(50)) as engine:
        await engine.hub.start("play", "p", json.dumps(json.dumps(program)))
        for _ in range(MOST_REWINDS):
            ended = await engine.store.until_ended("p")
            if ended.status is not Status.FAILED or "storm" not in (ended.output or ""):
                break
            await engine.hub.rewind("p", None)
    weather.flights.subtract(storms)
    return ended.status, json.loads(ended.output or ""), list(calls), weather.flights


@pytest.mark.slow
@pytest.mark.behaviour("engine.rewind-retries")
@settings(
    max_examples=repeated(12, exploring=600), deadline=None, suppress_health_check=list(HealthCheck), database=None
)
@given(program=st.lists(STAGE, min_size=1, max_size=3))
def test_a_program_of_failing_calls_ends_after_so_many_rewinds(program: list[Stage]) -> None:
    """With every result, each of which was worked for once; a rewind that loses count fails or hangs."""
    status, output, names, done = asyncio.run(played(program))
    assert (status, output) == (Status.COMPLETED, [f"{name} is there" for name in names])
    assert done == dict.fromkeys(names, 1)
