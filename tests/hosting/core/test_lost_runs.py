"""Nothing waits for ever: what is ended by whoever looks, whatever the clocks of other machines say."""

from __future__ import annotations

import asyncio
import time
from itertools import count

import pytest

from hosting.core.broadcast import LoggedEvent
from hosting.core.care import Care
from hosting.core.following import Following
from hosting.core.thread.commands import AcceptRun, RecordSteps
from hosting.core.thread.events import CancelRequested, Failed
from hosting.core.thread.run import Open
from hosting.core.thread_operations import GoOn
from hosting.names import Address
from hosting.ports import Clocks
from tests.support.carriers import GUARD_SECONDS
from tests.support.process import ADDRESS, AGENT, Process, call
from tests.support.threads import accepted, terms

Processes = tuple[Process, Process]
HOUR = 3600.0
MOST_LATER = 10_000


class FastClock:
    """A clock of one's own that goes a thousand times as fast."""

    def __call__(self) -> float:
        return 1000 * time.monotonic()


async def end_of(process: Process, run_id: str) -> tuple[str, str]:
    run = await process.runs.find(Address.of(AGENT, "t1"), run_id, process.engine)
    terminal = run.end
    assert isinstance(terminal, Failed)
    return terminal.kind, terminal.code


async def claimed_elsewhere(process: Process, off_seconds: float) -> None:
    now = time.time() + off_seconds
    event = accepted("r1", at=now).model_copy(update={"agent": AGENT})
    await process.log.execute(ADDRESS, AcceptRun(event, 32, terms("elsewhere", deadline=now + 300)))


@pytest.mark.behaviour("service.lost-runs")
@pytest.mark.parametrize("off_seconds", [0.0, HOUR, -HOUR])
async def test_a_run_whose_holder_is_gone_for_as_long_as_it_could_run_is_lost_to_whoever_waits(
    process: Process, off_seconds: float
) -> None:
    """By the waiter's own clock: what the holder's clock said is only subtracted from itself."""
    process.log.clocks = Clocks(awake=FastClock())
    await claimed_elsewhere(process, off_seconds)
    run = await process.runs.find(Address.of(AGENT, "t1"), "r1", process.engine)

    ended = await process.runs.wait(run, process.engine, 5.0)

    assert ended.end is not None
    assert await end_of(process, "r1") == ("failed", "run_lost")


@pytest.mark.behaviour("service.lost-runs")
@pytest.mark.parametrize("off_seconds", [0.0, HOUR, -HOUR])
async def test_a_holder_that_lives_loses_nothing_to_a_clock_that_is_off(process: Process, off_seconds: float) -> None:
    process.log.clocks = Clocks(awake=FastClock())
    await claimed_elsewhere(process, off_seconds)
    run = await process.runs.find(Address.of(AGENT, "t1"), "r1", process.engine)
    waiting = asyncio.ensure_future(process.runs.wait(run, process.engine, 0.7))
    while not waiting.done():
        await process.log.execute(ADDRESS, RecordSteps("elsewhere"))
        await asyncio.wait((waiting,), timeout=0.05)

    assert waiting.result().state == Open()


@pytest.mark.behaviour("service.lost-runs")
async def test_a_run_that_waits_for_its_turn_for_too_long_ends_in_its_turn(processes: Processes) -> None:
    """Ended by whoever waits for it or follows it, as lost."""
    one, other = processes
    one.agent.gate.clear()
    await one.start(call("first"))
    run = await other.start(call("second"))
    other.log.clocks = Clocks(awake=FastClock())
    impatient = Following(Care(other.log, other.changes, other.holders, queue_seconds=100.0), other.holders.draining)
    async for news in impatient.follow(run, other.engine):
        if any(isinstance(one_of.event, CancelRequested) for one_of in news if isinstance(one_of, LoggedEvent)):
            one.agent.gate.set()

    assert await end_of(other, run.run_id) == ("failed", "run_lost")
    assert other.agent.turns == []


@pytest.mark.behaviour("service.lost-processes")
async def test_new_requests_keep_no_dead_holder_alive(processes: Processes) -> None:
    """They are appends of others, and say nothing of it: they go on until it is taken over."""
    one, other = processes
    one.agent.gate.clear()
    run = await one.start(call())
    one.die()

    async def until_ended() -> None:
        delivery = asyncio.ensure_future(other.deliver(run.run_id))
        for number in count():
            await other.log.execute(ADDRESS, AcceptRun(accepted(f"later-{number}"), MOST_LATER))
            if (await asyncio.wait((delivery,), timeout=0.05))[0] and not isinstance(delivery.result(), GoOn):
                return
            if delivery.done():
                delivery = asyncio.ensure_future(other.deliver(run.run_id))

    await asyncio.wait_for(until_ended(), GUARD_SECONDS)
    assert await other.end_of(run.run_id) is not None
    kinds = await other.kinds()
    assert "accepted" in kinds[kinds.index("claimed") : kinds.index("completed")]
