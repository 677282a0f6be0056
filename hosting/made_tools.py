"""Whose tool a tool is, when agent-framework made it: an MCP server's.

The framework keeps the maker in the closure of the tool's function. Functions of anybody else may hold a server for
ends of their own, so only the framework's are looked into. A tool whose maker is not found is a tool like any other.
"""

from __future__ import annotations

from typing import Any

from agent_framework import MCPStdioTool, MCPStreamableHTTPTool, MCPWebsocketTool

McpServer = MCPStdioTool | MCPStreamableHTTPTool | MCPWebsocketTool


def server_behind(tool: Any) -> McpServer | None:
    """Return the MCP server that the tool is of, or None for every other tool."""
    function = getattr(tool, "func", None)
    if not str(getattr(function, "__module__", "")).startswith("agent_framework."):
        return None
    held = (cell.cell_contents for cell in getattr(function, "__closure__", None) or ())
    return next((value for value in held if isinstance(value, McpServer)), None)
