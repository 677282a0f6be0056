"""Programs made by hypothesis, of calls that fail so many times: rewound again and again, each one ends."""

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

from devhost.durable.records import Orchestration, Status
from tests.devhost.durable.running_engine import running
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.engine_clocks import FastClock
from tests.support.seeds import repeated

Steps = Generator[Any, Any, Any]
Stage = dict[str, list[Any]]
_MOST_REWINDS = 50

_KINDS = st.sampled_from(["activity", "retried activity", "child", "retried child", "retried child with an id"])
_CALL = st.tuples(_KINDS, st.integers(1, 4), st.sampled_from([5, 20, 60, 150]), st.integers(0, 7)).map(list)
_STAGE = st.lists(_CALL, min_size=1, max_size=4).map(lambda calls: {f"call{n}": call for n, call in enumerate(calls)})
PROGRAMS = st.lists(_STAGE, min_size=1, max_size=3)


def _build_app(fails: Counter[str], done: Counter[str]) -> df.DFApp:
    """Return an app that plays a program: stages one after another, the calls of a stage side by side."""
    app = df.DFApp()

    @app.activity_trigger(input_name="x")
    def fly(x: str) -> str:
        if fails[x]:
            fails[x] -= 1
            raise ValueError("storm")
        done[x] += 1
        return x

    @app.orchestration_trigger(context_name="c")
    def leg(c: df.DurableOrchestrationContext) -> Steps:
        return (yield c.call_activity_with_retry("fly", df.RetryOptions(20, 2), c.get_input()))

    @app.orchestration_trigger(context_name="c")
    def play(c: df.DurableOrchestrationContext) -> Steps:
        results = []
        for number, stage in enumerate(c.get_input()):
            calls = [_call(c, f"{number} {name}", *call) for name, call in stage.items()]
            results += yield c.task_all(calls)
        return results

    return app


def _call(c: df.DurableOrchestrationContext, name: str, kind: str, attempts: int, milliseconds: int, _: int) -> Any:
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


async def _play(program: list[Stage]) -> tuple[Orchestration, Counter[str], list[str]]:
    """Return how the program ended, what was done how often, and the names of its calls."""
    calls = {f"{number} {name}": call for number, stage in enumerate(program) for name, call in stage.items()}
    done: Counter[str] = Counter()
    fails = Counter({name: call[3] for name, call in calls.items()})
    async with running(SdkFunctions(_build_app(fails, done)), clock=FastClock(50)) as engine:
        await engine.hub.start("play", "p", json.dumps(json.dumps(program)))
        for _ in range(_MOST_REWINDS):
            ended = await engine.store.until_ended("p")
            if ended.status is not Status.FAILED or "storm" not in (ended.output or ""):
                break
            await engine.hub.rewind("p", None)
    return ended, done, list(calls)


@pytest.mark.slow
@pytest.mark.behaviour("engine.rewind-retries")
@settings(
    max_examples=repeated(12, exploring=600),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
    print_blob=True,
)
@given(program=PROGRAMS)
def test_a_program_of_failing_calls_ends_after_so_many_rewinds(program: list[Stage]) -> None:
    """With every result, each of which was worked for once; a rewind that loses count fails or hangs."""
    ended, done, names = asyncio.run(_play(program))
    assert (ended.status, json.loads(ended.output or "")) == (Status.COMPLETED, names)
    assert done == dict.fromkeys(names, 1)
