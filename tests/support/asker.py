"""An agent with a tool that asks a person, after a step that must not be made twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agent_framework import Agent, tool

from hosting.tools import current, idempotent
from tests.support.clerk import ClerksClient


def asker(note: Callable[[str], None], name: str = "Clerk") -> Agent[Any]:
    """Return the agent; `note` is told of each step, and of each answer that the tool has."""

    def reserve(n: str) -> str:
        note(f"reserve {n}")
        return f"shelf of {n}"

    @idempotent
    @tool
    async def ship(n: str) -> str:
        shelf = await current().step("reserve", reserve, n)
        street = await current().ask("Which street?")
        number = await current().ask(f"Which number in {street}?", schema={"type": "integer"})
        return f"{n} from {shelf} to {street} {number}"

    return Agent(ClerksClient(), "Do as told.", name=name, tools=[ship])


def hurried(note: Callable[[str], None], name: str = "Clerk") -> Agent[Any]:
    """Return an agent whose tool asks for a moment only, and is told the default then."""

    @idempotent
    @tool
    async def ship(n: str) -> str:
        street = await current().ask("Which street?", seconds=1.0, default="the depot")
        note(f"ship {n} to {street}")
        return f"{n} to {street}"

    return Agent(ClerksClient(), "Do as told.", name=name, tools=[ship])
