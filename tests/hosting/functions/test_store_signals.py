"""The signal `store` to a thread's entity, which has its document stored although no run of it has ended."""

from __future__ import annotations

import pytest

from devhost.durable.records import EntityId
from tests.support.app.scripted import scripted_agent
from tests.support.engine_app import EngineApp, engine_app
from tests.support.made_app import app_of

CONVERSATIONS = "/api/openai/v1/conversations"


async def stored(running: EngineApp, conversation: str) -> None:
    """Return once the engine has the document of a conversation."""
    entity = EntityId("dafx-joker", conversation.partition("~")[2])

    async def is_stored() -> bool:
        found = await running.store.entity(entity)
        return found is not None and found.state is not None

    await running.store.until(is_stored)


@pytest.mark.behaviour("hosting.one-store")
async def test_a_conversation_that_begins_with_metadata_is_no_run_of_another_store(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its document is stored, and nobody is warned of a run that nobody asked for."""
    async with engine_app(app_of(scripted_agent("Joker"), wires=["responses"])) as running:
        body = {"metadata": {"agent_id": "Joker", "for": "a test"}}
        await stored(running, (await running.http.post(CONVERSATIONS, json=body)).json()["id"])

    assert [record.getMessage() for record in caplog.records if record.name.startswith("hosting")] == []
