"""The app behind the tests of the page and its pictures: a clerk who needs approval, a writer of Markdown, a story.

The clerk and the writer remember. The story's threads have a budget. With LEASE_SECONDS a run whose process died is
taken over that much sooner.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from functools import partial
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FinishReason,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    UsageDetails,
    tool,
)

import hosting.app
from agents.assistant import create_assistant
from hosting.app import Budget, OwnerMemory
from hosting.offline.model import OfflineChatClient
from hosting.tools import idempotent

WORD_SECONDS = float(os.environ.get("WORD_SECONDS", "0.03"))


class WriterModel(BaseChatClient[Any]):
    """Says what stands in the message, word by word; `fail` fails, `cut WORDS` says them and reaches its limit."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        said = messages[-1].text
        return self._build_response_stream(self._words(said)) if stream else self._whole(said)

    async def _whole(self, said: str) -> ChatResponse[Any]:
        if said == "fail":
            raise ValueError("the writer has no ink")
        return ChatResponse(messages=Message("assistant", [said]), finish_reason=_finish(said))

    async def _words(self, said: str) -> AsyncIterator[ChatResponseUpdate]:
        if said == "fail":
            raise ValueError("the writer has no ink")
        for piece in re.findall(r"\s*\S+", said):
            await asyncio.sleep(WORD_SECONDS)
            yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(piece)], finish_reason=_finish(said))


def _finish(said: str) -> FinishReason:
    return FinishReason("length" if said.startswith("cut ") else "stop")


class WriterClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], WriterModel):
    """The model with what agents need of a client."""

    MODEL_INPUTS = ("text", "image/*")


WHERE_IT_IS = """Your order **A-17** is on its way:

| day | what happened |
| --- | --- |
| Sunday | packed in Lisbon |
| Monday | handed to the carrier |
| Wednesday | arrives, between 9 and 12 |

If you would rather not wait, I can refund it. A person here agrees to that first."""
REFUNDED = "Done. The **120 €** are back on your card within three days."


class StoryModel(WriterModel):
    """Where an order is, and its refund: each answer of its own for what was said or done last."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        told = self._build_response_stream(self._next(messages[-1]))
        return told if stream else told.get_final_response()

    async def _next(self, last: Message) -> AsyncIterator[ChatResponseUpdate]:
        results = [str(content.result) for content in last.contents if content.type == "function_result"]
        if not results:
            is_refund = "refund" in last.text
            name, given = (
                ("refund", {"order": "A-17", "amount": 120}) if is_refund else ("find_order", {"number": "A-17"})
            )
            call = Content.from_function_call(f"call-{name}", name, arguments=given)
            yield ChatResponseUpdate(role="assistant", contents=[call])
        else:
            async for update in self._words(REFUNDED if "Refunded" in results[0] else WHERE_IT_IS):
                yield update
        used = UsageDetails(input_token_count=412, output_token_count=86, total_token_count=498)
        yield ChatResponseUpdate(role="assistant", contents=[Content.from_usage(used)])


class StoryClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], StoryModel):
    """The same with what agents need of a client."""


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
    context_providers=[OwnerMemory(shared=True)],
)
writer = Agent(
    WriterClient(),
    "Write.",
    name="writer",
    description="Writes back what you give it, in Markdown.",
    context_providers=[OwnerMemory(shared=True)],
)

support = Agent(
    StoryClient(),
    "Help.",
    name="support",
    description="Knows where each order is, and refunds it when a person agrees.",
    tools=[find_order, refund],
)

if lease := os.environ.get("LEASE_SECONDS"):
    hosting.app.Services = partial(hosting.app.Services, lease_seconds=float(lease), margin_seconds=float(lease) / 2)
app = hosting.app.AgentFunctionApp(agents=[create_assistant(offline), clerk, writer])
app.add_agent(support, budget=Budget(tokens=10_000, per="thread"), options={"temperature": (0, 1)})
