"""An app whose agent asks for a payment to whom the message says, in characters that are not seen."""

from __future__ import annotations

import os
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

from hosting.app import AgentFunctionApp
from tests.support.flows import asking_flow

HIDDEN = "\x1b[8m"
TOOL = "pay\u202eyap"
KEY = "to\u2066"


class PayingModel(BaseChatClient[Any]):
    """Calls the tool with the message, and says something that a terminal would obey."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        said = messages[-1]
        call = Content.from_function_call("c-1", TOOL, arguments={KEY: said.text})
        contents = [Content.from_text("paid")] if said.role == "tool" else [Content.from_text(HIDDEN), call]
        return self._build_response_stream(self._update(contents)) if stream else self._whole(contents)

    async def _whole(self, contents: list[Content]) -> ChatResponse[Any]:
        return ChatResponse(messages=Message("assistant", contents))

    async def _update(self, contents: list[Content]) -> AsyncIterator[ChatResponseUpdate]:
        yield ChatResponseUpdate(role="assistant", contents=contents)


class PayingClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], PayingModel):
    """The model with what agents need of a client."""


@tool(name=TOOL, approval_mode="always_require", schema={"type": "object", "properties": {KEY: {"type": "string"}}})
def pay(**given: str) -> str:
    """Pay."""
    return "paid"


app = AgentFunctionApp(
    agents=[Agent(PayingClient(), name="Payer", tools=[pay])],
    workflow=asking_flow,
    wires=["responses", "a2a", "ag-ui"],
    enable_mcp_tool_trigger=True,
    environ={**os.environ, "AGENT_LOG": os.environ.get("UNSEEN_LOG", "memory")},
)
