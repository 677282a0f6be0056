"""The app on the local host's engine, in this process, while the engine does what the real one may do."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.app.scripted import scripted_agent
from tests.support.engine_app import EngineApp, engine_app
from tests.support.made_app import app_of

GUARD_SECONDS = 5.0


async def accepted(running: EngineApp, message: str, thread_id: str) -> str:
    """Have a run accepted that the entity makes, and return where its status is."""
    body = {"message": message, "thread_id": thread_id}
    headers = {"x-ms-wait-for-response": "false"}
    answer = await running.http.post("/api/agents/Joker/run", json=body, headers=headers)
    assert answer.status_code == 202, answer.text
    return answer.headers["location"]


async def ended(running: EngineApp, location: str) -> str:
    """Return how the run ended, under the guard."""

    async def status() -> str:
        while (answer := await running.http.get(location)).status_code == 202:  # noqa: ASYNC110 - the engine ends it
            await asyncio.sleep(0)
        return str(answer.json()["status"])

    return await asyncio.wait_for(status(), GUARD_SECONDS)


@pytest.mark.behaviour("engine.unkind")
async def test_a_run_that_the_entity_makes_ends_on_the_engine_itself() -> None:
    """The app's functions, its durable client and the engine are those of a host; only the sockets are missing."""
    async with engine_app(app_of(scripted_agent("Joker"))) as running:
        assert await ended(running, await accepted(running, "hello", "t")) == "success"
