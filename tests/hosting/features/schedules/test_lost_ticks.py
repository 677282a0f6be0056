"""A schedule on the local host's engine, while the host of a tick's activity dies over it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

import hosting.app
from devhost.durable.records import Status
from devhost.durable.store.contract import InstanceFilter
from devhost.durable.unkind import Armed, Fault
from hosting.features.schedules.clock import LONG_SECONDS, TICK
from hosting.ports import Clocks, iso
from tests.support.app.scripted import scripted_agent
from tests.support.engine_app import EngineApp, engine_app
from tests.support.engine_clocks import START, ManualClock
from tests.support.made_app import app_of

pytestmark = pytest.mark.behaviour("schedules.lost-tick")

GUARD_SECONDS = 5.0
PLACE = "/api/agents/Joker/schedules"
VISIBILITY_SECONDS = 60.0
"""What host.json says of work items."""


@dataclass(frozen=True)
class Scheduled:
    """The running app, whose clock and engine's clock are one, and its schedule."""

    running: EngineApp
    clock: ManualClock
    place: str

    async def read(self) -> dict[str, Any]:
        answer = await self.running.http.get(self.place)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def runs(self) -> list[dict[str, Any]]:
        answer = await self.running.http.get("/api/agents/Joker/threads/t/runs")
        return [] if answer.status_code == 404 else list(answer.json()["runs"])

    async def until_told(self, tick: float) -> dict[str, Any]:
        """Return the schedule once it knows the run of the tick so many seconds after the start."""

        async def told() -> bool:
            return ((await self.read())["last_run"] or {}).get("at") == at(tick)

        await self._until(told)
        return await self.read()

    async def until_clock_ended(self) -> None:
        async def ended() -> bool:
            (clock,) = await self.running.store.list_orchestrations(InstanceFilter(), "", None)
            stored = await self.running.store.orchestration(clock.instance_id)
            return stored is not None and stored.instance.status is Status.COMPLETED

        await self._until(ended)

    async def _until(self, is_so: Callable[[], Awaitable[bool]]) -> None:
        """Return once it is so, under the guard; no time passes meanwhile."""

        async def asked() -> None:
            while not await is_so():
                self.clock.advance(0)  # the engine may have set an alarm for a moment that was then passed
                await asyncio.sleep(0.01)

        await asyncio.wait_for(asked(), GUARD_SECONDS)


def at(seconds: float) -> str:
    return iso(START.timestamp() + seconds)


@asynccontextmanager
async def scheduled(unkind: Armed, monkeypatch: pytest.MonkeyPatch, **times: str) -> AsyncIterator[Scheduled]:
    """Run an app with a schedule of these times on the thread `t`."""
    clock = ManualClock()
    clocks = Clocks(wall=lambda: clock.now().timestamp())
    monkeypatch.setattr(hosting.app, "Services", partial(hosting.app.Services, clocks=clocks))
    async with engine_app(app_of(scripted_agent("Joker")), clock=clock, unkind=unkind) as running:
        answer = await running.http.post(PLACE, json={"message": "hello", "thread_id": "t", **times})
        assert answer.status_code == 201, answer.text
        yield Scheduled(running, clock, answer.headers["location"])


@pytest.mark.parametrize("fault", [Fault.DIED_BEFORE_ACTIVITY, Fault.DIED_AFTER_ACTIVITY])
async def test_a_tick_whose_host_dies_over_it_has_its_run_half_a_minute_later(
    monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    """Before it began or when all was done: the tick is called for again, and the lost call begins nothing."""
    unkind = Armed()
    unkind.arm(fault, TICK)
    async with scheduled(unkind, monkeypatch, at=at(60)) as app:
        await app.clock.next_alarm()
        app.clock.advance(60)
        await asyncio.wait_for(unkind.until_struck(fault), GUARD_SECONDS)
        waiting = await app.read()
        app.clock.advance(LONG_SECONDS)
        told = await app.until_told(60)
        app.clock.advance(VISIBILITY_SECONDS - LONG_SECONDS)
        await app.until_clock_ended()
        runs, schedule = await app.runs(), await app.read()

    if fault is Fault.DIED_BEFORE_ACTIVITY:
        assert (waiting["status"], waiting["next_run_at"], waiting["last_run"]) == ("active", at(60), None)
    assert [run["run_id"] for run in runs] == [told["last_run"]["run_id"]]
    assert schedule == told
    assert (schedule["status"], schedule["next_run_at"]) == ("ended", None)
