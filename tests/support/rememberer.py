"""The clerk with a memory: it remembers and forgets as it is told, and says what its model was given."""

from __future__ import annotations

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
)

from hosting.features.memory.provider import OwnerMemory


class _Rememberer(BaseChatClient[Any]):
    """`remember TEXT`, `forget ID` and `write TEXT` call tools and tell the results; else it has the instructions."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        answer = self._answer(messages, options)
        return self._build_response_stream(_streamed(answer)) if stream else answer

    async def _answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        newest = messages[-1]
        if newest.role == "tool":
            return _says(f"told: {newest.contents[0].result}")
        word, _, rest = newest.text.partition(" ")
        calls = {
            "remember": ("remember", {"fact": rest}),
            "forget": ("forget", {"fact_id": rest}),
            "write": ("file_access_write", {"file_name": "a.md", "content": rest}),
        }
        if word in calls:
            name, arguments = calls[word]
            return ChatResponse(
                messages=Message("assistant", [Content.from_function_call("call-1", name, arguments=arguments)])
            )
        tools = [one.name for one in options.get("tools") or ()]
        return _says(f"{options.get('instructions')}\ntools: {' '.join(tools)}")


class RememberersClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], _Rememberer):
    """The model with function invocation and middleware."""


def rememberer(others: Sequence[Any] = (), **options: Any) -> Agent[Any]:
    """Return the agent "Clerk" with a memory, and other context providers."""
    return Agent(RememberersClient(), "Do as told.", name="Clerk", context_providers=[OwnerMemory(**options), *others])


async def _streamed(answer: Awaitable[ChatResponse[Any]]) -> AsyncIterator[ChatResponseUpdate]:
    for message in (await answer).messages:
        yield ChatResponseUpdate(role="assistant", contents=message.contents)


def _says(text: str) -> ChatResponse[Any]:
    return ChatResponse(messages=Message("assistant", [text]))
