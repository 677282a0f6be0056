"""What may stay in memory: the most recently used, up to a weight; one time for each target that waits for one."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from devhost.durable.events import ExecutionStarted, TaskCompleted
from devhost.durable.intake import new_orchestration
from devhost.durable.ledger import Ledger
from devhost.durable.records import History, Status, Step
from devhost.durable.store.contract import StoredOrchestration
from tests.devhost.durable.running_engine import running
from tests.devhost.durable.scenario_app import build_app
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.engine_clocks import START, ManualClock
from tests.support.memory_store import MemoryStore

pytestmark = pytest.mark.behaviour("engine.memory")


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


async def test_finished_and_idle_work_leaves_nothing_with_the_worker() -> None:
    """Orchestrations that ended, cancelled a timer, or wait for an event: no mailbox, no task, no timer, no message."""
    async with running(SdkFunctions(build_app()), clock=ManualClock()) as engine:
        for number in range(10):
            await engine.hub.start("two_events", f"waits-{number}", None)
            for name in ("chain", "approval"):
                await engine.hub.start(name, f"{name}-{number}", None)
            await engine.hub.raise_event(f"approval-{number}", "go", "1")
        for number in range(10):
            for name in ("chain", "approval"):
                await engine.store.until_ended(f"{name}-{number}")
        worker = engine.engine._worker
        while worker._pumps:
            await asyncio.wait(list(worker._pumps.values()), timeout=5)
        assert (worker._hinted, worker._pumps, len(worker._timers)) == (set(), {}, 0)
        assert await engine.store.messages(None, 1) == []
        assert len(engine.hub._ledger._histories) <= 10
