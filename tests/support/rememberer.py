"""The clerk with a memory: it remembers and forgets as it is told, and says what its model was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    ChatResponse,
    Message,
)

from hosting.features.memory.provider import OwnerMemory
from tests.support.answering import AnsweringClient, calls, says


class RememberersClient(AnsweringClient):
    """`remember TEXT`, `forget ID` and `write TEXT` call tools and tell the results; else it has the instructions."""

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        newest = messages[-1]
        if newest.role == "tool":
            return says(f"told: {newest.contents[0].result}")
        word, _, rest = newest.text.partition(" ")
        if word == "remember":
            return says(calls("remember", fact=rest))
        if word == "forget":
            return says(calls("forget", fact_id=rest))
        if word == "write":
            return says(calls("file_access_write", file_name="a.md", content=rest))
        tools = [one.name for one in options.get("tools") or ()]
        return says(f"{options.get('instructions')}\ntools: {' '.join(tools)}")


def rememberer(others: Sequence[Any] = (), **options: Any) -> Agent[Any]:
    """Return the agent "Clerk" with a memory, and other context providers."""
    return Agent(RememberersClient(), "Do as told.", name="Clerk", context_providers=[OwnerMemory(**options), *others])
