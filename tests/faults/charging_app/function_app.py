"""An agent that charges once and then thinks, in a process whose wall clock a test sets forward while it does.

NOTES is the file that the outside counts by: a line for each charge and each thought. What the first thought of a
message waits for is the file that it names; the clock is ahead by as many seconds as the file named CLOCK says.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

if clock := os.environ.get("CLOCK"):
    right_time, ahead = time.time, Path(clock)
    time.time = lambda: right_time() + (float(ahead.read_text()) if ahead.exists() else 0.0)  # before the app asks

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
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

import hosting.app

NOTES = Path(os.environ["NOTES"])


def note(what: str) -> None:
    """Tell the outside, in one write."""
    with NOTES.open("a", encoding="utf-8") as notes:
        notes.write(what + "\n")


class ChargingModel(BaseChatClient[Any]):
    """Asks for a charge, and behind that thinks until there is the file that the message names."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        return self._answer(messages)

    async def _answer(self, messages: Sequence[Message]) -> ChatResponse[Any]:
        if messages[-1].role != "tool":
            call = Content.from_function_call(call_id="call-1", name="charge", arguments={})
            return ChatResponse(messages=Message("assistant", [call]))
        note("thought")
        while not Path(messages[0].text).exists():  # noqa: ASYNC110 - another process makes the file
            await asyncio.sleep(0.01)
        return ChatResponse(messages=Message("assistant", [str(messages[-1].contents[0].result)]))


class ChargingClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], ChargingModel):
    """The model with function invocation and middleware."""


@tool
def charge() -> str:
    """Charge once."""
    note("charged")
    return "charged"


app = hosting.app.AgentFunctionApp(agents=[Agent(ChargingClient(), "Do as told.", name="Joker", tools=[charge])])
