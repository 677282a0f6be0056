"""Time: months of waiting, delayed signals, and a clock that jumps back."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Generator, Mapping
from datetime import datetime, timedelta
from typing import Any

import azure.durable_functions as df
import pytest

from devhost.durable.records import EntityId, Inbox, Target, TargetKind
from devhost.durable.texts import format_utc
from devhost.ports import DurableKind
from tests.devhost.durable.running_engine import RunningEngine, running
from tests.devhost.durable.scripted_functions import Journal
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.engine_clocks import START, ManualClock
from tests.support.memory_store import MemoryStore

DAY = 86_400.0
KEY = EntityId("counter", "k")


def _sleeper(days: float) -> SdkFunctions:
    app = df.DFApp()

    @app.orchestration_trigger(context_name="c")
    def sleep(c: df.DurableOrchestrationContext) -> Generator[Any, Any, Any]:
        began = c.current_utc_datetime
        yield c.create_timer(began + timedelta(days=days))
        return (c.current_utc_datetime - began).total_seconds()

    return SdkFunctions(app)


async def _status(engine: RunningEngine, instance_id: str) -> str:
    stored = await engine.hub.store.orchestration(instance_id)
    assert stored is not None
    return stored.instance.status.value


@pytest.mark.behaviour("engine.long-timers")
@pytest.mark.behaviour("engine.timers-on-time")
async def test_a_timer_of_months_fires_on_the_second_over_restarts() -> None:
    clock, inner, functions = ManualClock(), MemoryStore(), _sleeper(days=100)
    async with running(functions, clock=clock, inner=inner) as engine:
        await engine.hub.start("sleep", "s", None)
        await clock.next_alarm()
        clock.advance(30 * DAY)
    clock.advance(30 * DAY)
    async with running(functions, clock=clock, inner=inner) as engine:
        await clock.next_alarm()
        clock.advance(40 * DAY - 1)
        assert await _status(engine, "s") == "Running"
        clock.advance(1)
        assert (await engine.store.until_ended("s")).output == str(100 * DAY)
    assert len(functions.calls) == 2


@pytest.mark.behaviour("engine.clock-back")
async def test_a_clock_that_jumps_back_is_told_and_delays_timers_alone(caplog: pytest.LogCaptureFixture) -> None:
    """The timer fires at its time by the clock, once; other work goes on meanwhile."""
    clock = ManualClock()
    with caplog.at_level(logging.WARNING, "devhost.durable"):
        async with running(_sleeper(days=1), clock=clock) as engine:
            await engine.hub.start("sleep", "s", None)
            await clock.next_alarm()
            clock.advance(DAY - 10)
            clock.set_back(3600)
            clock.advance(60)
            assert await _status(engine, "s") == "Running"
            clock.advance(3600)
            assert (await engine.store.until_ended("s")).status.value == "Completed"
    assert "The clock went back by at least 3570 s; timers wait until it shows their time." in caplog.text


class _DelayedSignal:
    """An orchestrator that signals the entity with a time, which Python's SDK cannot ask for, and that entity."""

    def __init__(self, delay: timedelta) -> None:
        self.journal = Journal()
        self._due = format_utc(START + delay)

    def names(self, kind: DurableKind) -> Mapping[str, str]:
        return {"orchestrator": {"later": "later"}, "entity": {"counter": "counter"}}.get(kind, {})

    async def call(self, kind: DurableKind, name: str, payload: str) -> str:
        if kind == "entity":
            return await self.journal.answer(json.loads(payload))
        signal = {"actionType": 10, "instanceId": "@counter@k", "operation": "late", "input": "1", "fireAt": self._due}
        return json.dumps({"isDone": True, "schemaVersion": 2, "actions": [[signal]]})


@pytest.mark.behaviour("engine.delayed-signals")
async def test_a_delayed_signal_arrives_at_its_time_and_behind_what_came_before_it() -> None:
    """Its sender may have ended; a restart on the way changes nothing."""
    clock, inner, functions = ManualClock(), MemoryStore(), _DelayedSignal(timedelta(days=2))
    async with running(functions, clock=clock, inner=inner) as engine:
        await engine.hub.start("later", "l", None)
        await engine.store.until_ended("l")
        clock.advance(DAY)
    async with running(functions, clock=clock, inner=inner) as engine:
        await engine.hub.signal(KEY, "early", None)
        await engine.state_is(KEY, '["early"]')
        clock.advance(DAY)
        await engine.state_is(KEY, '["early", "late"]')


class _LateReads(MemoryStore):
    """Hands out one inbox only when the test says so; what came meanwhile is not in it."""

    def __init__(self) -> None:
        super().__init__()
        self.has_read = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def inbox(self, target: Target, now: datetime, limit: int) -> Inbox:
        found = await super().inbox(target, now, limit)
        if target.kind is TargetKind.ENTITY and not self.has_read.is_set():
            self.has_read.set()
            await self.may_answer.wait()
        return found


@pytest.mark.behaviour("engine.delayed-signals")
async def test_a_delayed_signal_that_is_sent_while_the_entity_is_read_is_not_forgotten() -> None:
    """The reader has not seen it, and must not conclude that nothing is to come."""
    clock, inner, functions = ManualClock(), _LateReads(), _DelayedSignal(timedelta(days=2))
    async with running(functions, clock=clock, inner=inner) as engine:
        await engine.hub.signal(KEY, "early", None)
        await asyncio.wait_for(inner.has_read.wait(), 5)
        await engine.hub.start("later", "l", None)
        await engine.store.until_ended("l")
        inner.may_answer.set()
        await engine.state_is(KEY, '["early"]')
        clock.advance(2 * DAY)
        await engine.state_is(KEY, '["early", "late"]')
