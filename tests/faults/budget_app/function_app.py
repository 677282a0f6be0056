"""An agent whose model calls a tool for ever, for 10 tokens a call, with a budget of 60 for a run, and a limit.

CALLS is the file with a line for each model call. At the call HOLDS_AT the model waits for the file GOES_ON. LIMITED is
how many runs there may be at once. The minute of the limit is an hour: a slow machine needs longer than a minute for
all that a test does in one.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from agent_framework import Agent, ChatResponse, Message, tool

import hosting.app
import hosting.features.metering.minutes
from tests.support.answering import AnsweringClient, calls, says

CALLS, GOES_ON = Path(os.environ["CALLS"]), Path(os.environ["GOES_ON"])
USED = {"input_token_count": 6, "output_token_count": 4, "total_token_count": 10}


class SpendersClient(AnsweringClient):
    """Calls `step` with every answer."""

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        number = sum(message.role == "tool" for message in messages) + 1
        with CALLS.open("a", encoding="utf-8") as file:
            file.write(f"{number}\n")
        while number == int(os.environ["HOLDS_AT"]) and not GOES_ON.exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.05)
        return says(calls("step", f"c{number}"), usage=USED)


@tool
def step() -> str:
    """Do a step."""
    return "done"


hosting.app.Services = partial(hosting.app.Services, lease_seconds=1.0, margin_seconds=0.5)
hosting.features.metering.minutes.WINDOW_SECONDS = 3600
limit = hosting.app.Limit(requests_per_minute=3, tokens_per_minute=1000, runs_at_once=int(os.environ["LIMITED"]))
app = hosting.app.AgentFunctionApp(limit=limit)
agent = Agent(SpendersClient(), "Spend.", name=os.environ["AGENT"], tools=[step])
app.add_agent(agent, budget=hosting.app.Budget(tokens=60))
