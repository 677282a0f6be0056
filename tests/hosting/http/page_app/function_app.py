"""The app behind the tests of the page: the template's assistant, a clerk who needs approval, a writer of Markdown."""

from __future__ import annotations

import asyncio
import os
import re
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

from agents.assistant import create_assistant
from agents.offline import OfflineChatClient
from hosting.app import AgentFunctionApp
from hosting.tools import idempotent

WORD_SECONDS = float(os.environ.get("WORD_SECONDS", "0.03"))


class WriterModel(BaseChatClient[Any]):
    """Says what stands in the message, word by word; `fail` fails."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        said = messages[-1].text
        return self._build_response_stream(self._words(said)) if stream else self._whole(said)

    async def _whole(self, said: str) -> ChatResponse[Any]:
        if said == "fail":
            raise ValueError("the writer has no ink")
        return ChatResponse(messages=Message("assistant", [said]))

    async def _words(self, said: str) -> AsyncIterator[ChatResponseUpdate]:
        if said == "fail":
            raise ValueError("the writer has no ink")
        for piece in re.findall(r"\s*\S+", said):
            await asyncio.sleep(WORD_SECONDS)
            yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(piece)])


class WriterClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], WriterModel):
    """The model with what agents need of a client."""

    MODEL_INPUTS = ("text", "image/*")


@tool(approval_mode="always_require")
def refund(order: str, amount: int) -> str:
    """Refund the money of an order."""
    return f"Refunded {amount} for {order}."


@idempotent
@tool
async def find_order(number: str) -> str:
    """Look up an order by its number."""
    await asyncio.sleep(1)
    return f"Order {number}: shipped on Monday"


offline = OfflineChatClient()
clerk = Agent(
    offline,
    "Help with orders.",
    name="clerk",
    description="Looks up orders, and refunds them when a person agrees.",
    tools=[find_order, refund],
)
writer = Agent(WriterClient(), "Write.", name="writer", description="Writes back what you give it, in Markdown.")

app = AgentFunctionApp(agents=[create_assistant(offline), clerk, writer])
