"""Webhooks that wait, on the local host's engine: whatever that does, of their clocks nothing is left."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

import hosting.app
from devhost.durable.store.contract import InstanceFilter
from devhost.durable.unkind import Armed, Fault
from hosting.core.hooks import ENTITY
from hosting.features.webhooks.delivery import WEBHOOK_CLOCK
from hosting.ports import Clocks
from tests.support.app.scripted import scripted_agent
from tests.support.engine_app import engine_app
from tests.support.engine_clocks import ManualClock
from tests.support.made_app import app_of, ask
from tests.support.receiver import WEBHOOKS, receiving

FAULTS = [
    (Fault.SENT_NOT_COMMITTED, WEBHOOK_CLOCK, 1),
    (Fault.MOVED_PARTITION, WEBHOOK_CLOCK, 5),
    (Fault.DIED_AFTER_ENTITY, ENTITY, 3),
    (Fault.DELIVERED_TWICE, WEBHOOK_CLOCK, None),
]


@pytest.mark.behaviour("webhooks.again")
@pytest.mark.parametrize(("fault", "target", "nth"), FAULTS)
async def test_whatever_the_engine_does_each_try_is_made_once_and_no_instance_is_left(
    monkeypatch: pytest.MonkeyPatch, fault: Fault, target: str, nth: int | None
) -> None:
    """A host dies in a clock's episode or behind an operation, or a message comes twice, or late."""
    unkind, clock = Armed(), ManualClock()
    unkind.arm(fault, target, nth)
    clocks = Clocks(wall=lambda: clock.now().timestamp())
    monkeypatch.setattr(hosting.app, "Services", partial(hosting.app.Services, clocks=clocks))
    app = app_of(scripted_agent("Joker"), environ=WEBHOOKS)
    async with receiving() as receiver, engine_app(app, clock=clock, unkind=unkind) as running, asyncio.timeout(10.0):
        receiver.statuses = [503, 503, 204]
        await ask(running.http, "say hello", thread_id="t", webhook=f"{receiver.url}/hook")
        state, sleeping = "", [WEBHOOK_CLOCK]
        while state != "delivered" or sleeping:
            clock.advance(10.0)
            await asyncio.sleep(0.01)
            shown = (await running.http.get("/api/agents/Joker/threads/t/webhooks")).json()["deliveries"]
            state = shown[0]["state"] if shown else ""
            instances = await running.store.list_orchestrations(InstanceFilter(), "", None)
            sleeping = [instance.name for instance in instances if instance.name == WEBHOOK_CLOCK]

    assert unkind.struck
    assert ([tried["status"] for tried in shown[0]["tries"]], receiver.arrived.qsize()) == ([503, 503, 204], 3)
