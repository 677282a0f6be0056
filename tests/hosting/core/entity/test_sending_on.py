"""Operations that cannot see their run's end: sent on with what they saw, or delivered again for whoever calls."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hosting.core.entity.batch import Batch, Done, Operation
from hosting.core.entity.thread_entity import UnfinishedError
from hosting.core.hooks import Signal
from hosting.core.thread.commands import ClaimRun, ClaimTerms
from tests.support.bench import ADDRESS, Bench

GUARD_SECONDS = 5.0


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    """A thread whose run `r1` another process holds, and whose run `r2` waits."""
    bench = Bench()
    for run_id in ("r1", "r2"):
        await bench.open(run_id, run_id)
    await bench.services.log.execute(
        ADDRESS, ClaimRun(time.time(), ClaimTerms("elsewhere", "caller", 20.0, time.time() + 300))
    )
    yield bench
    bench.loop.close()


async def answered(bench: Bench, *values: Any, is_signal: bool = True) -> list[Any]:
    """Return the results of a batch of operations `run` with these values."""
    operations = tuple(Operation("run", value, is_signal) for value in values)
    batch = Batch(ADDRESS.thread_id, bench.state, operations)
    return (await asyncio.wait_for(bench.entity.answer(batch), GUARD_SECONDS)).results


@pytest.mark.behaviour("service.leave")
async def test_an_operation_that_watches_sends_itself_on_when_its_process_is_to_end(bench: Bench) -> None:
    """At once, with how long it saw its run wait, and what it was told of that by the operation before."""
    operation = asyncio.ensure_future(answered(bench, {"run_id": "r2", "logged": True, "queued_seconds": 7}))
    await asyncio.sleep(0)

    await bench.services.drain(0.0)

    [done] = await operation
    [signal] = done.signals
    queued = signal.value.pop("queued_seconds")
    assert signal == Signal("dafx-joker", "t", "run", {"run_id": "r2", "logged": True})
    assert math.floor(queued) == 7


@pytest.mark.behaviour("service.lost-runs")
async def test_a_run_that_waited_for_too_long_over_many_operations_is_cancelled(bench: Bench) -> None:
    operation = asyncio.ensure_future(answered(bench, {"run_id": "r2", "logged": True, "queued_seconds": 3600}))
    while "cancel_requested" not in await bench.kinds("r2"):
        await asyncio.wait((operation,), timeout=0.01)

    await bench.services.drain(0.0)

    assert isinstance((await operation)[0], Done)


@pytest.mark.behaviour("service.lost-runs")
@pytest.mark.parametrize("queued", [-1, math.nan, "3600"])
async def test_a_waiting_time_that_is_none_counts_for_nothing(bench: Bench, queued: Any) -> None:
    operation = asyncio.ensure_future(answered(bench, {"run_id": "r2", "logged": True, "queued_seconds": queued}))
    await asyncio.sleep(0.01)

    await bench.services.drain(0.0)

    [done] = await operation
    assert done.signals[0].value["queued_seconds"] < 5
    assert await bench.kinds("r2") == ["accepted"]


@pytest.mark.behaviour("hosting.run-limit-per-agent")
async def test_an_entity_begins_no_run_that_its_function_has_no_time_for() -> None:
    """It sends itself on at once, and a call is delivered again; the agent is not run."""
    bench = Bench(environ={"AGENT_RUN_TIMEOUT_SECONDS": "10"}, working_seconds=9.0)
    run_id = await bench.open()

    [done] = await answered(bench, {"run_id": run_id, "logged": True})
    with pytest.raises(UnfinishedError):
        await answered(bench, {"message": "hi"}, is_signal=False)
    bench.loop.close()

    assert [signal.value["run_id"] for signal in done.signals] == [run_id]
    assert bench.agent.seen == []
