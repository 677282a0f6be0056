"""A real MCP server with one tool, on a socket of this process, that notes what its clients begin and end."""

from __future__ import annotations

import asyncio
import json
import queue
import socket
import threading
from typing import Any

import uvicorn
from mcp.server import MCPServer

from hosting.tools import MCP_CALL_KEY

GUARD_SECONDS = 5.0


class ToolServer:
    """Serves `city_of`; use as a context manager.

    `began` are the methods of its requests in order, `keys` the call keys of those that called a tool, and `signed`
    what each of those had in the header Authorization.
    """

    def __init__(self) -> None:
        server = MCPServer("cities")
        server.tool()(city_of)
        self._app: Any = server.streamable_http_app()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._server = uvicorn.Server(uvicorn.Config(self._noting, interface="asgi3", log_config=None))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._ended: queue.Queue[str] = queue.Queue()
        self.began: list[str] = []
        self.keys: list[str | None] = []
        self.signed: list[str] = []
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/mcp"

    def wait_for_end(self, method: str) -> None:
        """Return once a request of that method has ended, as a client's subscription does when it closes."""
        while self._ended.get(timeout=GUARD_SECONDS) != method:
            pass

    async def _noting(self, scope: Any, receive: Any, send: Any) -> None:
        methods: list[str] = []

        async def noting_receive() -> Any:
            message = await receive()
            if message.get("body"):
                requested = json.loads(message["body"])
                methods.append(requested.get("method", "answer"))
                self.began.append(methods[0])
                if methods == ["tools/call"]:
                    self.keys.append(requested["params"]["_meta"].get(MCP_CALL_KEY))
                    self.signed.append(dict(scope["headers"]).get(b"authorization", b"").decode())
            return message

        try:
            await self._app(scope, noting_receive if scope["type"] == "http" else receive, send)
        finally:
            for method in methods:
                self._ended.put(method)

    def _serve(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def __enter__(self) -> ToolServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(GUARD_SECONDS)


def city_of(name: str = "Ada") -> str:
    """Say where somebody lives."""
    return f"{name} lives in Paris"
