"""Whoever watches a run or a thread is woken, and reads a store that cannot push no more often for that."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from hosting.core.care import Care, Pace
from hosting.core.runs import Runs
from hosting.core.thread.commands import AcceptRun, RecordSteps
from hosting.core.thread.events import Delta
from hosting.core.thread.run import Cancelling
from hosting.core.thread_operations import OperationOutcome, Store, ThreadOperations
from hosting.settings import read_settings
from tests.support.process import ADDRESS, AGENT, MINUTE, Process, call
from tests.support.threads import accepted, terms

Processes = tuple[Process, Process]

GUARD_SECONDS = 5.0
SOON_AND_THEN_SELDOM = Pace(first=0.01, growth=6000.0, longest=60.0)


def operations(process: Process) -> ThreadOperations:
    return ThreadOperations(
        process.log, process.conversations, process.holders, process.care, pace=SOON_AND_THEN_SELDOM
    )


def seldom(process: Process) -> Runs:
    care = Care(process.log, process.changes, process.holders, pace=MINUTE)
    return Runs(process.log, process.holders, care, read_settings({}), process.promised)


async def until_read(process: Process, verb: str, times: int) -> None:
    async def read() -> None:
        while process.store.calls[verb] < times:  # noqa: ASYNC110 - the watcher counts it
            await asyncio.sleep(0)

    await asyncio.wait_for(read(), GUARD_SECONDS)


async def ended(operation: Awaitable[OperationOutcome]) -> list[str]:
    outcome = await asyncio.wait_for(operation, GUARD_SECONDS)
    assert isinstance(outcome, Store)
    return [terminal.kind for terminal in outcome.ended]


@pytest.mark.behaviour("service.woken")
async def test_an_operation_learns_of_the_end_of_another_processs_run_from_the_store(processes: Processes) -> None:
    """As a stream does, and not with its next look: what waits behind it begins at once."""
    one, other = processes
    one.agent.gate.clear()
    run = await one.start(call())
    operation = asyncio.ensure_future(operations(other).run(ADDRESS, None, run.run_id))
    await until_read(other, "watch", 2)
    one.agent.gate.set()

    assert await ended(operation) == ["completed"]


@pytest.mark.behaviour("service.waits-elsewhere")
async def test_whoever_waits_misses_nothing_that_another_process_appended_before_its_own(processes: Processes) -> None:
    """An event that this process appends comes at once: what the holder appended before it is read first."""
    one, other = processes
    other.store.pushes = False
    await one.log.execute(ADDRESS, AcceptRun(accepted("r1").model_copy(update={"agent": AGENT}), 32, terms("held")))
    run = await other.runs.find(ADDRESS, "r1", other.engine)
    waiting = asyncio.ensure_future(seldom(other).wait(run, other.engine, 1.0))
    await until_read(other, "watch", 1)
    await one.log.execute(ADDRESS, RecordSteps("held", (Delta(at=1.0, run_id="r1", offset=0, text="so far"),)))

    await other.runs.cancel(ADDRESS, "r1", other.engine)

    waited = await waiting
    assert (waited.text, type(waited.state)) == ("so far", Cancelling)
