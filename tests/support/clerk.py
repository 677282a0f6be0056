"""An agent with tools that a person must approve, over a model that, as the real ones do, takes no open tool call."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    AgentMiddleware,
    ChatResponse,
    Content,
    Message,
    tool,
)

from hosting.tools import current
from tests.support.answering import AnsweringClient, says

Note = Callable[[str], None]


class ClerksClient(AnsweringClient):
    """Does what the newest message of a user says, and tells what its tools gave.

    `call NAME N, NAME N`: calls these tools at once, with a word before it; arguments may have names, as in
    `call refund order=A-17`. Else an echo.
    """

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        return await self._answer(messages)

    async def _answer(self, messages: Sequence[Message]) -> ChatResponse[Any]:
        refuse_open_calls(messages)
        newest = messages[-1]
        if newest.role == "tool":
            results = [str(content.result) for content in newest.contents]
            if "again" in results:
                return _calls("refund 9")
            if "broken" in results:
                raise RuntimeError("a secret of the model")
            return says(f"told: {' | '.join(results)}")
        word, _, rest = newest.text.partition(" ")
        return _calls(rest) if word == "call" else says(f"echo: {newest.text}")


def refuse_open_calls(messages: Sequence[Message]) -> None:
    """Raise if a tool call is not followed by its result before anybody says something else."""
    waiting: set[str | None] = set()
    for message in messages:
        called = {content.call_id for content in message.contents if content.type == "function_call"}
        ended = {content.call_id for content in message.contents if content.type == "function_result"}
        if waiting and not ended:
            raise ValueError(f"These tool calls have no result: {waiting}")
        waiting = (waiting | called) - ended
    if waiting:
        raise ValueError(f"These tool calls have no result: {waiting}")


def clerk(note: Note, *middleware: AgentMiddleware) -> Agent[Any]:
    """Return the agent "Clerk" with that middleware; `note` is told of each call of a tool, by its key."""

    @tool(approval_mode="always_require")
    def refund(n: str) -> str:
        note(f"refund {n} {current().call_key}")
        return {"8": "again", "13": "broken"}.get(n, f"refunded {n}")

    @tool
    def look(n: str) -> str:
        note(f"look {n}")
        return f"saw {n}"

    return Agent(ClerksClient(), "Do as told.", name="Clerk", tools=[refund, look], middleware=middleware)


def _calls(output: str) -> ChatResponse[Any]:
    named = [step.split() for step in output.split(",")]
    made = [
        Content.from_function_call(call_id=f"call-{place}", name=name, arguments=json.dumps(_arguments(given)))
        for place, (name, *given) in enumerate(named)
    ]
    return says("One moment.", *made)


def _arguments(given: Sequence[str]) -> dict[str, str]:
    pairs = (("n", value) if "=" not in value else value.split("=", 1) for value in given)
    return dict(pairs)
