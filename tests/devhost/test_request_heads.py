"""What the web server lets in, sent byte by byte."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from contextlib import suppress

import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from devhost.http.origins import OriginGuard
from devhost.http.server import WebServer, bind_sockets, port_of
from tests.support.running_host import GUARD_SECONDS


async def greet(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer anything; `/slow` and `/headers` once the body is whole, and `/headers` with the names of the headers."""
    if scope["path"] in ("/slow", "/headers"):
        with suppress(ClientDisconnect):
            await Request(scope, receive).body()
    text = ",".join(name.decode() for name, _ in scope["headers"]) if scope["path"] == "/headers" else "served"
    await PlainTextResponse(text)(scope, receive, send)


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
        (HEAD + b"X-Long: " + b"x" * 40_000 + b"\r\n\r\n", "431 Request Header Fields Too Large"),
        (b"GET / HTTP/1.1\r\n\r\n", "400 Bad Request"),
        (b"GET / HTTP/1.1\r\nHost: evil.test\r\nHost: localhost\r\n\r\n", "403 Forbidden"),  # apps read the first
        (b"GARBAGE\r\n\r\n", "400 Bad Request"),
        (b"get / HTTP/1.1\r\nHost: localhost\r\n\r\n", "200 OK"),
        (b"Post /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi", "200 OK"),
        (HEAD + b"Content-Length: abc\r\n\r\n", "400 Bad Request"),
    ],
)
async def test_a_head_is_taken_or_refused_as_recorded(sent: bytes, status: str) -> None:
    """What the real host takes is taken; a request that names no host, and what is no HTTP, is 400."""
    async with Served() as served:
        line = await served.first_line(sent)

    assert line == f"HTTP/1.1 {status}"


@pytest.mark.behaviour("devhost.head-limits")
@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /" + b"x" * 8_300 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", "414"),
        (b"GET /" + b"x" * 2_000_000, "414"),
        (HEAD + b"Origin: http://" + b"x" * 2_000_000, "431"),
        (HEAD + b"X" * 2_000_000, "431"),
        (HEAD + b"X-Many: x\r\n" * 200_000, "431"),
        (HEAD + b"X-Many: x\r\n" * 3_000 + b"\r\n", "431"),
        (b"\r\n" * 500_000, "431"),
    ],
    ids=["long line", "line", "value", "name", "headers", "headers to their end", "no head"],
)
async def test_of_a_head_without_end_the_host_reads_no_more_than_it_may_have(sent: bytes, status: str) -> None:
    async with Served() as served:
        line = await served.first_line(sent)

    assert line.split()[1] == status


@pytest.mark.behaviour("devhost.head-limits")
@pytest.mark.parametrize(
    "sent", [b"0\r\nX: " + b"x" * 200_000, b"0\r\n" + b"X: x\r\n" * 100_000, b"1;" + b"x" * 200_000]
)
async def test_trailers_and_extensions_without_end_end_the_connection(sent: bytes) -> None:
    """Nobody reads them, but the parser would hold them."""
    async with Served() as served:
        reader, writer = await served.connect()
        writer.write(HEAD.replace(b"GET /", b"POST /slow") + b"Transfer-Encoding: chunked\r\n\r\n" + sent)
        with suppress(ConnectionResetError):
            assert await asyncio.wait_for(reader.read(), GUARD_SECONDS) == b""
        writer.close()


@pytest.mark.behaviour("devhost.head-limits")
async def test_a_trailer_is_no_header() -> None:
    async with Served() as served:
        reader, writer = await served.connect()
        head = HEAD.replace(b"GET /", b"POST /headers") + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        writer.write(head + b"0\r\nX-Late: 1\r\n\r\n")
        answer = await asyncio.wait_for(reader.read(), GUARD_SECONDS)
        writer.close()

    assert answer.endswith(b"\r\n\r\nhost,transfer-encoding,connection")


@pytest.mark.slow
@pytest.mark.behaviour("devhost.head-limits")
async def test_nothing_of_the_names_that_callers_send_is_kept() -> None:
    """A hundred hosts and origins as long as a head may be."""
    async with Served() as served:
        await served.first_line(HEAD + b"Origin: http://a.test\r\n\r\n")
        tracemalloc.start()
        for number in range(100):
            name = b"%d" % number + b"x" * 15_000
            await served.first_line(b"GET / HTTP/1.1\r\nHost: " + name + b"\r\nOrigin: http://" + name + b"\r\n\r\n")
            await served.first_line(HEAD + b"Origin: http://" + name + b"\r\n\r\n")
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert kept < 1_000_000


@pytest.mark.slow
@pytest.mark.behaviour("devhost.idle-connections")
async def test_two_thousand_idle_connections_do_not_hold_up_a_request() -> None:
    async with Served() as served:
        idle = [await served.connect() for _ in range(2000)]
        line = await served.first_line(HEAD + b"\r\n")
        waiting = sum(not reader.at_eof() for reader, _ in idle)
        for _, writer in idle:
            writer.close()

    assert (line, waiting) == ("HTTP/1.1 200 OK", 2000)


BODY = b"POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
FAILED = b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@pytest.mark.behaviour("devhost.failed-bodies")
async def test_a_body_that_ends_before_its_length_is_an_empty_500() -> None:
    async with Served() as served:
        reader, writer = await served.connect()
        writer.write(BODY + b"begun")
        writer.write_eof()

        answer = await asyncio.wait_for(reader.read(), GUARD_SECONDS)
        writer.close()

    assert answer == FAILED


@pytest.mark.slow
@pytest.mark.behaviour("devhost.failed-bodies")
async def test_a_body_of_less_than_240_bytes_a_second_is_an_empty_500() -> None:
    async with Served() as served:
        reader, writer = await served.connect()
        writer.write(BODY + b"begun")

        answer = await asyncio.wait_for(reader.read(), 4 * GUARD_SECONDS)
        writer.close()

    assert answer == FAILED
