"""agent-framework's middleware around model and tool calls, and how it finds whose steps they are.

The agent that runs gets its middleware for the run. One that is its tool is run by the framework, which passes no
middleware on: it gets its own once, for good, and that asks each time whether the call around it is a run's step.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Protocol

from agent_framework import (
    Agent,
    ChatContext,
    ChatMiddleware,
    ChatMiddlewareLayer,
    FunctionInvocationContext,
    FunctionMiddleware,
    SupportsAgentRun,
)

from hosting.agent.made_tools import agent_behind

Next = Callable[[], Awaitable[None]]


class Steps(Protocol):
    """The calls that one agent makes in one attempt; `agent` is None for the agent that runs."""

    agent: Agent[Any] | None

    async def model_call(self, context: ChatContext, call_next: Next) -> None:
        """Give the model's answer, asked for now or recorded."""

    async def tool_call(self, context: FunctionInvocationContext, call_next: Next) -> None:
        """Give the tool's result, of a call made now or recorded."""


FindSteps = Callable[[], Steps | None]
WITHIN: ContextVar[Steps | None] = ContextVar("agent_steps", default=None)
"""The steps of the agent that is the tool whose call is at work here; None in the call of any other tool."""


def middleware(find_steps: FindSteps) -> list[ChatMiddleware | FunctionMiddleware]:
    """Return middleware by which calls are steps whenever `find_steps` gives some."""
    return [_Models(find_steps), _Tools(find_steps)]


def attach(agent: Agent[Any]) -> None:
    """Make the agent's calls steps where it is at work as a tool; once is enough."""
    attached = agent.middleware or []
    if not any(isinstance(one, _Models) for one in attached):
        agent.middleware = [*attached, *middleware(lambda: _steps_of(agent))]


def _steps_of(agent: Agent[Any]) -> Steps | None:
    steps = WITHIN.get()
    return steps if steps is not None and steps.agent is agent else None


class _Models(ChatMiddleware):
    def __init__(self, find_steps: FindSteps) -> None:
        self._find_steps = find_steps

    async def process(self, context: ChatContext, call_next: Next) -> None:
        steps = self._find_steps()
        await (call_next() if steps is None else steps.model_call(context, call_next))


class _Tools(FunctionMiddleware):
    def __init__(self, find_steps: FindSteps) -> None:
        self._find_steps = find_steps

    async def process(self, context: FunctionInvocationContext, call_next: Next) -> None:
        steps = self._find_steps()
        await (call_next() if steps is None else steps.tool_call(context, call_next))


def keeps_journal(agent: SupportsAgentRun) -> bool:
    """Tell whether the agent's steps can be recorded: the framework's `Agent` over a client with chat middleware."""
    return isinstance(agent, Agent) and isinstance(agent.client, ChatMiddlewareLayer)


def agent_with_steps(tool: Any) -> Agent[Any] | None:
    """Return the agent that a tool runs if its steps can be recorded."""
    agent = agent_behind(tool)
    return agent if agent is not None and keeps_journal(agent) else None
