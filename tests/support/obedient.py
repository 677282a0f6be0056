"""An agent whose model says with which options it was called."""

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
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    tool,
)

from hosting.tools import idempotent

_NOT_SAID = {"tools", "response_format", "store"}
_DEFAULTS = (None, "auto")


class _ObedientModel(BaseChatClient[Any]):
    """Answers with its options as JSON. Of "call NAME" it calls that tool first, once for each message.

    A tool that must be called it calls; the arguments are what the message says, if that is an object.
    """

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        if stream:
            return self._build_response_stream(self._updates(messages, options))
        return self._answer(messages, options)

    async def _updates(
        self, messages: Sequence[Message], options: Mapping[str, Any]
    ) -> AsyncIterator[ChatResponseUpdate]:
        for message in (await self._answer(messages, options)).messages:
            yield ChatResponseUpdate(contents=message.contents, role="assistant")

    async def _answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        newest = messages[-1]
        word, _, name = newest.text.partition(" ")
        if newest.role == "user" and word == "call":
            call = Content.from_function_call(call_id=f"call-{len(messages)}", name=name, arguments="{}")
            return ChatResponse(messages=Message("assistant", [call]))
        choice = options.get("tool_choice")
        if isinstance(choice, Mapping) and newest.role == "user":
            arguments = newest.text if newest.text.startswith("{") else "{}"
            call = Content.from_function_call("named", choice["required_function_name"], arguments=arguments)
            return ChatResponse(messages=Message("assistant", [call]))
        given = {name: value for name, value in options.items() if name not in _NOT_SAID and value not in _DEFAULTS}
        return ChatResponse(messages=Message("assistant", [json.dumps(given, sort_keys=True)]))


class ObedientClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], _ObedientModel):
    """The model with function invocation and middleware."""


@idempotent
def look() -> str:
    """Look around."""
    return "a door"


@tool(approval_mode="always_require")
def leave() -> str:
    """Leave the room."""
    return "gone"


def obedient(name: str = "Joker", client: Any = None, **options: Any) -> Agent[Any]:
    """Return the agent; `look` is its tool, and `leave` one that a person must approve."""
    return Agent(client or ObedientClient(), name=name, tools=[look, leave], **options)
