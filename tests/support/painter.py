"""An agent whose tools read and change what its page shares with it, and which says what it was shown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    ChatResponse,
    ContextProvider,
    FunctionInvocationContext,
    Message,
    tool,
)

from hosting.shared_state import read_state, write_state
from hosting.tools import idempotent
from tests.support.answering import AnsweringClient, calls, says


class PaintersClient(AnsweringClient):
    """Calls the tools that the newest message of a user names, one after the other, and says their results.

    `paint red, look`: the word behind a name is the tool's argument.
    """

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        newest = max(place for place, message in enumerate(messages) if message.role == "user")
        results = [
            str(content.result)
            for message in messages[newest:]
            for content in message.contents
            if content.type == "function_result"
        ]
        steps = [step.split() for step in messages[newest].text.split(",")]
        if len(results) == len(steps):
            return says(" | ".join(results))
        name, *words = steps[len(results)]
        return says(calls(name, f"call-{len(results)}", word=" ".join(words)))


@idempotent
def look(word: str, context: FunctionInvocationContext) -> str:
    """Say what is shared."""
    return json.dumps(read_state(context.session))


@idempotent
def paint(word: str, context: FunctionInvocationContext) -> str:
    """Change the color."""
    write_state(context.session, {**(read_state(context.session) or {}), "color": word})
    return f"painted {word}"


def clear(word: str, context: FunctionInvocationContext) -> str:
    """Take all away."""
    write_state(context.session, {})
    return "cleared"


@tool(approval_mode="always_require")
def frame(word: str, context: FunctionInvocationContext) -> str:
    """Say what is shared, once a person approves."""
    return look(word, context)


def painter(name: str = "Painter", *providers: ContextProvider, tools: Sequence[Any] = ()) -> Agent[Any]:
    own = [look, paint, clear, frame, *tools]
    return Agent(PaintersClient(), name=name, tools=own, context_providers=list(providers))
