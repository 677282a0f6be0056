"""Instances whose code does not answer: they can be terminated, and while suspended they do not fail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping

import pytest

from devhost.durable import events
from devhost.durable.records import Status
from devhost.ports import DurableKind, FunctionFailedError
from tests.devhost.durable.running_engine import RunningEngine, running
from tests.support.engine_clocks import ManualClock

Act = Callable[[], Awaitable[str]]
SIGNAL = {"actionType": 9, "instanceId": "@e@k", "operation": "x", "input": "1"}
TIMER = {"actionType": 5, "fireAt": "2030-01-01T00:00:00Z", "isCanceled": False}


def _answer(*actions: dict[str, object], **more: object) -> str:
    return json.dumps({"isDone": False, "actions": [actions], "schemaVersion": 2, **more})


async def times_out() -> str:
    raise FunctionFailedError("FunctionTimeoutException: Timeout value of 00:00:05 was exceeded by function: f")


async def raises() -> str:
    raise FunctionFailedError("ValueError: bad")


async def hangs() -> str:
    await asyncio.Event().wait()
    return ""


def answers(text: str) -> Act:
    async def act() -> str:
        return text

    return act


WAIT = {"actionType": 6, "externalEventName": "go"}
waits = answers(_answer(SIGNAL, WAIT))
FAILING = {
    "raises": raises,
    "answers rubbish": answers("rubbish"),
    "answers another history": answers(_answer(TIMER)),
    "sets a long status": answers(_answer(SIGNAL, customStatus="x" * 20_000)),
    "calls nobody": answers(_answer(SIGNAL, {"actionType": 0, "functionName": "nobody", "input": "1"})),
}


class TurnsBad:
    """An app of one orchestrator, `code`, which sends a signal and waits for the event `go` until it is made bad."""

    def __init__(self) -> None:
        self.act: Act = waits
        self.calls = 0

    def names(self, kind: DurableKind) -> Mapping[str, str]:
        return {"orchestrator": {"code": "code"}, "entity": {"e": "e"}}.get(kind, {})

    async def call(self, kind: DurableKind, name: str, payload: str) -> str:
        if kind == "entity":
            return json.dumps({"entityExists": True, "entityState": "1", "results": [{"result": "1"}]})
        self.calls += 1
        return await self.act()


async def _until(engine: RunningEngine, kind: type[events.Event]) -> Status:
    """Return the instance's status once its history has such an event."""

    async def is_there() -> bool:
        stored = await engine.store.orchestration("i")
        return stored is not None and any(isinstance(event, kind) for event in stored.history)

    await engine.store.until(is_there)
    stored = await engine.store.orchestration("i")
    assert stored is not None
    return stored.instance.status


@pytest.mark.behaviour("engine.terminated")
@pytest.mark.parametrize("act", [hangs, times_out, FAILING["answers rubbish"]])
async def test_terminating_ends_an_instance_whatever_its_code_would_do(act: Act) -> None:
    """It waits for an event, and turns bad; the code is not asked any more."""
    functions = TurnsBad()
    async with running(functions) as engine:
        await engine.hub.start("code", "i", None)
        await _until(engine, events.EventSent)
        functions.act = act
        await engine.hub.terminate("i", "enough")
        ended = await engine.store.until_ended("i")
    assert (ended.status, ended.output, functions.calls) == (Status.TERMINATED, '"enough"', 1)


@pytest.mark.behaviour("engine.suspended")
@pytest.mark.parametrize("act", FAILING.values(), ids=FAILING)
async def test_a_suspended_instance_fails_when_it_is_resumed_and_not_before(act: Act) -> None:
    """Its code turns bad meanwhile, with an event to take; whatever way it fails in, resuming ends it."""
    functions = TurnsBad()
    async with running(functions) as engine:
        await engine.hub.start("code", "i", None)
        await _until(engine, events.EventSent)
        functions.act = act
        await engine.hub.suspend("i", "pause")
        assert await _until(engine, events.ExecutionSuspended) is Status.SUSPENDED
        await engine.hub.raise_event("i", "go", "1")
        assert await _until(engine, events.EventRaised) is Status.SUSPENDED
        await engine.hub.resume("i", None)
        ended = await engine.store.until_ended("i")
    assert ended.status is Status.FAILED


@pytest.mark.behaviour("engine.suspended")
async def test_a_suspended_instance_that_times_out_is_not_tried_again_until_it_is_resumed() -> None:
    """What arrives is received all the same; resumed, and good again, it goes on from there."""
    clock, functions = ManualClock(), TurnsBad()
    async with running(functions, clock=clock) as engine:
        await engine.hub.start("code", "i", None)
        await _until(engine, events.EventSent)
        functions.act = times_out
        await engine.hub.suspend("i", "pause")
        assert await _until(engine, events.ExecutionSuspended) is Status.SUSPENDED
        await engine.hub.raise_event("i", "go", "1")
        assert await _until(engine, events.EventRaised) is Status.SUSPENDED
        assert (clock.alarms, functions.calls) == ([], 3)
        functions.act = waits
        await engine.hub.resume("i", None)
        assert await _until(engine, events.ExecutionResumed) is Status.RUNNING
