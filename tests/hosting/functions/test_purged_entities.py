"""Deletions on an engine that backs off from everything where an entity is purged while it is at work."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from devhost.durable.records import EntityId, Step
from devhost.durable.unkind import Armed, Fault
from hosting.app import Principal
from tests.support.app.scripted import scripted_agent
from tests.support.engine_app import EngineApp, engine_app
from tests.support.made_app import MEMORY, app_of
from tests.support.memory_store import MemoryStore

GUARD_SECONDS = 10.0
THREAD = "/api/agents/Joker/threads/t"
ENTITY = EntityId("dafx-joker", "t")
INSTANCES = "/runtime/webhooks/durabletask/instances"


class SlowStore(MemoryStore):
    """An engine whose commits of entities, from that one on, are under way until `gate` opens; looks are counted."""

    def __init__(self, slow_from: int) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.looks = 0
        self._slow_from = slow_from
        self._commits = 0
        self._has_looked = asyncio.Event()

    def commit(self, step: Step) -> asyncio.Future[None]:
        self._commits += step.entity is not None
        if step.entity is None or self._commits < self._slow_from:
            return super().commit(step)
        return asyncio.ensure_future(self._late(step))

    async def _late(self, step: Step) -> None:
        await self.gate.wait()
        await super().commit(step)

    async def entity(self, entity_id: EntityId) -> Any:
        self.looks += 1
        self._has_looked.set()
        return await super().entity(entity_id)

    async def looked(self, times: int) -> None:
        """Return once entities were looked at so often from now on."""
        until = self.looks + times
        while self.looks < until:
            self._has_looked.clear()
            await asyncio.wait_for(self._has_looked.wait(), GUARD_SECONDS)


def armed() -> Armed:
    """Return an engine on which each purge removes what it finds, whatever is at work."""
    unkind = Armed()
    unkind.arm(Fault.PURGED_WHILE_RUNNING, nth=None)
    return unkind


async def accepted(running: EngineApp, message: str, **headers: str) -> str:
    """Have a run accepted that the entity makes, and return where its status is."""
    headers |= {"x-ms-wait-for-response": "false"}
    body = {"message": message, "thread_id": "t"}
    answer = await running.http.post("/api/agents/Joker/run", json=body, headers=headers)
    assert answer.status_code == 202, answer.text
    return answer.headers["location"]


async def outcome(running: EngineApp) -> str:
    """Return what became of the thread's entity, by the receipt."""
    receipt = (await running.http.get(f"{THREAD}/erasure")).json()
    return str(receipt["instances"][-1]["outcome"])


async def index(running: EngineApp) -> list[str]:
    """Return the instances that the engine knows."""
    return [instance["instanceId"] for instance in (await running.http.get(INSTANCES)).json()]


async def until(running: EngineApp, expected: str) -> None:
    """Return once the receipt says so of the thread's entity, under the guard."""

    async def is_so() -> bool:
        return await outcome(running) == expected

    await running.store.until(is_so, GUARD_SECONDS)


@pytest.mark.behaviour("erasure.entity")
@pytest.mark.parametrize("message", ["hello", "sleep 60"])
async def test_three_deletes_at_once_purge_an_entity_once_it_has_ended(
    message: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Each says that the thread is gone, and none disturbs the engine."""
    async with engine_app(app_of(scripted_agent("Joker")), unkind=armed()) as running:
        await accepted(running, message)

        answers = await asyncio.gather(*[running.http.delete(THREAD) for _ in range(3)])

        assert [answer.status_code for answer in answers] == [204, 204, 204]
        # Who looks for two seconds between the purge and its record, as on a slow machine, finds none: it is gone.
        assert await outcome(running) in {"deleted", "missing"}
        assert await index(running) == []
    assert "Backing off" not in caplog.text


@pytest.mark.behaviour("erasure.entity")
async def test_a_thread_that_begins_again_keeps_its_entity(caplog: pytest.LogCaptureFixture) -> None:
    """The end that it left is no document of its next life."""
    async with engine_app(app_of(scripted_agent("Joker")), unkind=armed()) as running:
        await accepted(running, "one")
        await running.http.delete(THREAD)
        again = await running.http.post("/api/agents/Joker/run", json={"message": "two", "thread_id": "t"})
        await running.store.until(lambda: is_stored(running, "two"))

        assert again.json()["message_count"] == 2
        assert await index(running) == ["@dafx-joker@t"]
    assert "Backing off" not in caplog.text


async def is_stored(running: EngineApp, text: str) -> bool:
    """Return whether the engine has a conversation with that text."""
    entity = await running.store.entity(ENTITY)
    return entity is not None and text in (entity.state or "")


@pytest.mark.behaviour("erasure.entity", "owners.person")
async def test_the_erasure_of_a_person_has_ended_once_the_engine_knows_nothing_of_them() -> None:
    """Until then it is accepted, and again continues with what is left."""

    def ada(request: Any) -> Principal:
        return Principal("https://login.example", "ada")

    store = SlowStore(slow_from=2)  # the first one is of the run
    app = app_of(
        scripted_agent("Joker"),
        principal=ada,
        environ={**MEMORY, "AGENT_WAIT_SECONDS": "1"},
        enable_mcp_tool_trigger=False,
    )
    async with engine_app(app, inner=store, unkind=armed()) as running:
        await accepted(running, "sleep 60")
        first = await running.http.delete("/api/owners/me")
        store.gate.set()
        async with asyncio.timeout(GUARD_SECONDS):
            while (again := await running.http.delete("/api/owners/me")).status_code == 202:
                pass

        assert (first.status_code, again.status_code) == (202, 200)
        assert await index(running) == []
