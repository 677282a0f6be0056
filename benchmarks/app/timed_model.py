"""A model whose time is known, and which can be asked what its conversation holds."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
)


class TimedModel(BaseChatClient[Any]):
    """Answers `wait SECONDS` after that time, `recall` by the JSON list of all the user's texts, and else at once.

    Streamed, `speak COUNT RATE` says so many words, so many a second, each the time at which it is said.
    """

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        if stream:
            return self._build_response_stream(words(messages))
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


async def words(messages: Sequence[Message]) -> AsyncIterator[ChatResponseUpdate]:
    """Say the time, in seconds of `time.perf_counter`, which all processes of a machine share; late words are caught
    up on, as a model does that was not read for a while."""
    word, _, rest = messages[-1].text.partition(" ")
    if word != "speak":
        raise ValueError("The timed model streams for `speak COUNT RATE` only.")
    count, rate = (float(number) for number in rest.split())
    began = time.perf_counter()
    for number in range(int(count)):
        await asyncio.sleep(max(0.0, began + number / rate - time.perf_counter()))
        output = Content.from_text(f"{time.perf_counter():.6f} ")
        yield ChatResponseUpdate(role="assistant", contents=[output], message_id="spoken")


def says(text: str) -> ChatResponse[Any]:
    return ChatResponse(messages=Message("assistant", [text]))


def timed_agent() -> Agent[Any]:
    return Agent(TimedClient(), "Answer in time.", name="timed", description="Takes as long as it is told.")
