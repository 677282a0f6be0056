"""An agent whose context provider keeps notes in the session, and whose model says what it was given."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    ContextProvider,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    SessionContext,
)


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


class _NotetakersModel(BaseChatClient[Any]):
    """Says its instructions, then all messages with their roles; after `hold` once `goes_on` is set."""

    goes_on: threading.Event | None = None

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        answer = self._answer(messages, options)
        return self._build_response_stream(_streamed(answer)) if stream else answer

    async def _answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        if messages[-1].text == "hold" and self.goes_on is not None:
            await asyncio.to_thread(self.goes_on.wait, 5)
        said = [f"{message.role}={message.text}" for message in messages if not message.text.startswith("notes:")]
        return ChatResponse(messages=Message("assistant", [f"{options.get('instructions')}; {' | '.join(said)}"]))


class NotetakersClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], _NotetakersModel):
    """The model with function invocation and middleware."""


def notetaker(goes_on: threading.Event | None = None) -> Agent[Any]:
    """Return the agent "Clerk" that keeps notes; a run that is to `hold` ends once that event is set."""
    client = NotetakersClient()
    client.goes_on = goes_on
    return Agent(client, name="Clerk", context_providers=[Notes()])


async def _streamed(answer: Awaitable[ChatResponse[Any]]) -> AsyncIterator[ChatResponseUpdate]:
    for message in (await answer).messages:
        yield ChatResponseUpdate(role="assistant", contents=message.contents)
