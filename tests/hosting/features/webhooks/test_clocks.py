"""Webhooks that wait, on the local host's engine: tried again by their clocks, of which nothing is left."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

import hosting.app
from devhost.durable.records import Orchestration, orchestration_target
from devhost.durable.store.contract import InstanceFilter
from devhost.durable.unkind import KIND, Armed, Fault, Unkind
from hosting.core.hooks import ENTITY
from hosting.features.webhooks.delivery import JITTER, PAUSES, WEBHOOK_CLOCK
from hosting.ports import Clocks
from tests.support.a2a import HEADERS, message
from tests.support.app.scripted import scripted_agent
from tests.support.engine_app import EngineApp, engine_app
from tests.support.engine_clocks import ManualClock
from tests.support.made_app import app_of, ask
from tests.support.receiver import GUARD_SECONDS, WEBHOOKS, Receiver, receiving

pytestmark = pytest.mark.behaviour("webhooks.again")

THREAD = "/api/agents/Joker/threads/t"
ENGINE = "/runtime/webhooks/durabletask"


@dataclass(frozen=True)
class Waiting:
    """The running app, whose clock is the engine's, and the receiver of its runs."""

    running: EngineApp
    clock: ManualClock
    receiver: Receiver

    async def end(self, statuses: list[int], path: str = "/hook") -> str:
        self.receiver.statuses = statuses
        url = f"{self.receiver.url}{path}"
        answer = await ask(self.running.http, "say hello", thread_id="t", webhook=url)
        return str(answer.json()["run_id"])

    async def deliveries(self) -> list[dict[str, Any]]:
        return list((await self.running.http.get(f"{THREAD}/webhooks")).json()["deliveries"])

    async def until_state(self, state: str) -> dict[str, Any]:
        async def shown() -> bool:
            return [one["state"] for one in await self.deliveries()] == [state]

        await self.until(shown)
        return (await self.deliveries())[0]

    async def until_tried(self, times: int) -> None:
        """Return once so many tries are on record, and the clock sleeps that comes behind them.

        Its input is there before the episode that has the timer.
        """

        async def tried() -> bool:
            clocks = await self.clocks()
            tries = [self.running.value_of(clock.input)["tries"] for clock in clocks]
            return tries == [times] and await self.sleeps(clocks[0])

        await self.until(tried)

    async def inputs(self) -> list[str]:
        return [str(clock.input) for clock in await self.clocks()]

    async def sleeps(self, clock: Orchestration) -> bool:
        waiting = await self.running.store.messages(orchestration_target(clock.instance_id), 10)
        return any(message.due is not None and message.due > self.clock.now() for message in waiting)

    async def clocks(self) -> list[Orchestration]:
        clocks = await self.running.store.list_orchestrations(InstanceFilter(), "", None)
        return [clock for clock in clocks if clock.name == WEBHOOK_CLOCK]

    async def until_no_clock(self) -> None:
        async def gone() -> bool:
            return await self.inputs() == []

        await self.until(gone)

    async def until(self, is_true: Callable[[], Awaitable[bool]], seconds: float = 0.0) -> None:
        async def asked() -> None:
            while not await is_true():
                self.clock.advance(seconds)
                await asyncio.sleep(0.01)

        await asyncio.wait_for(asked(), GUARD_SECONDS)


@asynccontextmanager
async def waiting(monkeypatch: pytest.MonkeyPatch, unkind: Unkind = KIND, **options: Any) -> AsyncIterator[Waiting]:
    clock = ManualClock()
    clocks = Clocks(wall=lambda: clock.now().timestamp())
    monkeypatch.setattr(hosting.app, "Services", partial(hosting.app.Services, clocks=clocks))
    app = app_of(scripted_agent("Joker"), environ=WEBHOOKS, **options)
    async with receiving() as receiver, engine_app(app, clock=clock, unkind=unkind) as running:
        yield Waiting(running, clock, receiver)


FAULTS = [
    (Fault.SENT_NOT_COMMITTED, WEBHOOK_CLOCK, 1),
    (Fault.MOVED_PARTITION, WEBHOOK_CLOCK, 5),
    (Fault.DIED_AFTER_ENTITY, ENTITY, 4),
    (Fault.DELIVERED_TWICE, WEBHOOK_CLOCK, None),
]


@pytest.mark.parametrize(("fault", "target", "nth"), FAULTS)
async def test_whatever_the_engine_does_each_try_is_made_once_and_no_instance_is_left(
    monkeypatch: pytest.MonkeyPatch, fault: Fault, target: str, nth: int | None
) -> None:
    """A host dies in a clock's episode or behind an operation, or a message comes twice, or late."""
    unkind = Armed()
    unkind.arm(fault, target, nth)
    async with waiting(monkeypatch, unkind) as app:
        await app.end([503, 503, 204])

        async def is_over() -> bool:
            return [one["state"] for one in await app.deliveries()] == ["delivered"] and await app.inputs() == []

        await app.until(is_over, 10.0)
        tries = [one["status"] for one in (await app.deliveries())[0]["tries"]]
    assert unkind.struck
    assert (tries, app.receiver.arrived.qsize()) == ([503, 503, 204], 3)


@pytest.mark.behaviour("a2a.push")
async def test_each_receiver_of_a_task_has_a_clock_of_its_own_and_no_secret_is_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The next try has the token and the credentials, as they are by then."""
    async with waiting(monkeypatch, wires=["a2a"]) as app:
        app.receiver.statuses = [503]
        secrets = {"token": "canary-token", "authentication": {"scheme": "Bearer", "credentials": "canary-key"}}
        config = {"taskPushNotificationConfig": {"url": f"{app.receiver.url}/canary", "id": "mine", **secrets}}
        sent = {"message": message("say hello", contextId="t"), "configuration": config}
        call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": sent}
        await app.running.http.post("/api/a2a/Joker", json=call, headers=HEADERS)
        await app.receiver.next()
        await app.until_tried(1)
        clocks = json.dumps(await app.inputs())
        history = (await app.running.http.get(f"{ENGINE}/instances?showInput=true")).text
        app.clock.advance(PAUSES[0] * (1 + JITTER) + 1)
        again = await app.receiver.next()
        await app.until_state("delivered")
        await app.until_no_clock()

    assert (again.headers["x-a2a-notification-token"], again.headers["authorization"]) == (
        "canary-token",
        "Bearer canary-key",
    )
    assert "push-mine" in clocks
    assert "canary" not in clocks + history
