"""Rewind: a failed instance runs again from what had succeeded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import azure.durable_functions as df
import pytest

from devhost.durable import events
from devhost.durable.hub import Accepted
from devhost.durable.intake import new_orchestration
from devhost.durable.records import Orchestration, Outgoing, Rewind, Status, orchestration_target
from devhost.durable.rewind import rewind
from tests.devhost.durable.episodes import started
from tests.devhost.durable.running_engine import RunningEngine, running
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.engine_clocks import START

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


async def test_a_rewound_instance_repeats_what_failed_and_nothing_else() -> None:
    """`pack` had succeeded: its result is taken from the history."""
    weather = Weather()
    async with running(weather.functions) as engine:
        await _fail(engine, "leg")
        weather.is_bad = False
        assert isinstance(await engine.hub.rewind("leg", "the sun shines"), Accepted)
        ended = await engine.store.until_ended("leg")
    assert (ended.status, ended.output) == (Status.COMPLETED, '"leg is there"')
    assert weather.done == {"pack leg": 1, "fly leg": 1}


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


async def test_what_fails_again_can_be_rewound_again() -> None:
    """The storm lasts; the third time it is over."""
    weather = Weather()
    async with running(weather.functions) as engine:
        await _fail(engine, "leg")
        await engine.hub.rewind("leg", None)
        assert (await engine.store.until_ended("leg")).status is Status.FAILED
        weather.is_bad = False
        await engine.hub.rewind("leg", None)
        assert (await engine.store.until_ended("leg")).status is Status.COMPLETED


async def test_a_child_that_is_gone_is_asked_for_anew() -> None:
    """Purged after its failure: nothing is left of it to rewind."""
    weather = Weather()
    async with running(weather.functions) as engine:
        await _fail(engine, "journey")
        await engine.store.until_ended("leg-1")
        await engine.hub.purge("leg-1")
        weather.is_bad = False
        await engine.hub.rewind("journey", None)
        ended = await engine.store.until_ended("journey")
    assert json.loads(ended.output or "") == ["leg-0 is there", "leg-1 is there"]
    assert weather.done["pack leg-1"] == 2


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


def test_the_failure_becomes_an_event_without_meaning_as_recorded() -> None:
    """In its place, under its id and time; the reason comes as another one, in the next episode."""
    start = started()
    ended = events.ExecutionCompleted(timestamp=START, event_id=1, status=Status.FAILED.number, result="bad")
    outcome = rewind(_instance(), [start, ended], "again", START, {})
    assert outcome.orchestration.status is Status.PENDING
    assert outcome.history.events == (start, events.GenericEvent(timestamp=START, event_id=1, text=None))
    received = outcome.outgoing[0].body
    assert getattr(received, "event", None) == events.GenericEvent(timestamp=START, text="again")


def _instance() -> Orchestration:
    return replace(new_orchestration(started()), status=Status.FAILED, output='"bad"')


def test_a_failed_child_keeps_its_request_and_is_told_instead_of_its_parent() -> None:
    """The parent goes on when the child ends; a child that cannot be rewound is asked for anew."""
    made = [events.ChildCreated(timestamp=START, event_id=at, name="leg", instance_id=f"leg-{at}") for at in range(2)]
    failed = [events.ChildFailed(timestamp=START, task_id=at, reason="bad", details=None) for at in range(2)]
    outcome = rewind(_instance(), [started(), *made, *failed], "why", START, {"leg-0": Status.FAILED})
    empty = events.GenericEvent(timestamp=START, text=None)
    assert outcome.history.events == (started(), made[0], replace(empty, event_id=1), empty, empty)
    assert outcome.outgoing == (Outgoing(orchestration_target("leg-0"), Rewind("why")),)
