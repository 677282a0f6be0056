"""An MCP server in a process of its own, which a test kills and starts again.

Run as a script it is the server. It tells the test what happens by datagrams: `up`, `POST` and the method of each
request, and each call of `price` with its key and the process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp.types import INTERNAL_ERROR

GUARD_SECONDS = 20.0
HOST = "127.0.0.1"


class Shop:
    """The server's process, as often as it is started, at one port; use as a context manager.

    Options: `--legacy` speaks the older protocol, with sessions. `--stands` answers no call of `price` until `let_go`
    is called; `--deaf` answers no other request meanwhile but calls. `--hangs` answers nothing. `--tool NAME` has a
    further tool, and `--currency` a `price` with more parameters. `--token FILE` answers who brings the token that is
    in the file. Without a port it is a client's child.
    """

    def __init__(self) -> None:
        self._told = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._told.bind((HOST, 0))
        self._told.settimeout(GUARD_SECONDS)
        with socket.socket() as free:
            free.bind((HOST, 0))
            self.port = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"http://{HOST}:{self.port}/mcp"

    def arguments(self, *options: str) -> list[str]:
        """Return the arguments with which Python is this server."""
        return [__file__, "--tells", str(self._told.getsockname()[1]), *options]

    def start(self, *options: str) -> None:
        """Start it, and return once it takes requests."""
        command = [sys.executable, *self.arguments("--port", str(self.port), *options)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_for("up")

    def wait_for(self, what: str) -> str:
        """Return what the server tells next of that kind."""
        while not (told := self._told.recv(1000).decode()).startswith(what):
            pass
        return told

    def told(self) -> list[str]:
        """Return what it has told since."""
        self._told.settimeout(0)
        told = []
        try:
            while True:
                told.append(self._told.recv(1000).decode())
        except BlockingIOError:
            self._told.settimeout(GUARD_SECONDS)
            return told

    def kill(self) -> None:
        """Kill it, and return once its port is free."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(GUARD_SECONDS)

    def restart(self, *options: str) -> None:
        """Kill it and start it again."""
        self.kill()
        self.start(*options)

    def replace(self, *options: str) -> None:
        """Start another one at the same port and kill this one, as a deployment does that is never away."""
        old = self._process
        self.start(*options)
        if old is not None:
            old.kill()
            old.wait(GUARD_SECONDS)

    def send(self, number: signal.Signals) -> None:
        """Send its process a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def __enter__(self) -> Shop:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._told.close()


class ShopServer:
    """The server itself."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._test = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._test.connect((HOST, options.tells))
        self._standing = 0
        self._let_go = asyncio.Event()
        self._server = MCPServer("shop")
        tools = {"price": self.price_in if options.currency else self.price, "let_go": self.let_go, "fail": self.fail}
        for name in (*tools, *options.tool):
            self._server.tool(name=name, structured_output=False)(tools.get(name, self.other))
        self._app: Any = self._server.streamable_http_app()

    def tell(self, *words: object) -> None:
        """Tell the test."""
        self._test.send(" ".join(map(str, words)).encode())

    async def price(self, context: Context[Any], n: str = "0") -> str:
        """Tell a price."""
        meta: Any = context.request_context.meta or {}
        self.tell("price", meta.get("durable-agents/call-key"), os.getpid())
        if self._options.stands:
            self._standing += 1
            await self._let_go.wait()
            self._standing -= 1
        return f"{n} costs 3"

    def price_in(self, n: str, currency: str = "EUR") -> str:
        """Tell a price in a currency."""
        return f"{n} costs 4 {currency}"

    def let_go(self, n: str = "") -> str:
        """Have calls that stand go on."""
        self._let_go.set()
        return "gone on"

    def fail(self, n: str = "") -> str:
        """Fail by the protocol."""
        raise MCPError(INTERNAL_ERROR, "the shop is on fire")

    def other(self, n: str) -> str:
        """Do something else."""
        return f"{n} is done"

    def serve(self) -> None:
        """Serve until the process ends."""
        if self._options.port is None:
            self.tell("up", os.getpid())
            self._server.run("stdio")
            self.tell("down", os.getpid())
            return
        listening = socket.create_server((HOST, self._options.port), reuse_port=True)
        self.tell("up")
        if self._options.hangs:
            threading.Event().wait()
        asyncio.run(uvicorn.Server(uvicorn.Config(self, interface="asgi3", log_config=None)).serve([listening]))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request: as before 2026, without `server/discover` and with sessions, where it is to be so."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = b""
        while (message := await receive()).get("more_body"):
            body += message["body"]
        body += message.get("body", b"")
        method = json.loads(body).get("method")
        self.tell("POST", method)
        status = 400 if self._options.legacy and method == "server/discover" else 200
        if self._standing and self._options.deaf and method != "tools/call":
            status = 500
        if self._options.token is not None:
            wanted = b"Bearer " + Path(self._options.token).read_bytes()
            status = status if dict(scope["headers"]).get(b"authorization") == wanted else 401
        if status != 200:
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b"Bad Request: Missing session ID"})
            return
        bodies = [{"type": "http.request", "body": body}]

        async def received() -> Any:
            return bodies.pop() if bodies else await receive()

        await self._app(scope, received, send)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tells", type=int)
    parser.add_argument("--port", type=int)
    parser.add_argument("--token")
    parser.add_argument("--tool", action="append", default=[])
    for flag in ("--legacy", "--stands", "--deaf", "--hangs", "--currency"):
        parser.add_argument(flag, action="store_true")
    ShopServer(parser.parse_args()).serve()
