"""A run without tools, whatever its model does (`enable_tool_calls: false`, http-api.md section 2).

The option `tool_choice: none` only asks the model; one that calls a tool all the same is told that it may not.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from agent_framework import Agent, FunctionInvocationContext, FunctionMiddleware, SupportsAgentRun

_REFUSAL = "Tools are switched off for this request. Answer without them."


class ToolsOff(FunctionMiddleware):
    """Answers each tool call with a refusal that the model reads; the tool is not run."""

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Give the refusal as the tool's result."""
        context.result = _REFUSAL


def without_tools(agent: SupportsAgentRun) -> dict[str, Any]:
    """Return what `agent.run` takes besides `tool_choice` to run no tool; only the framework's `Agent` takes any."""
    return {"middleware": [ToolsOff()]} if isinstance(agent, Agent) else {}
