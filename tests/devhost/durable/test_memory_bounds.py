"""What may stay in memory: the most recently used, up to a weight; one time for each target that waits for one."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from devhost.durable.events import ExecutionStarted, TaskCompleted, TimerFired
from devhost.durable.intake import new_orchestration
from devhost.durable.ledger import Ledger, RecentlyUsed
from devhost.durable.records import EntityId, EventMessage, History, Status, Step, entity_target
from devhost.durable.store.contract import StoredOrchestration
from devhost.durable.worker import Timers
from tests.devhost.durable.running_engine import running
from tests.devhost.durable.scenario_app import build_app
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.engine_clocks import START, ManualClock
from tests.support.memory_store import MemoryStore

pytestmark = pytest.mark.behaviour("engine.memory")


def test_the_least_recently_used_goes_first_when_all_weigh_too_much() -> None:
    held: RecentlyUsed[str, str] = RecentlyUsed(10)
    for key in "abc":
        held.put(key, key, 3)
    assert held.get("a") == "a"
    held.put("d", "d", 3)
    assert [held.get(key) for key in "abcd"] == ["a", None, "c", "d"]
    held.put("d", "D", 4)
    assert [held.get(key) for key in "acd"] == ["a", "c", "D"]


async def test_histories_in_memory_are_bounded_in_bytes_not_in_number() -> None:
    """Three executions with 25 MB of results each: the one used longest ago is read from the store again."""
    ledger = Ledger(MemoryStore(), ManualClock(), lambda target, due: None)
    result = TaskCompleted(timestamp=START, task_id=0, result="x" * 25_000_000)
    for name in "abc":
        started = ExecutionStarted(timestamp=START, instance_id=name, execution_id="e", name="n", input=None)
        instance = replace(new_orchestration(started), status=Status.RUNNING)
        await ledger.commit(Step(orchestration=instance, history=History((result,))))

    async def read(name: str) -> StoredOrchestration | None:
        instance = await ledger.store.instance(name)
        return None if instance is None else await ledger.with_history(instance)

    held = [name for name in "abc" if ledger._histories.get(name) is not None]
    assert held == ["b", "c"]
    assert [stored.history for name in "abc" if (stored := await read(name))] == [(result,)] * 3


@pytest.mark.slow
async def test_what_an_execution_waited_for_is_forgotten_when_it_continues_as_new() -> None:
    """Each execution of `ticker` leaves a cancelled timer of an hour behind: after a hundred, one is there."""
    async with running(SdkFunctions(build_app()), clock=ManualClock()) as engine:
        await engine.hub.start("ticker", "t", json.dumps("100"))

        async def is_last() -> bool:
            stored = await engine.store.orchestration("t")
            if stored is None or stored.instance.input != '"0"':
                return False
            return any(isinstance(event, TaskCompleted) for event in stored.history)

        await engine.store.until(is_last)
        waiting = await engine.store.messages(None, 200)
        assert [type(message.body.event) for message in waiting if isinstance(message.body, EventMessage)] == [
            TimerFired
        ]
        assert len(engine.engine._worker._timers) == 1


COUNTERS = [entity_target(EntityId("counter", key)) for key in "abcd"]


def test_a_target_has_one_time_the_earliest_that_was_added_or_the_last_that_was_set() -> None:
    """However many messages wait for it; a time that was taken back wakes nobody."""
    clock, woken = ManualClock(), []
    timers = Timers(clock, lambda target: woken.append((target.id[-1], clock.now() - START)))
    first, second, *_ = COUNTERS
    for seconds in range(1000, 0, -1):
        timers.add(first, START + timedelta(seconds=seconds))
    timers.add(first, START + timedelta(seconds=500))
    timers.set(second, START + timedelta(seconds=5))
    timers.set(second, START + timedelta(seconds=7))
    assert (len(timers), len(timers._queue) < 200) == (2, True)
    clock.advance(4)
    timers.add(first, START + timedelta(seconds=9))
    timers.set(first, None)
    clock.advance(2000)
    assert woken == [("a", timedelta(seconds=1)), ("b", timedelta(seconds=7))]
