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


async def breaks() -> str:
    raise OSError("no file handle is left")


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


@pytest.mark.behaviour("engine.terminated")
@pytest.mark.parametrize("act", [hangs, times_out, FAILING["answers rubbish"]])
async def test_terminating_ends_an_instance_whatever_its_code_would_do(act: Act) -> None:
    """It waits for an event, and turns bad; the code is not asked any more."""
    functions = TurnsBad()
    async with running(functions) as engine:
        await engine.hub.start("code", "i", None)
        await engine.until_event("i", events.EventSent)
        functions.act = act
        await engine.hub.terminate("i", "enough")
        assert await engine.ended("i") == ("Terminated", "enough")
    assert functions.calls == 1


@pytest.mark.behaviour("engine.terminated")
async def test_a_termination_does_not_wait_until_a_failing_orchestrator_is_tried_again() -> None:
    """It ends at once, although the next try is seconds away."""
    clock, functions = ManualClock(), TurnsBad()
    functions.act = times_out
    async with running(functions, clock=clock) as engine:
        await engine.hub.start("code", "i", None)
        assert await clock.next_alarm() == 3.0
        await engine.hub.terminate("i", "enough")
        assert await engine.ended("i") == ("Terminated", "enough")


@pytest.mark.behaviour("engine.stalls-not-loses")
async def test_a_fault_of_the_host_itself_fails_no_instance() -> None:
    """The instance is tried again, and goes on."""
    clock, functions = ManualClock(), TurnsBad()
    functions.act = breaks
    async with running(functions, clock=clock) as engine:
        await engine.hub.start("code", "i", None)
        assert await clock.next_alarm() == 3.0
        functions.act = answers(json.dumps({"isDone": True, "actions": [[]], "output": 1, "schemaVersion": 2}))
        clock.advance(3)
        assert await engine.ended("i") == ("Completed", 1)


async def suspended(engine: RunningEngine, functions: TurnsBad, act: Act) -> None:
    """Have an instance be suspended, with an event to take, and its code turn bad meanwhile."""
    await engine.hub.start("code", "i", None)
    await engine.until_event("i", events.EventSent)
    functions.act = act
    await engine.hub.suspend("i", "pause")
    assert await engine.until_event("i", events.ExecutionSuspended) is Status.SUSPENDED
    await engine.hub.raise_event("i", "go", "1")
    assert await engine.until_event("i", events.EventRaised) is Status.SUSPENDED


@pytest.mark.behaviour("engine.suspended")
@pytest.mark.parametrize("act", FAILING.values(), ids=FAILING)
async def test_a_suspended_instance_fails_when_it_is_resumed_and_not_before(act: Act) -> None:
    """Whatever way its code fails in, resuming ends it."""
    functions = TurnsBad()
    async with running(functions) as engine:
        await suspended(engine, functions, act)
        await engine.hub.resume("i", None)
        assert (await engine.store.until_ended("i")).status is Status.FAILED


@pytest.mark.behaviour("engine.suspended")
async def test_a_suspended_instance_that_times_out_is_not_tried_again_until_it_is_resumed() -> None:
    """What arrives is received all the same; resumed, and good again, it goes on from there."""
    clock, functions = ManualClock(), TurnsBad()
    async with running(functions, clock=clock) as engine:
        await suspended(engine, functions, times_out)
        assert (clock.alarms, functions.calls) == ([], 3)
        functions.act = waits
        await engine.hub.resume("i", None)
        assert await engine.until_event("i", events.ExecutionResumed) is Status.RUNNING
