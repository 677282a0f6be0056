"""An agent that charges once and then thinks.

NOTES is the file that the outside counts by: a line for each charge and each thought. What the first thought of a
message waits for is the file that it names.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_framework import Agent, ChatResponse, Message, tool

import hosting.app
from tests.support.answering import AnsweringClient, calls, says

NOTES = Path(os.environ["NOTES"])


def note(what: str) -> None:
    with NOTES.open("a", encoding="utf-8") as notes:
        notes.write(what + "\n")


class ChargingClient(AnsweringClient):
    """Asks for a charge, and behind that thinks until there is the file that the message names."""

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        if messages[-1].role != "tool":
            return says(calls("charge"))
        note("thought")
        while not Path(messages[0].text).exists():  # noqa: ASYNC110 - another process makes the file
            await asyncio.sleep(0.01)
        return says(str(messages[-1].contents[0].result))


@tool
def charge() -> str:
    """Charge once."""
    note("charged")
    return "charged"


app = hosting.app.AgentFunctionApp(agents=[Agent(ChargingClient(), "Do as told.", name="Joker", tools=[charge])])
