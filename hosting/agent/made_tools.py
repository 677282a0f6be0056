"""Whose tool a tool is, when agent-framework made it: an agent's (`as_tool`), or an MCP server's.

The framework keeps the maker in the closure of the tool's function. Functions of anybody else may hold agents and
servers for ends of their own, so only the framework's are looked into. A tool whose maker is not found is a tool like
any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_framework import Agent, MCPStdioTool, MCPStreamableHTTPTool, MCPWebsocketTool

McpServer = MCPStdioTool | MCPStreamableHTTPTool | MCPWebsocketTool


def agent_behind(tool: Any) -> Agent[Any] | None:
    """Return the agent that the tool runs, or None for every other tool."""
    return next((held for held in _held_by(tool) if isinstance(held, Agent)), None)


def server_behind(tool: Any) -> McpServer | None:
    """Return the MCP server that the tool is of, or None for every other tool."""
    return next((held for held in _held_by(tool) if isinstance(held, McpServer)), None)


def agents_within(agent: Any) -> list[Any]:
    """Return the agent and those that are its tools, theirs too, each once."""
    found = [agent]
    for one in found:  # grows meanwhile
        for tool in getattr(one, "default_options", {}).get("tools") or ():
            inner = agent_behind(tool)
            if inner is not None and inner not in found:
                found.append(inner)
    return found


def _held_by(tool: Any) -> Iterator[object]:
    function = getattr(tool, "func", None)
    if str(getattr(function, "__module__", "")).startswith("agent_framework."):
        for cell in getattr(function, "__closure__", None) or ():
            yield cell.cell_contents
