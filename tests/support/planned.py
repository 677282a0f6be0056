"""An agent whose model follows a plan, with tools that the outside world counts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
)

from hosting.tools import current, idempotent
from tests.support.answering import AnsweringModel, calls, says

Note = Callable[[str], None]
Plan = Sequence[tuple[str, ...] | str]

# What the model answers at each of its calls: tools to call at once, or the words that end the run.
PLAN: Plan = (("add", "look"), ("flaky", "slow"), ("flaky",), "all done")

# What an agent that speaks says in all.
ALL_SAID = "\n\n".join([*(f"Step {number} needs tools." for number in (1, 2, 3)), "all done"])


class PlannedModel(AnsweringModel):
    """Knows how far it is by the tool results that it is shown since the last message of a user."""

    note: Note
    plan: Plan = PLAN
    speaks: bool = False

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        newest = max(place for place, message in enumerate(messages) if message.role == "user")
        number = sum(message.role == "assistant" for message in messages[newest:])
        self.note(f"model {number + 1}")
        step = self.plan[number]
        if isinstance(step, str):
            return says(step)
        made = [calls(name, f"call-{number}-{place}", n=str(place)) for place, name in enumerate(step)]
        return says(*[f"Step {number + 1} needs tools."] * self.speaks, *made)

    def pieces(self, content: Content) -> list[Content]:
        """Return a text word by word."""
        return [Content.from_text(word) for word in re.findall(r"\s*\S+", content.text or "")] or [content]


class PlannedClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], PlannedModel):
    """The planned model with function invocation and middleware."""


def planned_client(note: Note, plan: Plan, *, speaks: bool = False) -> PlannedClient:
    """Return the model of a plan; `note` is told of each call. One that `speaks` has words before it calls tools."""
    client = PlannedClient()
    client.note, client.plan, client.speaks = note, plan, speaks
    return client


def planned_agent(
    note: Note,
    plan: Plan = PLAN,
    *,
    name: str = "Joker",
    harmless: bool = False,
    speaks: bool = False,
) -> Agent[Any]:
    """Return an agent that follows `plan`; `note` is told of each model call, tool call and its key.

    `flaky` fails at its first call only; with `harmless` every tool is idempotent; one that `speaks` says something
    before it calls tools.
    """

    def add(n: int) -> int:
        note(f"add {current().call_key}")
        return n + 1

    async def look(n: int) -> str:
        note(f"look {current().call_key}")
        return f"seen {n}"

    def flaky(n: int) -> str:
        key = current().call_key
        note(f"flaky {key}")
        if key.endswith("2.call-1-0"):
            raise ValueError("a secret of the tool")
        return "worked"

    async def slow(n: int) -> str:
        note(f"slow {current().call_key}")
        await asyncio.sleep(0.02)
        return "at last"

    tools: list[Any] = [add, look, flaky, slow]
    harmless_tools = [idempotent(tool) for tool in tools] if harmless else tools
    return Agent(planned_client(note, plan, speaks=speaks), name=name, tools=harmless_tools)
