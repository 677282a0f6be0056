"""A model whose time is known, and which can be asked what its conversation holds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
)


class TimedModel(BaseChatClient[Any]):
    """Answers `wait SECONDS` after that time, `recall` by the JSON list of all the user's texts, and else at once."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        if stream:
            raise NotImplementedError("The timed model does not stream.")
        return answer(messages)


class TimedClient(FunctionInvocationLayer[Any], TimedModel):
    """The timed model as an agent takes it."""


async def answer(messages: Sequence[Message]) -> ChatResponse[Any]:
    word, _, rest = messages[-1].text.partition(" ")
    if word == "wait":
        await asyncio.sleep(float(rest))
    if word == "recall":
        return says(json.dumps([message.text for message in messages if message.role == "user"]))
    return says(f"Heard: {messages[-1].text}")


def says(text: str) -> ChatResponse[Any]:
    return ChatResponse(messages=Message("assistant", [text]))


def timed_agent() -> Agent[Any]:
    return Agent(TimedClient(), "Answer in time.", name="timed", description="Takes as long as it is told.")
