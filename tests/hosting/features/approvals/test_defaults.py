"""Questions with a time of their own: their defaults, and what does not run out while they wait."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from agent_framework import Agent, tool

from hosting.features.approvals.deadlines import CLOCK
from hosting.tools import current, idempotent
from tests.support.clerk import ClerksClient
from tests.support.cluster.cluster import Cluster

pytestmark = pytest.mark.moved_time
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


class Desk:
    """A process of a Cluster whose clocks run."""

    def __init__(self) -> None:
        NOTES.clear()
        agent = Agent(ClerksClient(), name="Clerk", tools=[ship, demand, wrong])
        self.cluster = Cluster(lambda: agent)
        self.cluster.run_clocks()
        self.app = self.cluster.process()

    async def ask(self, method: str, path: str, **options: Any) -> Any:
        """Send a request, have all be done that comes of it, and return the answer's fields."""
        answer = await self.app.http.request(method, path, **options)
        await self.settle()
        return answer.json() if answer.content else None

    async def settle(self) -> None:
        await self.cluster.sleep(1)
        await self.cluster.deliver(self.app)

    async def pass_time(self, seconds: float) -> None:
        await self.cluster.sleep(seconds)
        await self.settle()

    async def say(self, message: str) -> Any:
        return await self.ask("POST", "/api/agents/Clerk/run", json={"message": message, "thread_id": "t"})

    async def give(self, asked: Any, answer: Any) -> Any:
        """Answer what waits; return what comes of it."""
        return await self.ask("POST", f"{THREAD}/approvals/{asked['id']}", json=answer)

    async def runs(self) -> list[Any]:
        runs = (await self.ask("GET", f"{THREAD}/runs"))["runs"]
        return [await self.ask("GET", f"{THREAD}/runs/{run['run_id']}") for run in runs]

    @property
    def clocks(self) -> int:
        return sum(name == CLOCK for name, _ in self.cluster.engine.clocks.values())


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    """An app whose tools ask."""
    desk = Desk()
    yield desk
    await desk.cluster.close()


@pytest.mark.behaviour("asks.default")
async def test_a_run_goes_on_with_the_default_when_its_time_has_passed_and_nobody_looks(desk: Desk) -> None:
    (asked,) = (await desk.say("call ship 2"))["pending_approvals"]
    await desk.pass_time(2 * HOUR - 60)
    early = list(NOTES)
    await desk.pass_time(120)
    end, _ = await desk.runs()
    steps = (await desk.ask("GET", f"{THREAD}/runs/{asked['run_id']}/timeline"))["steps"]
    (answer,) = (step for step in steps if step["kind"] == "approval_answered")

    assert (asked["default"], early, end["response"]) == ("depot 2", [], "told: 2 to depot 2")
    assert (answer["value"], answer["default"], "by" in answer) == ("depot 2", True, False)
    assert (NOTES, desk.clocks) == (["ship 2 to depot 2"], 0)


@pytest.mark.behaviour("asks.default")
async def test_a_persons_answer_counts_before_that_and_the_default_comes_to_nothing(desk: Desk) -> None:
    (asked,) = (await desk.say("call ship 2"))["pending_approvals"]
    end = await desk.give(asked, {"value": "Elm"})
    await desk.pass_time(2 * HOUR + 60)

    assert (end["response"], desk.clocks) == ("told: 2 to Elm", 0)
    assert (len(await desk.runs()), NOTES) == (2, ["ship 2 to Elm"])


@pytest.mark.behaviour("asks.default")
async def test_each_of_several_questions_has_its_own_time(desk: Desk) -> None:
    asked = (await desk.say("call ship 3, ship 1"))["pending_approvals"]
    await desk.pass_time(HOUR + 60)
    (left,) = (await desk.ask("GET", f"{THREAD}/approvals"))["approvals"]
    early = list(NOTES)
    await desk.pass_time(2 * HOUR)
    end, _ = await desk.runs()

    assert (len(asked), left["question"], early, desk.clocks) == (2, "Where does 3 go?", [], 0)
    assert sorted(NOTES) == ["ship 1 to depot 1", "ship 3 to depot 3"]
    assert end["response"] == "told: 1 to depot 1 | 3 to depot 3"


@pytest.mark.behaviour("asks.expires")
async def test_a_question_without_a_default_expires_at_its_own_time(desk: Desk) -> None:
    (asked,) = (await desk.say("call demand 1"))["pending_approvals"]
    await desk.pass_time(HOUR)
    late = await desk.give(asked, {"value": "me"})
    await desk.say("hello")
    export = json.dumps(await desk.ask("GET", f"{THREAD}/export"))

    assert (late["code"], desk.clocks) == ("approval_expired", 0)
    assert "nobody answered its question in time" in export


WRONG = {
    "default": "The default of 'How many?' does not fit",
    "no-time": "asks with a default, and not for how long",
    "time": "asks for 0 seconds",
}


@pytest.mark.behaviour("asks.expires")
async def test_a_default_or_a_time_that_is_none_ends_the_run_by_a_sentence(desk: Desk) -> None:
    for case, why in WRONG.items():
        end = await desk.say(f"call wrong {case}")
        assert (end["code"], why in end["detail"]) == ("run_failed", True), case


@pytest.mark.behaviour("asks.default")
async def test_a_thread_that_is_deleted_takes_its_clock_with_it(desk: Desk) -> None:
    await desk.say("call ship 2")
    before = desk.clocks
    deleting = asyncio.ensure_future(desk.app.http.delete(THREAD))
    for _ in range(5):
        await desk.settle()
    receipt = await desk.ask("GET", f"{THREAD}/erasure")

    assert ((await deleting).status_code, before, desk.clocks) == (204, 1, 0)
    assert len([one for one in receipt["instances"] if one["id"].startswith("pause!")]) == 1
