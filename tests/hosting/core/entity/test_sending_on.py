"""Operations that cannot see their run's end: sent on with what they saw, or delivered again for whoever calls."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from hosting.core.entity.batch import Batch, Operation
from hosting.core.entity.thread_entity import UnfinishedError
from hosting.core.hooks import Signal
from hosting.core.thread.commands import ClaimRun, ClaimTerms
from tests.support.cluster.cluster import ADDRESS, THREAD, AppProcess, Cluster

pytestmark = pytest.mark.moved_time


async def answered(app: AppProcess, value: Any, *, is_signal: bool = True) -> Any:
    """Return the result of an operation `run` with this value."""
    return (await app.entity.answer(Batch(THREAD, None, (Operation("run", value, is_signal),)))).results[0]


async def drained(app: AppProcess, queued_seconds: Any) -> Any:
    """Return how the operation for the run `r2`, which waits behind another process's `r1`, ends with its process."""
    for run_id in ("r1", "r2"):
        await app.open(run_id, run_id)
    now = app.cluster.wall()
    await app.log.execute(ADDRESS, ClaimRun(now, ClaimTerms("elsewhere", "caller", 20.0, now + 300)))
    order = {"run_id": "r2", "logged": True, "queued_seconds": queued_seconds}
    operation = asyncio.ensure_future(answered(app, order))
    await app.cluster.sleep(0.5)
    await app.services.drain(0.0)
    return await operation


@pytest.mark.behaviour("service.leave")
@pytest.mark.behaviour("service.lost-runs")
@pytest.mark.parametrize(
    ("told", "seen"), [(7, 7), (-1, 0), (math.nan, 0), ("3600", 0)], ids=["waited", "negative", "nan", "a text"]
)
async def test_an_operation_that_watches_sends_itself_on_when_its_process_is_to_end(
    app: AppProcess, told: Any, seen: int
) -> None:
    """At once, with how long it saw its run wait, and what it was told of that by the operation before."""
    [signal] = (await drained(app, told)).signals

    queued = signal.value.pop("queued_seconds")
    assert signal == Signal(*ADDRESS.entity, "run", {"run_id": "r2", "logged": True})
    assert math.floor(queued) == seen
    assert "cancel_requested" not in await app.kinds()


@pytest.mark.behaviour("service.lost-runs")
async def test_a_run_that_waited_for_too_long_over_many_operations_is_cancelled(app: AppProcess) -> None:
    await drained(app, 3600)

    assert (await app.kinds())[-1] == "cancel_requested"


@pytest.mark.behaviour("hosting.run-limit-per-agent")
async def test_an_entity_begins_no_run_that_its_function_has_no_time_for() -> None:
    """It sends itself on at once, and a call is delivered again; the agent is not run."""
    app = Cluster(settings={"AGENT_RUN_TIMEOUT_SECONDS": "10"}).process()
    app.services.working_seconds = 9.0
    run_id = await app.open()

    done = await answered(app, {"run_id": run_id, "logged": True})
    with pytest.raises(UnfinishedError):
        await answered(app, {"message": "hi"}, is_signal=False)

    assert [signal.value["run_id"] for signal in done.signals] == [run_id]
    assert app.agent.turns == []
