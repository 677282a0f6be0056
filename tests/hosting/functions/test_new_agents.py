"""A new agent while a deployment goes on: the engine hands operations of it to instances that do not have it."""

from __future__ import annotations

from functools import partial

import pytest

import hosting.app
from devhost.durable.records import EntityId
from devhost.durable.unkind import Armed, Fault
from tests.support.app.scripted import scripted_agent
from tests.support.engine_app import engine_app
from tests.support.made_app import app_of

GUARD_SECONDS = 5.0
NEWCOMER = "@dafx-joker@t"


@pytest.mark.behaviour("service.promised")
async def test_a_run_whose_operation_an_older_instance_lost_is_made_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody asks for it: whoever answered 202 signals again."""
    monkeypatch.setattr(hosting.app, "Services", partial(hosting.app.Services, look_seconds=0.05))
    unkind = Armed()
    for nth in (1, 2):
        unkind.arm(Fault.LOST_OPERATION, NEWCOMER, nth)
    async with engine_app(app_of(scripted_agent("Joker")), unkind=unkind) as running:
        body = {"message": "hello", "thread_id": "t", "wait_for_response": False}
        answer = await running.http.post("/api/agents/Joker/run", json=body)

        async def is_stored() -> bool:
            entity = await running.store.entity(EntityId("dafx-joker", "t"))
            return entity is not None and entity.exists

        await running.store.until(is_stored, GUARD_SECONDS)

    assert (answer.status_code, len(unkind.struck)) == (202, 2)
