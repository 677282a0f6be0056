"""An agent whose tool, context provider and middleware note the context of their run, and its model what it gets."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from agent_framework import Agent, AgentContext, AgentMiddleware, ContextProvider, Message, tool

from hosting.tools import current, idempotent
from tests.support.clerk import ClerksClient, Note


def context_reader(note: Note) -> Agent[Any]:
    """Return the agent "Clerk". `note` is told who read which context, and what the model was sent."""

    class Client(ClerksClient):
        def _inner_get_response(self, *, messages: Sequence[Message], options: Mapping[str, Any], **named: Any) -> Any:
            shown = [message.to_dict() for message in messages]
            note(f"model {json.dumps([shown, {name: str(value) for name, value in options.items()}])}")
            return super()._inner_get_response(messages=messages, options=options, **named)

    class Provider(ContextProvider):
        async def before_run(self, **named: Any) -> None:
            noted("provider")

    class Middleware(AgentMiddleware):
        async def process(self, context: AgentContext, call_next: Callable[[], Awaitable[None]]) -> None:
            noted("middleware")
            await call_next()

    def noted(reader: str) -> None:
        note(f"{reader} {json.dumps(current().context, sort_keys=True)}")
        current().context["changed by"] = reader  # a copy: nobody else sees that

    @idempotent
    @tool
    def show(n: str) -> str:
        noted("tool")
        return f"shown {n}"

    @tool(approval_mode="always_require")
    def approved(n: str) -> str:
        noted("approved")
        return f"done {n}"

    return Agent(
        Client(),
        "Do as told.",
        name="Clerk",
        tools=[show, approved],
        context_providers=[Provider("noting")],
        middleware=[Middleware()],
    )
