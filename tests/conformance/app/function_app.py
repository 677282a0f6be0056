"""An agent for the conformance pack: `slow` takes two seconds, `refund` waits for a person. X-User says who asks.

With LEASE_SECONDS a run whose process died is taken over that much sooner.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from functools import partial
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
    tool,
)

import hosting.app
from hosting.app import AgentFunctionApp, Principal, PrincipalRequest

WORDS, WORD_SECONDS = 20, 0.1


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
            yield Content.from_text("It is paid back.")
        elif newest.text.startswith("refund"):
            yield Content.from_function_call(call_id="call-1", name="refund", arguments={})
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


def who(request: PrincipalRequest) -> Principal:
    """Take the caller's word for it: this is a test."""
    return Principal(issuer="test", id=request.headers.get("x-user", "nobody"))


if lease := os.environ.get("LEASE_SECONDS"):
    hosting.app.Services = partial(hosting.app.Services, lease_seconds=float(lease), margin_seconds=float(lease) / 2)
app = AgentFunctionApp(agents=[Agent(Client(), "Answer.", name="Assistant", tools=[refund])], principal=who)
