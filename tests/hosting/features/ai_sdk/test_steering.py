"""Messages that join a run at work: shown in its stream, and answered by it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.ai_sdk import Chunk, chunks_of, text_of
from tests.support.made_app import app_of, served
from tests.support.steered import Working

pytestmark = pytest.mark.behaviour("ai-sdk.steering")


def body(message_id: str, text: str) -> dict[str, Any]:
    """Return the request of a chat whose last message is this."""
    return {"id": "t", "messages": [{"id": message_id, "role": "user", "parts": [{"type": "text", "text": text}]}]}


async def test_a_message_that_joins_a_run_is_shown_there_and_gets_its_answer() -> None:
    """A chat that is reloaded has it within the answer, and no answer of its own."""
    working = Working("Joker")
    app = app_of(wires=["ai-sdk"])
    app.add_agent(working.agent, busy="steer")
    async with served(app) as (_, http):

        async def run(fields: dict[str, Any]) -> list[Chunk]:
            return chunks_of((await http.post("/api/ai-sdk/Joker", json=fields)).text)

        at_work = asyncio.ensure_future(run(body("u1", "first")))
        await working.at_work()
        joining = asyncio.ensure_future(run(body("u2", "and this")))
        while len((await http.get("/api/agents/Joker/threads/t/runs")).json()["runs"]) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        working.open()
        chunks, joined = await at_work, await joining
        messages = (await http.get("/api/ai-sdk/Joker/t")).json()["messages"]

    (steering,) = [chunk for chunk in chunks if chunk["type"] == "steering-message"]
    assert steering["parts"] == [{"type": "text", "text": "and this"}]
    assert text_of(joined) == text_of(chunks)
    assert joined[0]["messageId"] != chunks[0]["messageId"]
    assert [message["id"] for message in messages] == ["u1", chunks[0]["messageId"]]
    assert steering in messages[-1]["parts"]
