"""The schedules of an app: their routes, their clocks, and what an owner has of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from hosting.core.cells import Cells
from hosting.core.runs import Runs
from hosting.errors import HostingError
from hosting.feature import Activity, Feature, Orchestration, OwnerData
from hosting.features.schedules.clock import CLOCK, TICK, sleep
from hosting.features.schedules.routes import ROUTES, ShownSchedule, TooManySchedulesError, UnknownScheduleError
from hosting.http.request import Bound, late
from hosting.plan import Plan
from hosting.ports import ClockClient, Clocks, utc
from hosting.principal import Caller
from hosting.settings import Settings, SettingsPart

if TYPE_CHECKING:
    from hosting.features.schedules.schedules import Schedules


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
        self._needs = cells, runs, plan.agents
        self._clocks, self._most = clocks, own_settings.schedules
        self._settings = settings

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
        return self._most > 0

    def routes(self) -> Sequence[Bound]:
        """Return the routes of all schedules."""
        return late(ROUTES, self._bound)

    def durable(self) -> Sequence[Orchestration | Activity]:
        """Return the clock of a schedule."""
        return Orchestration(CLOCK, sleep), Activity(TICK, self._tick)

    def owner_data(self) -> OwnerData:
        """Return an owner's schedules with all agents. They go before the threads: a tick begins one."""
        return OwnerData("schedules", list[ShownSchedule], self._export, self._erase, begins_runs=True)

    def _schedules(self, caller: Caller) -> Schedules:
        from hosting.features.schedules.schedules import Schedules

        return Schedules(*self._needs, caller, clocks=self._clocks, most=self._most)

    def _bound(self) -> Sequence[Bound]:
        from hosting.features.schedules.http import ScheduleHandlers

        return ScheduleHandlers(self._schedules, self._settings).bound()

    async def _export(self, caller: Caller) -> list[ShownSchedule]:
        from hosting.features.schedules.http import schedule_fields

        return [schedule_fields(*schedule) for schedule in await self._schedules(caller).of_owner()]

    async def _erase(self, caller: Caller) -> None:
        await self._schedules(caller).erase()

    async def _tick(self, text: str, client: ClockClient) -> str:
        from hosting.features.schedules.schedule import ScheduleClock

        clock = ScheduleClock.read(json.loads(text))
        wake_at = await self._schedules(Caller(client, owner=clock.owner)).wake(clock)
        return "" if wake_at is None else utc(wake_at)
