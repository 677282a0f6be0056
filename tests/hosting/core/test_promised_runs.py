"""Runs that are answered 202: signalled for again while nobody has them, and found when whoever answered is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from hosting.core.promised_runs import SWEPT_SECONDS, PromiseSweep
from hosting.core.thread.events import Completed
from hosting.errors import AttachmentsUnavailableError
from hosting.names import Address
from hosting.ports import Clocks
from tests.support.process import ADDRESS, AGENT, Process, call

pytestmark = pytest.mark.behaviour("service.promised")

GUARD_SECONDS = 5.0
LATER = 2 * SWEPT_SECONDS
Processes = tuple[Process, Process]


def later(process: Process, seconds: float) -> None:
    before = process.log.clocks
    process.log.clocks = Clocks(lambda: before.wall() + seconds, lambda: before.awake() + seconds)


async def until(condition: Callable[[], object]) -> None:
    async def wait() -> None:
        while not condition():  # noqa: ASYNC110 - a timer of the process changes it
            await asyncio.sleep(0.005)

    await asyncio.wait_for(wait(), GUARD_SECONDS)


async def sweep(process: Process, *, agents: tuple[str, ...] = (AGENT,)) -> None:
    later(process, LATER)
    await PromiseSweep(process.promised, process.log, lambda: agents).run(process.engine)


async def marked(process: Process) -> list[tuple[Address, str]]:
    return [(run.address, run.run_id) for run in await process.promised.marked()]


async def test_a_run_that_nobody_takes_up_is_signalled_for_again_until_its_entity_has_it(process: Process) -> None:
    """By the process that answered about it. Its mark is left to the sweep then, for its entity may be lost."""
    process.agent.gate.clear()
    run = await process.start(call(waits=False))
    signals = process.engine.signals
    await until(lambda: len(signals) >= 3)

    delivery = asyncio.ensure_future(process.deliver(run.run_id))
    await until(lambda: process.promised.watched == 0)
    left = await marked(process)
    process.agent.gate.set()
    await delivery
    while await process.end_of(run.run_id) is None:
        await process.deliver(run.run_id)
    await sweep(process)

    assert {name: order["run_id"] for name, order in signals} == {"run": run.run_id}
    assert isinstance(await process.end_of(run.run_id), Completed)
    assert (left, await marked(process)) == ([(ADDRESS, run.run_id)], [])


async def test_a_run_that_outlives_the_wait_is_marked_before_that_is_said(process: Process) -> None:
    process.agent.gate.clear()
    started = call()
    run = await process.start(started)
    wanted = type(started.wait)(answer=True, seconds=0.05)

    run = await process.runs.wait_as(wanted, run, process.engine)
    process.agent.gate.set()

    assert run.end is None
    assert await marked(process) == [(ADDRESS, run.run_id)]


async def test_the_sweep_finds_a_run_whose_process_died_behind_its_answer(processes: Processes) -> None:
    """In another process; once it has ended, a last signal brings its document up to date, and nothing is left."""
    one, other = processes
    run = await one.start(call(waits=False))
    one.die()
    await one.promised.close()
    one.engine.signals.clear()

    await sweep(other)
    assert other.engine.signals == [("run", {"run_id": run.run_id, "logged": True})]
    await other.deliver(run.run_id)
    await sweep(other)

    assert await marked(other) == []
    assert other.engine.signals == [("run", {"run_id": run.run_id, "logged": True})] * 2


async def test_the_sweep_leaves_a_run_of_an_agent_to_a_process_that_has_it(processes: Processes) -> None:
    """An older version of the app may be the one that sweeps."""
    one, other = processes
    run = await one.start(call(waits=False))
    one.die()
    await one.promised.close()
    one.engine.signals.clear()

    await sweep(other, agents=())

    assert (other.engine.signals, await marked(other)) == ([], [(ADDRESS, run.run_id)])


async def test_the_sweep_signals_for_a_run_whose_holder_is_gone_and_for_none_whose_holder_lives(
    processes: Processes,
) -> None:
    one, other = processes
    one.agent.gate.clear()
    run = await one.start(call())
    await one.promised.keep(ADDRESS, run.run_id, one.engine)
    one.engine.signals.clear()
    swept = PromiseSweep(other.promised, other.log, lambda: [AGENT])

    for _ in range(3):
        position = (await other.log.head(ADDRESS)).append_id
        await until_appended(other, position)  # it renews its lease
        later(other, LATER)
        await swept.run(other.engine)
    alive = list(other.engine.signals)
    one.die()
    await one.promised.close()
    later(other, LATER)
    await swept.run(other.engine)

    assert (alive, len(other.engine.signals)) == ([], 1)


async def until_appended(process: Process, append_id: str) -> None:
    async def wait() -> None:
        while (await process.log.head(ADDRESS)).append_id == append_id:  # noqa: ASYNC110 - another process does
            await asyncio.sleep(0.005)

    await asyncio.wait_for(wait(), GUARD_SECONDS)


class NoAttachments:
    """Attachments that cannot be reached."""

    async def put(self, *given: object) -> None:
        raise AttachmentsUnavailableError("They are away.")


async def test_a_run_whose_mark_cannot_be_kept_is_answered_all_the_same(process: Process) -> None:
    process.promised._attachments = NoAttachments()  # type: ignore[assignment]
    run = await process.start(call(waits=False))

    await until(lambda: len(process.engine.signals) >= 2)

    assert run.end is None
