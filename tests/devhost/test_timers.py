"""Timer functions under a clock that the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import azure.functions as func
import pytest

from devhost.errors import FunctionLoadError
from devhost.invoke import Invoker
from devhost.timers import Monitor, TimerRunner, find_timers
from tests.devhost.indexing import index_of
from tests.support.engine_clocks import ManualClock
from tests.support.running_host import GUARD_SECONDS

HOURLY = "0 0 * * * *"


class Ticks:
    """An app with one timer, and what its function was called with."""

    def __init__(self, schedule: str = HOURLY, *, fails: type[BaseException] | None = None, **options: bool) -> None:
        app = func.FunctionApp()
        self._seen: asyncio.Queue[func.TimerRequest] = asyncio.Queue()
        seen = self._seen

        @app.timer_trigger(arg_name="timer", schedule=schedule, **options)
        async def tick(timer: func.TimerRequest) -> None:
            seen.put_nowait(timer)
            if fails is not None:
                raise fails("a bad tick")

        self._timers = find_timers(index_of(app))

    @asynccontextmanager
    async def running(self, clock: ManualClock, folder: Path) -> AsyncIterator[None]:
        """Run the timer until the block ends, which is as a host that starts and stops."""
        invoker = Invoker(1, None, str)
        runner = TimerRunner(self._timers, invoker, Monitor(folder), clock)
        runner.start()
        yield
        await runner.stop(1)
        invoker.close()

    async def next(self) -> func.TimerRequest:
        return await asyncio.wait_for(self._seen.get(), GUARD_SECONDS)

    @property
    def has_run(self) -> bool:
        return not self._seen.empty()


async def advance(clock: ManualClock, seconds: float) -> None:
    """Move the clock on, in steps in which the runner looks at it."""
    while seconds > 0:
        step = min(seconds, await clock.next_alarm())
        clock.advance(step)
        seconds -= step
        for _ in range(5):
            await asyncio.sleep(0)


@pytest.mark.behaviour("devhost.timers")
async def test_a_timer_runs_each_time_it_is_due(tmp_path: Path) -> None:
    clock, ticks = ManualClock(), Ticks()
    async with ticks.running(clock, tmp_path):
        await advance(clock, 3599)
        was_early = ticks.has_run
        await advance(clock, 1)
        first = await ticks.next()
        await advance(clock, 3600)
        second = await ticks.next()

    assert (was_early, first.past_due, second.past_due) == (False, False, False)
    assert second.schedule_status["Last"] == "2026-01-01T01:00:00+00:00"


@pytest.mark.behaviour("devhost.timers")
@pytest.mark.parametrize("fails", [ValueError, asyncio.CancelledError, KeyboardInterrupt])
async def test_a_failed_run_does_not_stop_the_timer(tmp_path: Path, fails: type[BaseException]) -> None:
    clock, ticks = ManualClock(), Ticks(fails=fails)
    async with ticks.running(clock, tmp_path):
        for _ in range(2):
            await advance(clock, 3600)
            await ticks.next()


@pytest.mark.behaviour("devhost.timers")
async def test_run_on_startup_runs_at_once(tmp_path: Path) -> None:
    ticks = Ticks(run_on_startup=True)
    async with ticks.running(ManualClock(), tmp_path):
        assert (await ticks.next()).past_due is False


@pytest.mark.behaviour("devhost.timer-monitor")
async def test_a_moment_that_fell_into_a_stop_is_made_up_for_once(tmp_path: Path) -> None:
    clock, ticks = ManualClock(), Ticks()
    async with ticks.running(clock, tmp_path):
        await clock.next_alarm()
    clock.advance(3 * 3600 + 60)
    async with ticks.running(clock, tmp_path):
        late = await ticks.next()
        await clock.next_alarm()

    assert (late.past_due, ticks.has_run) == (True, False)


@pytest.mark.behaviour("devhost.timer-monitor")
@pytest.mark.parametrize(("schedule", "options"), [(HOURLY, {"use_monitor": False}), ("*/10 * * * * *", {})])
async def test_a_timer_without_monitor_forgets_what_it_missed(
    tmp_path: Path, schedule: str, options: dict[str, bool]
) -> None:
    """So it was asked to, or it is due more often than once a minute."""
    clock, ticks = ManualClock(), Ticks(schedule, **options)
    async with ticks.running(clock, tmp_path):
        await clock.next_alarm()
    clock.advance(3 * 3600 + 61)
    async with ticks.running(clock, tmp_path):
        await clock.next_alarm()

    assert (ticks.has_run, list(tmp_path.iterdir())) == (False, [])


@pytest.mark.behaviour("devhost.timer-monitor")
async def test_a_changed_schedule_counts_from_now(tmp_path: Path) -> None:
    clock, daily = ManualClock(), Ticks("0 0 5 * * *")
    async with Ticks().running(clock, tmp_path):
        await clock.next_alarm()
    clock.advance(2 * 3600)
    async with daily.running(clock, tmp_path):
        await clock.next_alarm()

    assert daily.has_run is False


@pytest.mark.behaviour("devhost.timer-schedules")
def test_a_timer_with_an_unreadable_schedule_is_refused_by_its_name() -> None:
    """The app does not start with a timer that would never run."""
    app = func.FunctionApp()
    app.timer_trigger(arg_name="timer", schedule="every day")(_tick)

    with pytest.raises(FunctionLoadError, match=r"'_tick'.*'every day'.*2 fields"):
        find_timers(index_of(app))


def _tick(timer: func.TimerRequest) -> None: ...
