"""Questions with a time of their own: their defaults, and what does not run out while they wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from agent_framework import Agent, tool

import hosting.app
from devhost.durable.records import orchestration_target
from devhost.durable.store.contract import InstanceFilter
from hosting.features.approvals.deadlines import CLOCK
from hosting.ports import Clocks
from hosting.tools import current, idempotent
from tests.support.clerk import ClerksClient
from tests.support.engine_app import EngineApp, engine_app
from tests.support.engine_clocks import ManualClock
from tests.support.made_app import app_of
from tests.support.receiver import GUARD_SECONDS

THREAD = "/api/agents/Clerk/threads/t"
HOUR = 3600.0
NOTES: list[str] = []


@idempotent
@tool
async def ship(n: str) -> str:
    address = await current().ask(f"Where does {n} go?", seconds=float(n) * HOUR, default=f"depot {n}")
    NOTES.append(f"ship {n} to {address}")
    return f"{n} to {address}"


@idempotent
@tool
async def demand(n: str) -> str:
    return str(await current().ask("Who pays?", seconds=float(n) * HOUR))


@idempotent
@tool
async def wrong(n: str) -> str:
    cases: dict[str, dict[str, Any]] = {
        "default": {"schema": int, "seconds": HOUR, "default": "many"},
        "no-time": {"default": "x"},
        "time": {"seconds": 0},
    }
    return str(await current().ask("How many?", **cases[n]))


@dataclass(frozen=True)
class Desk:
    """The running app, whose clock is the engine's."""

    running: EngineApp
    clock: ManualClock

    async def say(self, message: str) -> dict[str, Any]:
        """Send a message; return the answer."""
        body = {"message": message, "thread_id": "t"}
        return dict((await self.running.http.post("/api/agents/Clerk/run", json=body)).json())

    async def give(self, asked: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
        """Answer what waits; return what comes of it."""
        return dict((await self.running.http.post(f"{THREAD}/approvals/{asked['id']}", json=answer)).json())

    async def runs(self) -> list[dict[str, Any]]:
        runs = (await self.running.http.get(f"{THREAD}/runs")).json()["runs"]
        return [(await self.running.http.get(f"{THREAD}/runs/{run['run_id']}")).json() for run in runs]

    async def clocks(self) -> int:
        known = await self.running.store.list_orchestrations(InstanceFilter(), "", None)
        return sum(one.name == CLOCK for one in known)

    async def until(self, is_true: Callable[[], Awaitable[bool]], seconds: float = 0.0) -> None:
        """Return once it is true, under the guard; so many seconds pass between one look and the next."""

        async def asked() -> None:
            while not await is_true():
                self.clock.advance(seconds)
                await asyncio.sleep(0.01)

        await asyncio.wait_for(asked(), GUARD_SECONDS)

    async def until_clocks(self, number: int) -> None:
        async def there() -> bool:
            return await self.clocks() == number

        await self.until(there)

    async def until_asleep(self) -> None:
        """Return once the only clock sleeps: its input is there before the timer, which counts from then on."""

        async def asleep() -> bool:
            known = await self.running.store.list_orchestrations(InstanceFilter(), "", None)
            targets = [orchestration_target(one.instance_id) for one in known if one.name == CLOCK]
            timers = [await self.running.store.messages(target, 10) for target in targets]
            return [any(one.due is not None and one.due > self.clock.now() for one in each) for each in timers] == [
                True
            ]

        await self.until(asleep)

    async def until_runs(self, number: int) -> list[dict[str, Any]]:
        """Return the runs once there are so many, and all have ended."""

        async def ended() -> bool:
            runs = (await self.running.http.get(f"{THREAD}/runs")).json()["runs"]
            return len(runs) == number and all(run["status"] == "success" for run in runs)

        await self.until(ended)
        return await self.runs()


@pytest.fixture
async def desk(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    """An app whose tools ask, by a clock that the test moves."""
    NOTES.clear()
    clock = ManualClock()
    clocks = Clocks(wall=lambda: clock.now().timestamp())
    monkeypatch.setattr(hosting.app, "Services", partial(hosting.app.Services, clocks=clocks))
    agent = Agent(ClerksClient(), name="Clerk", tools=[ship, demand, wrong])
    async with engine_app(app_of(agent), clock=clock) as running:
        yield Desk(running, clock)


@pytest.mark.behaviour("asks.default")
async def test_a_run_goes_on_with_the_default_when_its_time_has_passed_and_nobody_looks(desk: Desk) -> None:
    (asked,) = (await desk.say("call ship 2"))["pending_approvals"]
    await desk.until_asleep()
    desk.clock.advance(2 * HOUR - 1)
    early = list(NOTES)
    desk.clock.advance(2)
    await desk.until_clocks(0)
    end, _ = await desk.until_runs(2)
    steps = (await desk.running.http.get(f"{THREAD}/runs/{asked['run_id']}/timeline")).json()["steps"]

    (answer,) = (step for step in steps if step["kind"] == "approval_answered")
    assert (asked["default"], early, end["response"]) == ("depot 2", [], "told: 2 to depot 2")
    assert (answer["value"], answer["default"], "by" in answer) == ("depot 2", True, False)
    assert NOTES == ["ship 2 to depot 2"]


@pytest.mark.behaviour("asks.default")
async def test_a_persons_answer_counts_before_that_and_the_default_comes_to_nothing(desk: Desk) -> None:
    (asked,) = (await desk.say("call ship 2"))["pending_approvals"]
    await desk.until_asleep()
    end = await desk.give(asked, {"value": "Elm"})
    desk.clock.advance(2 * HOUR + 1)
    await desk.until_clocks(0)

    assert end["response"] == "told: 2 to Elm"
    assert (len(await desk.runs()), NOTES) == (2, ["ship 2 to Elm"])


@pytest.mark.behaviour("asks.default")
async def test_each_of_several_questions_has_its_own_time(desk: Desk) -> None:
    asked = (await desk.say("call ship 3, ship 1"))["pending_approvals"]
    await desk.until_asleep()
    desk.clock.advance(HOUR + 1)

    async def has_one() -> bool:
        return len((await desk.running.http.get(f"{THREAD}/approvals")).json()["approvals"]) == 1

    await desk.until(has_one)
    (left,) = (await desk.running.http.get(f"{THREAD}/approvals")).json()["approvals"]
    early = list(NOTES)
    await desk.until_asleep()
    desk.clock.advance(2 * HOUR)
    await desk.until_clocks(0)
    end, _ = await desk.until_runs(2)

    assert (len(asked), left["question"], early) == (2, "Where does 3 go?", [])
    assert sorted(NOTES) == ["ship 1 to depot 1", "ship 3 to depot 3"]
    assert end["response"] == "told: 1 to depot 1 | 3 to depot 3"


@pytest.mark.behaviour("asks.expires")
async def test_a_question_without_a_default_expires_at_its_own_time(desk: Desk) -> None:
    (asked,) = (await desk.say("call demand 1"))["pending_approvals"]
    desk.clock.advance(HOUR + 1)
    late = await desk.give(asked, {"value": "me"})
    await desk.say("hello")
    export = (await desk.running.http.get(f"{THREAD}/export")).text

    assert (late["code"], await desk.clocks()) == ("approval_expired", 0)
    assert "nobody answered its question in time" in export


@pytest.mark.behaviour("asks.expires")
@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("default", "The default of 'How many?' does not fit"),
        ("no-time", "asks with a default, and not for how long"),
        ("time", "asks for 0 seconds"),
    ],
)
async def test_a_default_or_a_time_that_is_none_ends_the_run_by_a_sentence(desk: Desk, case: str, why: str) -> None:
    end = await desk.say(f"call wrong {case}")

    assert end["code"] == "run_failed"
    assert why in end["detail"]


@pytest.mark.behaviour("asks.default")
async def test_a_thread_that_is_deleted_takes_its_clock_with_it(desk: Desk) -> None:
    await desk.say("call ship 2")
    await desk.until_asleep()
    deleted = asyncio.ensure_future(desk.running.http.delete(THREAD))

    async def is_deleted() -> bool:
        return deleted.done()

    await desk.until(is_deleted, 0.1)
    receipt = (await desk.running.http.get(f"{THREAD}/erasure")).json()

    assert ((await deleted).status_code, await desk.clocks()) == (204, 0)
    assert [one["outcome"] for one in receipt["instances"] if one["id"].startswith("pause!")] == ["deleted"]
