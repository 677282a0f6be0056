"""An agent whose context provider keeps notes in the session, and whose model says what it was given."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    ChatResponse,
    ContextProvider,
    Message,
    SessionContext,
)

from tests.support.answering import AnsweringClient, says


class Notes(ContextProvider):
    """Counts its runs in the session, and gives the model the notes there."""

    def __init__(self) -> None:
        super().__init__("notes")

    async def before_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Count the run, and tell the notes."""
        state["runs"] = state.get("runs", 0) + 1
        context.extend_instructions(self.source_id, f"notes: {state.get('text', 'none')}, runs: {state['runs']}")


class NotetakersClient(AnsweringClient):
    """Says its instructions, then all messages with their roles; after `hold` once `goes_on` is set."""

    goes_on: threading.Event | None = None

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        if messages[-1].text == "hold" and self.goes_on is not None:
            await asyncio.to_thread(self.goes_on.wait, 5)
        said = [f"{message.role}={message.text}" for message in messages if not message.text.startswith("notes:")]
        return says(f"{options.get('instructions')}; {' | '.join(said)}")


def notetaker(goes_on: threading.Event | None = None) -> Agent[Any]:
    """Return the agent "Clerk" that keeps notes; a run that is to `hold` ends once that event is set."""
    client = NotetakersClient()
    client.goes_on = goes_on
    return Agent(client, name="Clerk", context_providers=[Notes()])
