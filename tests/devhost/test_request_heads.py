"""What the web server lets in before any endpoint sees it, sent byte by byte."""

from __future__ import annotations

import asyncio

import pytest

from devhost.http.asgi import Receive, Scope, Send, answer
from devhost.http.connection import HostConnection
from devhost.http.server import WebServer, bind_sockets, port_of
from tests.support.running_host import GUARD_SECONDS


class ShortPatience(HostConnection):
    """A connection that waits for a head for a moment only."""

    head_seconds = 0.1


async def greet(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer anything."""
    await answer(send, 200, b"served")


class Served:
    """A web server for one test, and clients that write what they like."""

    def __init__(self, connection: type[HostConnection] = HostConnection) -> None:
        self._server = WebServer(greet, verbose=False, grace_seconds=1, connection=connection)
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


@pytest.mark.behaviour("devhost.head-limits")
@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /" + b"x" * 8150 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", "200 OK"),
        (b"GET /" + b"x" * 8300 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", "414 URI Too Long"),
        (HEAD + b"X-Long: " + b"x" * 20_000 + b"\r\n\r\n", "200 OK"),
        (HEAD + b"X-Long: " + b"x" * 40_000 + b"\r\n\r\n", "431 Request Header Fields Too Large"),
        (HEAD + b"X: y\r\n" * 6000 + b"\r\n", "431 Request Header Fields Too Large"),
        (HEAD + b"X-Endless: " + b"x" * 400_000, "431 Request Header Fields Too Large"),
        (b"GET / HTTP/1.1\r\n\r\n", "400 Bad Request"),
        (b"GET / HTTP/1.0\r\n\r\n", "500 Internal Server Error"),
        (b"GARBAGE\r\n\r\n", "400 Bad Request"),
    ],
)
async def test_a_head_is_taken_or_refused_as_recorded(sent: bytes, status: str) -> None:
    """Line to 8 KB, headers to 32 KB, a name for the host; an endless header is not kept."""
    async with Served() as served:
        line = await served.first_line(sent)

    assert line.replace("Request-URI Too Long", "URI Too Long") == f"HTTP/1.1 {status}"


@pytest.mark.behaviour("devhost.slow-clients")
async def test_a_client_that_does_not_finish_its_head_is_let_go() -> None:
    """It holds a connection for the head's time only."""
    async with Served(ShortPatience) as served:
        line = await served.first_line(HEAD)

    assert line == "HTTP/1.1 408 Request Timeout"


@pytest.mark.behaviour("devhost.slow-clients")
async def test_a_kept_connection_is_not_measured_between_its_requests() -> None:
    """Another client's head runs out of time in between; this one's time starts with its next first byte."""
    async with Served(ShortPatience) as served:
        reader, writer = await served.connect()
        lines = []
        for _ in range(2):
            writer.write(HEAD + b"\r\n")
            lines.append(await asyncio.wait_for(reader.readuntil(b"served"), GUARD_SECONDS))
            await served.first_line(HEAD)
        writer.close()

    assert [line[:15] for line in lines] == [b"HTTP/1.1 200 OK"] * 2


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
