"""An MCP server on standard input and output, whose one tool tells the outside by which key it was called."""

import os
from pathlib import Path

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("cities")


@server.tool()
def city(n: str, context: Context) -> str:
    """Name a city."""
    meta = context.request_context.meta or {}
    run_id, _, key = meta["durable-agents/call-key"].partition("-")
    with Path(os.environ["NOTES"]).open("a", encoding="utf-8") as notes:
        notes.write(f"{os.getpid()} {run_id} city {key}\n")
    return f"city {n}"


if __name__ == "__main__":
    server.run("stdio")
