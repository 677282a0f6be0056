"""The model of the agents to be tried: `slow` takes 2 s, eight words call tools, the rest is an echo."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from pathlib import Path
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

WORDS, WORD_SECONDS = 20, 0.1
STEPS, STEP_SECONDS = 8, 0.3
CALLED = {
    "refund": ("refund", {}),
    "ask": ("send", {}),
    "default": ("send_soon", {}),
    "edit": ("write", {"text": "a word"}),
    "work": ("work", {}),
    "lookup": ("conformance_lookup", {"subject": "x"}),
    "behalf": ("letters", {}),
}
"""The tool that the first word of a message calls, with its arguments."""


class Model(BaseChatClient[Any]):
    """Does what the first word of the newest message says."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        return self._build_response_stream(self._updates(messages)) if stream else self._whole(messages)

    async def _whole(self, messages: Sequence[Message]) -> ChatResponse[Any]:
        contents = [content async for content in self._contents(messages)]
        if contents[0].type == "text":
            contents = [Content.from_text("".join(content.text or "" for content in contents))]
        return ChatResponse(messages=Message("assistant", contents))

    async def _updates(self, messages: Sequence[Message]) -> AsyncIterator[ChatResponseUpdate]:
        async for content in self._contents(messages):
            yield ChatResponseUpdate(role="assistant", contents=[content], message_id=str(len(messages)))

    async def _contents(self, messages: Sequence[Message]) -> AsyncIterator[Content]:
        newest = messages[-1]
        asked = next((message.text for message in reversed(messages) if message.role == "user"), "")
        made = len([message for message in messages if message.role == "tool"])
        word = newest.text.partition(" ")[0]
        if asked.startswith("long") and made < STEPS:
            arguments = {"run": asked.partition("(")[2].rstrip(")"), "number": made + 1}
            yield Content.from_function_call(call_id=f"call-{made + 1}", name="step", arguments=arguments)
        elif newest.role == "tool":
            yield Content.from_text(f"It is done: {newest.contents[-1].result}")
        elif word in CALLED:
            name, given = CALLED[word]
            yield Content.from_function_call(call_id="call-1", name=name, arguments=given)
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


@tool
async def step(run: str, number: int) -> str:
    """Make one step of a run, and return all that were made."""
    await asyncio.sleep(STEP_SECONDS)
    made = Path(os.environ.get("STEPS", ".")) / f"steps-{run}.txt"
    with made.open("a", encoding="utf-8") as file:
        file.write(f"step-{number} ")
    return made.read_text(encoding="utf-8")
