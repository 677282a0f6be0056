"""The schedules of an app: their routes, their clocks, and what an owner has of them.

A clock is one orchestration for each schedule, and the activity that it calls. Whichever version of the app runs then
replays an orchestration, so this one decides nothing: it sleeps until its time, has the activity do what is due, and
goes on with the time that this returns. Not the app's timer trigger: that one would run in every app each minute, and
read a list of everybody's schedules.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from hosting.core.cells import Cells
from hosting.core.runs import Runs
from hosting.errors import HostingError
from hosting.feature import Activity, DurableTask, Feature, Orchestration, OrchestrationContext, OwnerData
from hosting.features.schedules.http import ScheduleHandlers, ShownSchedule, schedule_fields
from hosting.features.schedules.places import TooManySchedulesError
from hosting.features.schedules.schedule import ScheduleClock
from hosting.features.schedules.schedules import AGAIN_SECONDS, CLOCK, Schedules, UnknownScheduleError
from hosting.http.request import Bound
from hosting.plan import Plan
from hosting.ports import ClockClient, Clocks, read_utc, utc
from hosting.principal import Caller
from hosting.settings import Settings, SettingsPart

TICK = "agents_schedule_tick"
LONG_SECONDS = 30.0
"""After this the activity of a tick is taken for lost and is called again; each further time after twice as long."""


class ScheduleSettings(SettingsPart):
    """The settings of schedules."""

    schedules: int = Field(20, ge=0, le=200)
    """The most schedules of one owner with one agent; 0: the app has none."""


class SchedulesFeature(Feature):
    """The schedules of one app."""

    name = "schedules"
    paths = ("schedules",)
    absent = "This app has no schedules: AGENT_SCHEDULES is 0. Start the runs yourself."
    links: ClassVar[Mapping[str, str]] = {"schedules_url": "schedules"}
    settings = ScheduleSettings
    page = Path(__file__).with_name("ui")

    def __init__(
        self,
        cells: Cells,
        runs: Runs,
        plan: Plan,
        clocks: Clocks,
        settings: Settings,
        *,
        own_settings: ScheduleSettings,
    ) -> None:
        """The requests of schedules are read by the app's `settings`."""
        self._schedules = partial(Schedules, cells, runs, plan.agents, clocks=clocks, most=own_settings.schedules)
        self._settings = settings
        self._is_on = own_settings.schedules > 0

    @classmethod
    def errors(cls) -> Sequence[type[HostingError]]:
        """Return its refusals."""
        return (
            UnknownScheduleError,
            TooManySchedulesError,
        )

    @property
    def is_on(self) -> bool:
        """Whether an owner may have any."""
        return self._is_on

    def routes(self) -> Sequence[Bound]:
        """Return the routes of all schedules."""
        return ScheduleHandlers(self._schedules, self._settings).bound()

    def durable(self) -> Sequence[Orchestration | Activity]:
        """Return the clock of a schedule."""
        return Orchestration(CLOCK, _sleep), Activity(TICK, self._tick)

    def owner_data(self) -> OwnerData:
        """Return an owner's schedules with all agents. They go before the threads: a tick begins one."""
        return OwnerData("schedules", list[ShownSchedule], self._export, self._erase, begins_runs=True)

    async def _export(self, caller: Caller) -> list[ShownSchedule]:
        return [schedule_fields(*schedule) for schedule in await self._schedules(caller).of_owner()]

    async def _erase(self, caller: Caller) -> None:
        await self._schedules(caller).erase()

    async def _tick(self, text: str, client: ClockClient) -> str:
        clock = ScheduleClock.read(json.loads(text))
        wake_at = await self._schedules(Caller(client, owner=clock.owner)).wake(clock)
        return "" if wake_at is None else utc(wake_at)


def _sleep(context: OrchestrationContext) -> Generator[Any, Any, None]:
    given, calls = context.get_input(), list[DurableTask]()
    wake_at = given["wake_at"]
    while wake_at:
        yield context.create_timer(_moment(wake_at))
        wake_at = yield from _woken(context, json.dumps(given["clock"]), calls)
        if wake_at and all(call.is_completed for call in calls):
            context.continue_as_new({**given, "wake_at": wake_at})
            return


def _woken(context: OrchestrationContext, clock: str, calls: list[DurableTask]) -> Generator[Any, Any, str]:
    """Have the activity do the due work, and return the next time to wake; `calls` gets each call for it.

    A call whose host died comes again when the engine shows its message again, which takes minutes. So another one is
    made beside a call that takes long, and whichever ends first counts: the tick is one run, whichever begins it. What
    is still open goes on, and an execution cannot end before it; that is why the clock then sleeps on in this one.
    """
    patience, raced = LONG_SECONDS, list[Any]()
    while True:
        raced.append(context.call_activity(TICK, clock))
        calls.append(raced[-1])
        timer = context.create_timer(context.current_utc_datetime + timedelta(seconds=patience))
        first = yield context.task_any([*raced, timer])
        if first is not timer:
            timer.cancel()
            break
        patience *= 2
    if isinstance(first.result, Exception):  # the activity ran out of the platform's time
        return utc(context.current_utc_datetime.timestamp() + AGAIN_SECONDS)
    return str(first.result)


def _moment(text: str) -> datetime:
    seconds = read_utc(text)
    assert seconds is not None, text
    return datetime.fromisoformat(utc(seconds).replace("Z", "+00:00"))
