"""The model of the agents to be tried: `slow` takes 3 s, five words call tools, the rest is an echo."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any

from agent_framework import (
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    tool,
)

WORDS, WORD_SECONDS = 30, 0.1


class Model(BaseChatClient[Any]):
    """Does what the first word of the newest message says."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        return self._build_response_stream(self._updates(messages)) if stream else self._whole(messages)

    async def _whole(self, messages: Sequence[Message]) -> ChatResponse[Any]:
        contents = [content async for content in self._contents(messages[-1])]
        if contents[0].type == "text":
            contents = [Content.from_text("".join(content.text or "" for content in contents))]
        return ChatResponse(messages=Message("assistant", contents))

    async def _updates(self, messages: Sequence[Message]) -> AsyncIterator[ChatResponseUpdate]:
        async for content in self._contents(messages[-1]):
            yield ChatResponseUpdate(role="assistant", contents=[content], message_id=str(len(messages)))

    async def _contents(self, newest: Message) -> AsyncIterator[Content]:
        if newest.role == "tool":
            yield Content.from_text(f"It is done: {newest.contents[-1].result}")
        elif newest.text.startswith("refund"):
            yield Content.from_function_call(call_id="call-1", name="refund", arguments={})
        elif newest.text.startswith("ask"):
            yield Content.from_function_call(call_id="call-1", name="send", arguments={})
        elif newest.text.startswith("edit"):
            yield Content.from_function_call(call_id="call-1", name="write", arguments={"text": "a word"})
        elif newest.text.startswith("work"):
            yield Content.from_function_call(call_id="call-1", name="work", arguments={})
        elif newest.text.startswith("lookup"):
            yield Content.from_function_call(call_id="call-1", name="conformance_lookup", arguments={"subject": "x"})
        elif newest.text.startswith("slow"):
            for number in range(WORDS):
                await asyncio.sleep(WORD_SECONDS)
                yield Content.from_text(f"{number} ")
            yield Content.from_text("done")
        else:
            yield Content.from_text(f"You wrote: {newest.text}")


class Client(FunctionInvocationLayer[Any], Model):
    """The model with function invocation."""


@tool(approval_mode="always_require")
def refund() -> str:
    """Pay money back."""
    return "paid"


@tool(approval_mode="always_require")
def write(text: str) -> str:
    """Write a text."""
    return text


@tool
async def work() -> str:
    """Work for a second."""
    await asyncio.sleep(1)
    return "worked"
