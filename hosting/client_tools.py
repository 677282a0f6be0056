"""Tools of a caller: the model of an agent calls them, and the caller runs them and sends their results.

Theory. A caller's tool is a declaration: a name, a description and a schema, and no code here. For agent-framework it
is a `FunctionTool` without a function, which an agent's author may declare as well. Its loop ends with the call, so the
run ends, and the thread waits for the result as it waits for a person's approval.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agent_framework import Agent, FunctionInvocationLayer, FunctionTool
from pydantic import BaseModel, ConfigDict, Field

from hosting.errors import InvalidInputError


class ClientTool(BaseModel):
    """A tool that a request declares; `answer_schema` is the JSON Schema of its results, None for any JSON value."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=lambda: {"type": "object", "properties": {}})
    answer_schema: dict[str, Any] | None = None


Tools = Sequence[ClientTool]


def declarations(tools: Tools, agent: object) -> list[FunctionTool]:
    """Return the tools as agent-framework has them.

    Raises `InvalidInputError` where one has the name of a tool of the agent that was not known before.
    """
    if taken := names_of_tools(agent) & {tool.name for tool in tools}:
        raise InvalidInputError(f"The tool {min(taken)!r} of the request is a tool of the agent, too. Rename it.")
    return [
        FunctionTool(name=tool.name, description=tool.description, func=None, input_model=tool.parameters)
        for tool in tools
    ]


def can_offer(agent: object) -> bool:
    """Return whether tools of callers can be offered to the agent's model: agent-framework makes its calls."""
    return isinstance(agent, Agent) and isinstance(agent.client, FunctionInvocationLayer)


def names_of_tools(agent: Any) -> set[str]:
    """Return the names of the agent's own tools, as far as they are known: an MCP server is asked at its first use."""
    servers = getattr(agent, "mcp_tools", None) or ()
    tools = [*(agent.default_options.get("tools") or ()), *(tool for server in servers for tool in server.functions)]
    return {tool.name for tool in tools if isinstance(tool, FunctionTool)}


def result_text(value: str | None, error: str | None, reason: str | None) -> str:
    """Return a caller's result as the model gets it: a text as it is, any other value as JSON, or why there is none.

    `value` is the JSON text of the result; without it there is an `error`, or the caller refused the call.
    """
    if value is None:
        return refusal(reason) if error is None else f"Error: {error or 'The tool failed.'}"
    result = json.loads(value)
    return result if isinstance(result, str) else value


def refusal(reason: str | None) -> str:
    """Return what the model gets for a call that was refused."""
    return f"This call was not made: it was refused.{f' Reason: {reason}' if reason else ''}"
