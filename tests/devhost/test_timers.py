"""When timers are due, and timer functions under a clock that the test moves."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import azure.functions as func
import pytest

from devhost.errors import FunctionLoadError
from devhost.invoke import Invoker
from devhost.timer_schedules import ScheduleError, parse_schedule
from devhost.timers import Monitor, TimerRunner, find_timers
from tests.devhost.indexing import index_of
from tests.support.engine_clocks import ManualClock
from tests.support.running_host import GUARD_SECONDS

HOURLY = "0 0 * * * *"
A_THURSDAY = datetime(2026, 1, 1, 10, 20, 30, 500_000, tzinfo=UTC)
DUE = {
    "* * * * * *": "2026-01-01T10:20:31",
    "*/15 * * * * *": "2026-01-01T10:20:45",
    "*/5 * * * *": "2026-01-01T10:25:00",
    "0 30 9 * * 1-5": "2026-01-02T09:30:00",
    "0 30 9 * * Mon": "2026-01-05T09:30:00",
    "0 0 0 * * 7": "2026-01-04T00:00:00",
    "0 0 0 * * 5-7": "2026-01-02T00:00:00",
    "0 0 0 1 Jan *": "2027-01-01T00:00:00",
    "0 0 12 29 2 *": "2028-02-29T12:00:00",
    "0 0 0 13 * Fri": "2026-02-13T00:00:00",
    "0 5,10,25-27 10 * * *": "2026-01-01T10:25:00",
    "59 59 23 31 dec *": "2026-12-31T23:59:59",
    "0 10/20 * * * *": "2026-01-01T10:30:00",
    "00:00:05": "2026-01-01T10:20:35.500000",
    "1.00:00:00": "2026-01-02T10:20:30.500000",
}
"""Expressions with and without seconds, names, lists, ranges, steps, and plain intervals; and when each is due next."""
REFUSED = {
    "": "0 fields",
    "* * *": "3 fields",
    "60 * * * * *": "field second has '60'; give values from 0 to 59",
    "* * * 0 * *": "field day has '0'; give values from 1 to 31",
    "* * * * Foo *": "field month has 'Foo'",
    "٣ * * * * *": "field second has '٣'",
    "*/0 * * * * *": "field second has '*/0'",
    "9-5 * * * * *": "field second has '9-5'",
    "0 0 0 30 2 *": "never comes",
}


@pytest.mark.behaviour("devhost.timer-schedules")
def test_a_schedule_names_its_next_moment_and_what_is_none_is_refused_by_its_part() -> None:
    found = {schedule: parse_schedule(schedule).next_after(A_THURSDAY) for schedule in DUE}
    assert found == {schedule: datetime.fromisoformat(due).replace(tzinfo=UTC) for schedule, due in DUE.items()}
    for schedule, reason in REFUSED.items():
        with pytest.raises(ScheduleError, match=re.escape(reason)):
            parse_schedule(schedule).next_after(A_THURSDAY)


@pytest.mark.behaviour("devhost.timer-schedules")
def test_a_timer_with_an_unreadable_schedule_is_refused_by_its_name() -> None:
    """The app does not start with a timer that would never run."""
    app = func.FunctionApp()

    @app.timer_trigger(arg_name="timer", schedule="every day")
    def tick(timer: func.TimerRequest) -> None: ...

    with pytest.raises(FunctionLoadError, match=r"'tick'.*'every day'.*2 fields"):
        find_timers(index_of(app))


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
@pytest.mark.parametrize("fails", [None, ValueError, asyncio.CancelledError, KeyboardInterrupt])
async def test_a_timer_runs_each_time_it_is_due(tmp_path: Path, fails: type[BaseException] | None) -> None:
    """Whatever the last run ended with, and at once where that is asked for."""
    clock, ticks = ManualClock(), Ticks(fails=fails)
    async with ticks.running(clock, tmp_path):
        await advance(clock, 3599)
        was_early = ticks.has_run
        await advance(clock, 1)
        first = await ticks.next()
        await advance(clock, 3600)
        second = await ticks.next()
    at_once = Ticks(run_on_startup=True)
    async with at_once.running(ManualClock(), tmp_path / "another"):
        third = await at_once.next()

    assert (was_early, first.past_due, second.past_due, third.past_due) == (False, False, False, False)
    assert second.schedule_status["Last"] == "2026-01-01T01:00:00+00:00"


async def stopped_for(seconds: float, folder: Path, before: Ticks, after: Ticks) -> None:
    """Have a host of `before` stop for so long, and one of `after` start and wait for its next moment."""
    clock = ManualClock()
    async with before.running(clock, folder):
        await clock.next_alarm()
    clock.advance(seconds)
    async with after.running(clock, folder):
        await clock.next_alarm()


@pytest.mark.behaviour("devhost.timer-monitor")
async def test_a_moment_that_fell_into_a_stop_is_made_up_for_once(tmp_path: Path) -> None:
    ticks = Ticks()
    await stopped_for(3 * 3600 + 60, tmp_path, ticks, ticks)

    assert ((await ticks.next()).past_due, ticks.has_run) == (True, False)


@pytest.mark.behaviour("devhost.timer-monitor")
@pytest.mark.parametrize(("schedule", "options"), [(HOURLY, {"use_monitor": False}), ("*/10 * * * * *", {})])
async def test_a_timer_without_monitor_forgets_what_it_missed(
    tmp_path: Path, schedule: str, options: dict[str, bool]
) -> None:
    """So it was asked to, or it is due more often than once a minute. A changed schedule counts from now."""
    ticks, daily = Ticks(schedule, **options), Ticks("0 0 5 * * *")
    await stopped_for(3 * 3600 + 61, tmp_path, ticks, ticks)
    kept = list(tmp_path.iterdir())
    await stopped_for(2 * 3600, tmp_path, Ticks(), daily)

    assert (ticks.has_run, kept, daily.has_run) == (False, [], False)
