"""What the web server lets in, sent byte by byte."""

from __future__ import annotations

import asyncio

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from devhost.http.origins import OriginGuard
from devhost.http.server import WebServer, bind_sockets, port_of
from tests.support.running_host import GUARD_SECONDS


async def greet(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer anything."""
    await PlainTextResponse("served")(scope, receive, send)


class Served:
    """A web server for one test, and clients that write what they like."""

    def __init__(self) -> None:
        guarded = OriginGuard(greet, None, is_loopback=True)
        self._server = WebServer(guarded, verbose=False, grace_seconds=1)
        self._sockets = bind_sockets("127.0.0.1", 0)

    async def __aenter__(self) -> Served:
        self._serving = asyncio.create_task(self._server.serve(sockets=list(self._sockets)))
        await self._server.ready.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.should_exit = True
        await self._serving

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", port_of(self._sockets[0]))

    async def first_line(self, sent: bytes) -> str:
        """Return the status line of the answer to these bytes."""
        reader, writer = await self.connect()
        writer.write(sent)
        line = await asyncio.wait_for(reader.readline(), GUARD_SECONDS)
        writer.close()
        return line.decode().strip()


HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.behaviour("devhost.request-heads")
@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /" + b"x" * 8150 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", "200 OK"),
        (HEAD + b"X-Long: " + b"x" * 20_000 + b"\r\n\r\n", "200 OK"),
        (b"GET / HTTP/1.1\r\n\r\n", "400 Bad Request"),
        (b"GET / HTTP/1.1\r\nHost: evil.test\r\nHost: localhost\r\n\r\n", "403 Forbidden"),  # apps read the first
        (b"GARBAGE\r\n\r\n", "400 Bad Request"),
        (HEAD + b"Content-Length: abc\r\n\r\n", "400 Bad Request"),
    ],
)
async def test_a_head_is_taken_or_refused_as_recorded(sent: bytes, status: str) -> None:
    """What the real host takes is taken; a request that names no host, and what is no HTTP, is 400."""
    async with Served() as served:
        line = await served.first_line(sent)

    assert line == f"HTTP/1.1 {status}"


@pytest.mark.slow
@pytest.mark.behaviour("devhost.idle-connections")
async def test_two_thousand_idle_connections_do_not_hold_up_a_request() -> None:
    """It is answered while all of them wait."""
    async with Served() as served:
        idle = [await served.connect() for _ in range(2000)]
        line = await served.first_line(HEAD + b"\r\n")
        waiting = sum(not reader.at_eof() for reader, _ in idle)
        for _, writer in idle:
            writer.close()

    assert (line, waiting) == ("HTTP/1.1 200 OK", 2000)
