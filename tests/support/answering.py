"""What models of tests have in common: they answer by a coroutine, and are streamed as the framework wants it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from typing import Any

from agent_framework import (
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
)


class AnsweringModel(BaseChatClient[Any]):
    """Answers by `answer`. A stream has each message whole, or the `pieces` of its contents one by one."""

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        raise NotImplementedError

    def pieces(self, content: Content) -> Iterable[Content] | None:
        """Return what a stream has of a content; None where each message comes whole."""
        return None

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        if stream:
            return self._build_response_stream(self._updates(messages, options))
        return self.answer(messages, options)

    async def _updates(
        self, messages: Sequence[Message], options: Mapping[str, Any]
    ) -> AsyncIterator[ChatResponseUpdate]:
        response, name = await self.answer(messages, options), str(len(messages))
        for message in response.messages:
            pieces = [self.pieces(content) for content in message.contents]
            if None in pieces:
                yield ChatResponseUpdate(contents=message.contents, role="assistant")
                continue
            for piece in (piece for each in pieces for piece in each or ()):
                yield ChatResponseUpdate(contents=[piece], role="assistant", message_id=name)
        if response.usage_details is not None:
            usage = [Content.from_usage(response.usage_details)]
            yield ChatResponseUpdate(contents=usage, role="assistant", message_id=name)


class AnsweringClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], AnsweringModel):
    """The model with function invocation and middleware, as the framework's clients are made."""


def says(*contents: str | Content, usage: Any = None) -> ChatResponse[Any]:
    """Return the answer with these contents, a text for each string."""
    made = [Content.from_text(content) if isinstance(content, str) else content for content in contents]
    return ChatResponse(messages=Message("assistant", made), usage_details=usage)


def calls(name: str, call_id: str = "call-1", **arguments: Any) -> Content:
    return Content.from_function_call(call_id, name, arguments=arguments)
