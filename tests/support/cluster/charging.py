"""An agent that charges somebody when it is told to, and pays once that is approved: each takes a while."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
    tool,
)

THINKING_SECONDS = 2.0
Asked = Callable[[Sequence[Message]], Awaitable[int]]


class _Model(BaseChatClient[Any]):
    """Thinks, and says the newest message again, and of which claim; `charge` and `pay` ask for that tool first."""

    asked: Asked

    async def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> ChatResponse[Any]:
        claim = await self.asked(messages)
        await asyncio.sleep(THINKING_SECONDS)
        said = [message.text for message in messages if message.role == "user" and message.text][-1]
        name, verb = said.split()
        if verb in ("charge", "pay") and messages[-1].role != "tool":
            call = Content.from_function_call(call_id=f"call-{name}", name=verb, arguments={"name": f"{name} {verb}"})
            return ChatResponse(messages=Message("assistant", [call]))
        return ChatResponse(messages=Message("assistant", [f"echo: {said}, of claim {claim}."]))


class _Client(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], _Model):
    """The model with function invocation and middleware."""


def charging_agent(name: str, asked: Asked, charged: Counter[str]) -> Agent[Any]:
    """Return the agent; it counts what it charges and pays in `charged`. `asked` is awaited before its model thinks.

    What that returns is the claim of the run under which the model answers.
    """

    async def charge(name: str) -> str:
        """Charge somebody."""
        charged[name] += 1
        await asyncio.sleep(THINKING_SECONDS)
        return f"charged {name}"

    @tool(approval_mode="always_require")
    async def pay(name: str) -> str:
        """Pay somebody."""
        return await charge(name)

    client = _Client()
    client.asked = asked
    return Agent(client, name=name, tools=[charge, pay])
