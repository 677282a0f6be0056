"""What an agent is given of its conversation: whole, and only where its request has room in it."""

from __future__ import annotations

import pytest
from agent_framework import AgentResponse, Message

from hosting.core.stores.memory import MemoryObjects, SharedMemory
from hosting.errors import AttachmentsUnavailableError, LogUnavailableError
from hosting.names import Address
from state.conversation import append_turn
from state.convert import request_entry
from state.models import Conversation
from tests.support.process import ADDRESS, Engine, Process, call
from tests.support.state_documents import response_entry


class Contents:
    """Gives each conversation a turn that only it has, unless it is away."""

    def __init__(self) -> None:
        self.is_away = False
        self.requested: list[tuple[Address, int]] = []

    async def inline(self, address: Address, epoch: int, conversation: Conversation) -> Conversation:
        self.requested.append((address, epoch))
        if self.is_away:
            raise AttachmentsUnavailableError()
        requested = request_entry(run_id="r0", created_at="2026-01-01T00:00:00Z", messages=[Message("user", ["whole"])])
        text = AgentResponse(messages=[Message("assistant", ["yes"])])
        return append_turn(
            conversation, requested, response_entry(run_id="r0", created_at="2026-01-01T00:00:00Z", response=text)
        )


def process_with(**holding: object) -> Process:
    return Process(SharedMemory(), MemoryObjects(), Engine(), holding=holding)


@pytest.mark.behaviour("service.given-conversations")
async def test_an_agent_is_given_what_its_conversation_refers_to() -> None:
    contents = Contents()
    process = process_with(inline=contents.inline)
    for message in ("one", "two"):
        run = await process.start(call(message))
        await process.runs.wait(run, process.engine, 5.0)

    assert process.agent.turns == [["whole", "yes", "one"], ["one", "echo: one", "whole", "yes", "two"]]
    assert contents.requested == [(ADDRESS, 0)] * 2
    process.loop.close()


@pytest.mark.behaviour("service.given-conversations")
async def test_a_run_whose_conversation_cannot_be_had_whole_goes_on_when_it_can() -> None:
    """It is released, and its entity asks to be delivered again before the agent is run."""
    contents = Contents()
    process = process_with(inline=contents.inline)
    contents.is_away = True
    run = await process.start(call())
    await process.runs.wait(run, process.engine, 0.05)
    assert await process.kinds() == ["accepted", "claimed", "released"]

    with pytest.raises(LogUnavailableError):
        await process.deliver(run.run_id)
    contents.is_away = False
    await process.deliver(run.run_id)

    assert process.agent.turns == [["whole", "yes", "hi"]]
    assert (await process.kinds())[-3:] == ["released", "claimed", "completed"]
    process.loop.close()
