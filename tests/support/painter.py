"""An agent whose tools read and change what its page shares with it, and which says what it was shown."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    ContextProvider,
    FunctionInvocationContext,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    tool,
)

from hosting.shared_state import read_state, write_state
from hosting.tools import idempotent


class _PaintersModel(BaseChatClient[Any]):
    """Calls the tools that the newest message of a user names, one after the other, and says their results.

    `paint red, look`: the word behind a name is the tool's argument.
    """

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        return self._build_response_stream(self._updates(messages)) if stream else self._answer(messages)

    async def _updates(self, messages: Sequence[Message]) -> AsyncIterator[ChatResponseUpdate]:
        for message in (await self._answer(messages)).messages:
            yield ChatResponseUpdate(contents=message.contents, role="assistant")

    async def _answer(self, messages: Sequence[Message]) -> ChatResponse[Any]:
        newest = max(place for place, message in enumerate(messages) if message.role == "user")
        results = [
            str(content.result)
            for message in messages[newest:]
            for content in message.contents
            if content.type == "function_result"
        ]
        steps = [step.split() for step in messages[newest].text.split(",")]
        if len(results) == len(steps):
            return ChatResponse(messages=Message("assistant", [" | ".join(results)]))
        name, *words = steps[len(results)]
        call = Content.from_function_call(
            call_id=f"call-{len(results)}", name=name, arguments={"word": " ".join(words)}
        )
        return ChatResponse(messages=Message("assistant", [call]))


class PaintersClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], _PaintersModel):
    """The painter's model with function invocation and middleware."""


@idempotent
def look(word: str, context: FunctionInvocationContext) -> str:
    """Say what is shared."""
    return json.dumps(read_state(context.session))


@idempotent
def paint(word: str, context: FunctionInvocationContext) -> str:
    """Change the color."""
    write_state(context.session, {**(read_state(context.session) or {}), "color": word})
    return f"painted {word}"


def clear(word: str, context: FunctionInvocationContext) -> str:
    """Take all away."""
    write_state(context.session, {})
    return "cleared"


@tool(approval_mode="always_require")
def frame(word: str, context: FunctionInvocationContext) -> str:
    """Say what is shared, once a person approves."""
    return look(word, context)


def painter(name: str = "Painter", *providers: ContextProvider, tools: Sequence[Any] = ()) -> Agent[Any]:
    """Return the agent, with more tools."""
    own = [look, paint, clear, frame, *tools]
    return Agent(PaintersClient(), name=name, tools=own, context_providers=list(providers))
