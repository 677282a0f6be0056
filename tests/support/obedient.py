"""An agent whose model says with which options it was called."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    ChatResponse,
    Content,
    Message,
    tool,
)

from hosting.tools import idempotent
from tests.support.answering import AnsweringClient, calls, says

_NOT_SAID = {"tools", "response_format", "store"}
_DEFAULTS = (None, "auto")


class ObedientClient(AnsweringClient):
    """Answers with its options as JSON. Of "call NAME" it calls that tool first, once for each message.

    A tool that must be called it calls; the arguments are what the message says, if that is an object.
    """

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        newest = messages[-1]
        word, _, name = newest.text.partition(" ")
        if newest.role == "user" and word == "call":
            return says(calls(name, f"call-{len(messages)}"))
        choice = options.get("tool_choice")
        if isinstance(choice, Mapping) and newest.role == "user":
            arguments = newest.text if newest.text.startswith("{") else "{}"
            call = Content.from_function_call("named", choice["required_function_name"], arguments=arguments)
            return says(call)
        given = {name: value for name, value in options.items() if name not in _NOT_SAID and value not in _DEFAULTS}
        return says(json.dumps(given, sort_keys=True))


@idempotent
def look() -> str:
    """Look around."""
    return "a door"


@tool(approval_mode="always_require")
def leave() -> str:
    """Leave the room."""
    return "gone"


def obedient(name: str = "Joker", client: Any = None, **options: Any) -> Agent[Any]:
    """Return the agent; `look` is its tool, and `leave` one that a person must approve."""
    return Agent(client or ObedientClient(), name=name, tools=[look, leave], **options)
