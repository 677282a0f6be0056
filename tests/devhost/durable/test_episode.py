"""What an orchestration asks for, and how it ends, by the real SDK: ids of retries, open work, what it may not ask."""

from __future__ import annotations

import json
from collections.abc import Generator
from datetime import timedelta
from typing import Any

import azure.durable_functions as df
import pytest

from devhost.durable.records import Status
from tests.devhost.durable.running_engine import RunningEngine, running
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.engine_clocks import ManualClock

Steps = Generator[Any, Any, Any]
LARGEST = "é" * 8190


def functions() -> SdkFunctions:
    app = df.DFApp()

    @app.activity_trigger(input_name="x")
    async def echo(x: Any) -> Any:
        return x

    @app.activity_trigger(input_name="x")
    async def storm(x: Any) -> Any:
        raise ValueError("no flight")

    @app.orchestration_trigger(context_name="c")
    def retries(c: df.DurableOrchestrationContext) -> Steps:
        return (yield c.call_activity_with_retry("storm", df.RetryOptions(5000, 2), "x"))

    @app.orchestration_trigger(context_name="c")
    def asks_nobody(c: df.DurableOrchestrationContext) -> Steps:
        return (yield c.task_all([c.call_activity("echo", "1"), c.call_activity("nobody", "1")]))

    @app.orchestration_trigger(context_name="c")
    def leaves(c: df.DurableOrchestrationContext) -> Steps:
        timer = c.create_timer(c.current_utc_datetime + timedelta(seconds=60))
        yield c.task_any([c.call_activity("echo", "1"), timer])
        return "first"

    @app.orchestration_trigger(context_name="c")
    def shows(c: df.DurableOrchestrationContext) -> Steps:
        c.set_custom_status(LARGEST)
        yield c.wait_for_external_event("go")
        c.set_custom_status(LARGEST + "é")
        yield c.wait_for_external_event("go")

    @app.orchestration_trigger(context_name="c")
    def goes_on(c: df.DurableOrchestrationContext) -> Steps:
        yield c.call_activity("echo", "1")
        if not c.get_input():
            c.continue_as_new("again")

    return SdkFunctions(app)


async def status_of(engine: RunningEngine) -> Status:
    stored = await engine.store.orchestration("i")
    assert stored is not None
    return stored.instance.status


@pytest.mark.behaviour("engine.retry-ids")
async def test_the_last_failure_sets_one_more_timer_that_fires_at_once() -> None:
    """Without it the SDK never learns that the retries are over."""
    clock = ManualClock()
    async with running(functions(), clock=clock) as engine:
        await engine.hub.start("retries", "i", None)
        assert await clock.next_alarm() == 5.0
        clock.advance(5)
        ended = await engine.store.until_ended("i")
        stored = await engine.store.orchestration("i")

    assert stored is not None
    requests = [type(event).__name__ for event in stored.history if event.event_id >= 0]
    assert requests == ["TaskScheduled", "TimerCreated"] * 2 + ["ExecutionCompleted"]
    assert ended.status is Status.FAILED


@pytest.mark.behaviour("engine.missing-by-name")
async def test_a_call_to_nobody_fails_the_instance_with_the_names_there_are() -> None:
    """Asked for in the middle of a compound, too: what was asked for before it is still carried out."""
    app = functions()
    async with running(app) as engine:
        await engine.hub.start("asks_nobody", "i", None)
        output = json.loads((await engine.store.until_ended("i")).output or "")

    assert output.startswith(
        "Orchestrator function 'asks_nobody' failed: The function 'nobody' doesn't exist, is disabl"
    )
    assert output.endswith("The following are the known activity functions: 'echo', 'storm'.")
    assert ("activity", "echo") in app.calls


@pytest.mark.behaviour("engine.open-work")
async def test_an_instance_with_open_work_ends_when_the_work_does() -> None:
    clock, app = ManualClock(), functions()
    async with running(app, clock=clock) as engine:
        await engine.hub.start("leaves", "i", None)
        await engine.store.until(lambda: has_returned(app))
        assert await status_of(engine) is Status.RUNNING
        await clock.next_alarm()
        clock.advance(60)
        ended = await engine.store.until_ended("i")

    assert (ended.status, ended.output) == (Status.COMPLETED, '"first"')


async def has_returned(app: SdkFunctions) -> bool:
    """Return whether the orchestrator was called a second time, which is its last."""
    return app.calls.count(("orchestrator", "leaves")) == 2


@pytest.mark.behaviour("engine.custom-status-limit")
async def test_a_custom_status_of_more_than_16_kb_fails_the_instance() -> None:
    async with running(functions()) as engine:
        await engine.hub.start("shows", "i", None)
        await engine.hub.raise_event("i", "go", "1")
        ended = await engine.store.until_ended("i")

    assert json.loads(ended.output or "") == (
        "Orchestrator function 'shows' failed: The size of the JSON-serialized payload must not exceed 16 KB of "
        "UTF-16 text."
    )
    assert json.loads(ended.custom_status or "") == LARGEST


@pytest.mark.behaviour("engine.wire-shapes")
async def test_what_the_past_has_received_is_marked_as_played_and_the_extra_end_of_a_continued_execution() -> None:
    """The event that continue-as-new left between the start and the first requests, and no other end."""
    app = functions()
    async with running(app) as engine:
        await engine.hub.start("goes_on", "i", None)
        await engine.store.until_ended("i")

    last = [json.loads(payload)["history"] for kind, payload in app.payloads if kind == "orchestrator"][-1]
    assert [(event["EventType"], event["IsPlayed"]) for event in last if event["EventType"] in (0, 13)] == [
        (0, True),
        (13, True),
        (13, False),
    ]
