"""A run without tools, whatever its model does (`enable_tool_calls: false`, http-api.md section 2).

The option `tool_choice: none` only asks the model; one that calls a tool all the same is told that it may not.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from agent_framework import FunctionInvocationContext, FunctionMiddleware

_REFUSAL = "Tools are switched off for this request. Answer without them."


class ToolsOff(FunctionMiddleware):
    """Answers each tool call with a refusal that the model reads; the tool is not run."""

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Give the refusal as the tool's result."""
        context.result = _REFUSAL
