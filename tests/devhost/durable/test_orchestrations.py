"""Orchestrations by the real SDK: retries, open work, children, loops of events, versions, and months of waiting."""

from __future__ import annotations

import json
import logging
from collections.abc import Generator
from datetime import timedelta
from typing import Any

import azure.durable_functions as df
import pytest

from devhost.durable import events
from devhost.durable.orchestrations import refusal
from devhost.durable.settings import DurableSettings
from tests.devhost.durable.running_engine import RunningEngine, running
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.engine_clocks import ManualClock
from tests.support.memory_store import MemoryStore

Steps = Generator[Any, Any, Any]
LARGEST = "é" * 8190
HOUR = 3600.0
DAY = 24 * HOUR


def functions() -> SdkFunctions:
    app = df.DFApp()

    def orchestrator(function: Any) -> Any:
        return app.orchestration_trigger(context_name="c")(function)

    @app.activity_trigger(input_name="x")
    async def echo(x: Any) -> Any:
        return x

    @app.activity_trigger(input_name="x")
    async def storm(x: Any) -> Any:
        raise ValueError("no flight")

    @orchestrator
    def retries(c: df.DurableOrchestrationContext) -> Steps:
        return (yield c.call_activity_with_retry("storm", df.RetryOptions(5000, 2), "x"))

    @orchestrator
    def asks_nobody(c: df.DurableOrchestrationContext) -> Steps:
        return (yield c.task_all([c.call_activity("echo", "1"), c.call_activity("nobody", "1")]))

    @orchestrator
    def leaves(c: df.DurableOrchestrationContext) -> Steps:
        timer = c.create_timer(c.current_utc_datetime + timedelta(seconds=60))
        yield c.task_any([c.call_activity("echo", "1"), timer])
        return "first"

    @orchestrator
    def shows(c: df.DurableOrchestrationContext) -> Steps:
        c.set_custom_status(LARGEST)
        yield c.wait_for_external_event("go")
        c.set_custom_status(LARGEST + "é")
        yield c.wait_for_external_event("go")

    @orchestrator
    def goes_on(c: df.DurableOrchestrationContext) -> Steps:
        yield c.call_activity("echo", "1")
        if not c.get_input():
            c.continue_as_new("again")

    @orchestrator
    def child(c: df.DurableOrchestrationContext) -> Steps:
        return (yield c.wait_for_external_event("go"))

    @orchestrator
    def parent(c: df.DurableOrchestrationContext) -> Steps:
        try:
            return (yield c.call_sub_orchestrator("child", None, "kid"))
        except Exception as error:
            return str(error).partition(" \n ")[0]

    @orchestrator
    def loop(c: df.DurableOrchestrationContext) -> Steps:
        seen = c.get_input() or []
        late = c.create_timer(c.current_utc_datetime + timedelta(hours=1))
        event = c.wait_for_external_event("go")
        if (yield c.task_any([event, late])) == late:
            return seen
        late.cancel()
        c.continue_as_new([*seen, event.result])

    @orchestrator
    def tell(c: df.DurableOrchestrationContext) -> str:
        return str(c.version)

    @orchestrator
    def ask(c: df.DurableOrchestrationContext) -> Steps:
        own = yield c.call_sub_orchestrator("tell")
        return [own, (yield c.call_sub_orchestrator("tell", version="0.9"))]

    @orchestrator
    def sleep(c: df.DurableOrchestrationContext) -> Steps:
        began = c.current_utc_datetime
        yield c.create_timer(began + timedelta(days=c.get_input()))
        return (c.current_utc_datetime - began).total_seconds()

    return SdkFunctions(app)


@pytest.mark.behaviour("engine.retry-ids")
async def test_the_last_failure_sets_one_more_timer_that_fires_at_once() -> None:
    """Without it the SDK never learns that the retries are over."""
    clock = ManualClock()
    async with running(functions(), clock=clock) as engine:
        await engine.hub.start("retries", "i", None)
        assert await clock.next_alarm() == 5.0
        clock.advance(5)
        status, _ = await engine.ended("i")
        stored = await engine.store.orchestration("i")

    assert stored is not None
    requests = [type(event).__name__ for event in stored.history if event.event_id >= 0]
    assert (status, requests) == ("Failed", ["TaskScheduled", "TimerCreated"] * 2 + ["ExecutionCompleted"])


@pytest.mark.behaviour("engine.missing-by-name")
async def test_a_call_to_nobody_fails_the_instance_with_the_names_there_are() -> None:
    """Asked for in the middle of a compound, too: what was asked for before it is still carried out."""
    app = functions()
    async with running(app) as engine:
        await engine.hub.start("asks_nobody", "i", None)
        _, output = await engine.ended("i")

    assert output.startswith(
        "Orchestrator function 'asks_nobody' failed: The function 'nobody' doesn't exist, is disabl"
    )
    assert output.endswith("The following are the known activity functions: 'echo', 'storm'.")
    assert ("activity", "echo") in app.calls


@pytest.mark.behaviour("engine.open-work")
async def test_an_instance_with_open_work_ends_when_the_work_does() -> None:
    clock, app = ManualClock(), functions()

    async def has_returned() -> bool:
        return app.calls.count(("orchestrator", "leaves")) == 2

    async with running(app, clock=clock) as engine:
        await engine.hub.start("leaves", "i", None)
        await engine.store.until(has_returned)
        assert (await engine.until_event("i")).value == "Running"
        await clock.next_alarm()
        clock.advance(60)
        assert await engine.ended("i") == ("Completed", "first")


@pytest.mark.behaviour("engine.custom-status-limit")
async def test_a_custom_status_of_more_than_16_kb_fails_the_instance() -> None:
    async with running(functions()) as engine:
        await engine.hub.start("shows", "i", None)
        await engine.hub.raise_event("i", "go", "1")
        _, output = await engine.ended("i")
        kept = await engine.store.until_ended("i")

    assert output == (
        "Orchestrator function 'shows' failed: The size of the JSON-serialized payload must not exceed 16 KB of "
        "UTF-16 text."
    )
    assert json.loads(kept.custom_status or "") == LARGEST


@pytest.mark.behaviour("engine.wire-shapes")
async def test_what_the_past_has_received_is_marked_as_played_and_the_extra_end_of_a_continued_execution() -> None:
    """The event that continue-as-new left between the start and the first requests, and no other end."""
    app = functions()
    async with running(app) as engine:
        await engine.hub.start("goes_on", "i", None)
        await engine.ended("i")

    last = [json.loads(payload)["history"] for kind, payload in app.payloads if kind == "orchestrator"][-1]
    played = [(event["EventType"], event["IsPlayed"]) for event in last if event["EventType"] in (0, 13)]
    assert played == [(0, True), (13, True), (13, False)]


@pytest.mark.behaviour("engine.children")
async def test_a_terminated_child_fails_the_call_with_the_reason_and_a_terminated_parent_ends_no_child() -> None:
    """The parent may catch it, as any failure. Nobody waits for the child's result, which is its own all the same."""
    async with running(functions()) as engine:

        async def child_runs() -> bool:
            stored = await engine.store.orchestration("kid")
            return stored is not None and bool(stored.history) and not stored.instance.status.is_terminal

        for parent, ended in (("p", "kid"), ("q", "q")):
            await engine.hub.start("parent", parent, None)
            await engine.store.until(child_runs)
            await engine.hub.terminate(ended, "no more")
            outcome = await engine.ended(parent)
            assert outcome == (("Completed" if ended == "kid" else "Terminated"), "no more")
        await engine.hub.raise_event("kid", "go", "5")
        assert await engine.ended("kid") == ("Completed", 5)


@pytest.mark.behaviour("engine.children")
async def test_an_id_that_is_taken_is_refused_by_name() -> None:
    """At its parent, which the real host would leave waiting."""
    async with running(functions()) as engine:
        await engine.hub.start("child", "kid", None)
        await engine.until_event("kid")
        await engine.hub.start("parent", "p", None)
        _, output = await engine.ended("p")

    assert output == "An Orchestration instance with the ID kid and the status Running already exists."


async def loop_waits(engine: RunningEngine, seen: list[int]) -> None:
    """Return once the execution that has seen these waits for its timer."""

    async def is_there() -> bool:
        stored = await engine.store.orchestration("loop")
        if stored is None or json.loads(stored.instance.input or "null") != (json.dumps(seen) if seen else None):
            return False
        return any(isinstance(event, events.TimerCreated) for event in stored.history)

    await engine.store.until(is_there)


@pytest.mark.behaviour("engine.event-loops")
@pytest.mark.behaviour("engine.carried-events")
async def test_events_raised_at_once_are_taken_one_by_one_in_their_order() -> None:
    """What arrives behind the one that won is for the next execution."""
    clock = ManualClock()
    async with running(functions(), clock=clock) as engine:
        await engine.hub.start("loop", "loop", None)
        await loop_waits(engine, [])
        for number in ("1", "2", "3"):
            await engine.hub.raise_event("loop", "go", number)
        await loop_waits(engine, [1, 2, 3])
        clock.advance(HOUR)
        assert await engine.ended("loop") == ("Completed", [1, 2, 3])


@pytest.mark.behaviour("engine.versions")
async def test_a_version_that_the_host_does_not_have_stays_pending_and_the_log_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """202 and Pending as recorded; once host.json names the version, it runs. A child has its own or its parent's."""
    inner = MemoryStore()
    with caplog.at_level(logging.ERROR, "devhost.durable"):
        async with running(functions(), inner=inner) as engine:
            reply = await engine.client.post("/orchestrators/tell/t?version=1.2")
            await engine.hub.start("tell", "other", None)
            await engine.ended("other")
            status = (await engine.client.get("/instances/t?showHistory=true")).json()
    async with running(functions(), inner=inner, settings=DurableSettings(default_version="1.2")) as engine:
        await engine.hub.start("ask", "a", None)
        ended = [await engine.ended(name) for name in ("t", "a")]

    assert (reply.status_code, status["runtimeStatus"], "historyEvents" in status) == (202, "Pending", False)
    why = "it was started with version 1.2, and extensions.durableTask.defaultVersion of host.json is not set"
    assert why in caplog.text
    assert ended == [("Completed", "1.2"), ("Completed", ["1.2", "0.9"])]


@pytest.mark.behaviour("engine.versions")
def test_versions_are_compared_part_by_part() -> None:
    runs = [(None, None), ("1.9", "1.10"), ("1.0", "1.0"), ("1.0-b", "1.0-B")]
    assert [pair for pair in (*runs, ("1.0", None), ("1.10", "1.9")) if refusal(*pair) is None] == runs


@pytest.mark.behaviour("engine.long-timers")
@pytest.mark.behaviour("engine.timers-on-time")
async def test_a_timer_of_months_fires_on_the_second_over_restarts() -> None:
    clock, inner, app = ManualClock(), MemoryStore(), functions()
    async with running(app, clock=clock, inner=inner) as engine:
        await engine.hub.start("sleep", "s", '"35"')
        await clock.next_alarm()
        clock.advance(15 * DAY)
    clock.advance(15 * DAY)
    async with running(app, clock=clock, inner=inner) as engine:
        await clock.next_alarm()
        clock.advance(5 * DAY - 1)
        assert (await engine.until_event("s")).value == "Running"
        clock.advance(1)
        assert await engine.ended("s") == ("Completed", 35 * DAY)
    assert len(app.calls) == 2


@pytest.mark.behaviour("engine.clock-back")
async def test_a_clock_that_jumps_back_is_told_and_delays_timers_alone(caplog: pytest.LogCaptureFixture) -> None:
    """The timer fires at its time by the clock, once; other work goes on meanwhile."""
    clock = ManualClock()
    with caplog.at_level(logging.WARNING, "devhost.durable"):
        async with running(functions(), clock=clock) as engine:
            await engine.hub.start("sleep", "s", '"1"')
            await clock.next_alarm()
            clock.advance(DAY - 10)
            clock.set_back(HOUR)
            clock.advance(60)
            assert (await engine.until_event("s")).value == "Running"
            clock.advance(HOUR)
            assert (await engine.ended("s"))[0] == "Completed"
    assert "The clock went back by at least 3570 s; timers wait until it shows their time." in caplog.text
