"""Agents whose models call a tool for ever, for 10 tokens or 1 a call, with a budget for a run and one for a day.

AGENTS are their names, and CALLS is the folder of a file for each agent, with a line for each model call. At the call
HOLDS_AT the models wait for the file GOES_ON. With LIMITED each agent has a limit, too, of so many runs at once, whose
minute is an hour: a slow machine needs longer than a minute for all that a test does in one.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
    UsageDetails,
    tool,
)

import hosting.app
import hosting.features.metering.minutes
from hosting.amounts import Per

CALLS = Path(os.environ["CALLS"])
GOES_ON = Path(os.environ["GOES_ON"])
HOLDS_AT = int(os.environ["HOLDS_AT"])
PERS: tuple[Per, ...] = ("run", "owner/day")


class Spender(BaseChatClient[Any]):
    """Calls `step` with every answer; `agent` is the name of the file for its calls."""

    agent = ""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]]:
        return self._answer(sum(message.role == "tool" for message in messages) + 1)

    async def _answer(self, number: int) -> ChatResponse[Any]:
        with (CALLS / self.agent).open("a", encoding="utf-8") as calls:
            calls.write(f"{number}\n")
        while number == HOLDS_AT and not GOES_ON.exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.05)
        call = Content.from_function_call(f"c{number}", "step", arguments={})
        used = UsageDetails(input_token_count=6, output_token_count=4, total_token_count=10)
        return ChatResponse(
            messages=Message("assistant", [Content.from_text(f"part {number}"), call]),
            usage_details=used,
            model="small",
        )


class SpenderClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], Spender):
    """The model with function invocation and middleware."""


@tool
def step() -> str:
    """Do a step."""
    return "done"


hosting.app.Services = partial(hosting.app.Services, lease_seconds=1.0, margin_seconds=0.5)
prices = {"small": hosting.app.Price(input=100_000, output=100_000)}
limit = None
if "LIMITED" in os.environ:
    hosting.features.metering.minutes.WINDOW_SECONDS = 3600
    limit = hosting.app.Limit(requests_per_minute=3, tokens_per_minute=1000, runs_at_once=int(os.environ["LIMITED"]))
app = hosting.app.AgentFunctionApp(limit=limit)
for name, per in zip(os.environ["AGENTS"].split(), PERS, strict=True):
    client = SpenderClient()
    client.agent = name
    agent = Agent(client, "Spend.", name=name, tools=[step])
    app.add_agent(agent, budget=hosting.app.Budget(tokens=60, per=per, cost=6, prices=prices))
