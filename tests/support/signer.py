"""An agent with a tool that needs the user to sign in elsewhere, after a step that must not be made twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agent_framework import Agent, tool

from hosting.tools import current, idempotent
from tests.support.clerk import ClerksClient

LINK = "https://github.example/login/oauth/authorize?client_id=app&state=s1"


def signer(note: Callable[[str], None], name: str = "Clerk") -> Agent[Any]:
    """Return the agent; `note` is told of each step, and of each call that goes on with the sign-in."""

    def reserve(n: str) -> str:
        note(f"reserve {n}")
        return f"branch {n}"

    @idempotent
    @tool
    async def push(n: str) -> str:
        branch = await current().step("reserve", reserve, n)
        await current().authorization("GitHub", url=LINK, scopes=["repo"])
        user = current().principal
        note(f"push {n}")
        return f"{branch} pushed by {'the app' if user is None else user.id}"

    return Agent(ClerksClient(), "Do as told.", name=name, tools=[push])
