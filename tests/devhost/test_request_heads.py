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

    async def answer(self, sent: bytes, *, is_all: bool = False) -> bytes:
        """Return all that is answered to these bytes; a client that has sent all says so."""
        reader, writer = await self.connect()
        writer.write(sent)
        if is_all:
            writer.write_eof()
        answer = b""
        with suppress(ConnectionResetError):
            answer = await asyncio.wait_for(reader.read(), 4 * GUARD_SECONDS)
        writer.close()
        return answer

    async def first_line(self, sent: bytes) -> str:
        """Return the status line of the answer to these bytes."""
        reader, writer = await self.connect()
        writer.write(sent)
        line = await asyncio.wait_for(reader.readline(), GUARD_SECONDS)
        writer.close()
        return line.decode().strip()


HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n"


RECORDED: list[tuple[bytes, str]] = [
    (b"GET /" + b"x" * 8150 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", "200 OK"),
    (HEAD + b"X-Long: " + b"x" * 20_000 + b"\r\n\r\n", "200 OK"),
    (HEAD + b"X-Long: " + b"x" * 40_000 + b"\r\n\r\n", "431 Request Header Fields Too Large"),
    (b"GET / HTTP/1.1\r\n\r\n", "400 Bad Request"),
    (b"GET / HTTP/1.1\r\nHost: evil.test\r\nHost: localhost\r\n\r\n", "403 Forbidden"),  # apps read the first
    (b"GARBAGE\r\n\r\n", "400 Bad Request"),
    (b"get / HTTP/1.1\r\nHost: localhost\r\n\r\n", "200 OK"),
    (b"Post /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi", "200 OK"),
    (HEAD + b"Content-Length: abc\r\n\r\n", "400 Bad Request"),
]
WITHOUT_END: list[tuple[bytes, str]] = [
    (b"GET /" + b"x" * 8_300 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", "414"),
    (b"GET /" + b"x" * 2_000_000, "414"),
    (HEAD + b"Origin: http://" + b"x" * 2_000_000, "431"),
    (HEAD + b"X" * 2_000_000, "431"),
    (HEAD + b"X-Many: x\r\n" * 200_000, "431"),
    (HEAD + b"X-Many: x\r\n" * 3_000 + b"\r\n", "431"),
    (b"\r\n" * 500_000, "431"),
]


@pytest.mark.behaviour("devhost.request-heads")
@pytest.mark.behaviour("devhost.head-limits")
async def test_a_head_is_taken_or_refused_as_recorded() -> None:
    """What the real host takes is taken; one without end is read no further than it may go."""
    async with Served() as served:
        lines = [(await served.first_line(sent)).removeprefix("HTTP/1.1 ") for sent, _ in RECORDED]
        refused = [(await served.first_line(sent)).split()[1] for sent, _ in WITHOUT_END]

    assert lines == [line for _, line in RECORDED]
    assert refused == [status for _, status in WITHOUT_END]


CHUNKED = HEAD.replace(b"GET /", b"POST /headers") + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"


@pytest.mark.behaviour("devhost.head-limits")
async def test_trailers_and_extensions_are_no_headers_and_without_end_they_end_the_connection() -> None:
    """Nobody reads them, but the parser would hold them."""
    endless = [b"0\r\nX: " + b"x" * 200_000, b"0\r\n" + b"X: x\r\n" * 100_000, b"1;" + b"x" * 200_000]
    async with Served() as served:
        answer = await served.answer(CHUNKED + b"0\r\nX-Late: 1\r\n\r\n")
        answers = [await served.answer(CHUNKED + sent) for sent in endless]

    assert answer.endswith(b"\r\n\r\nhost,transfer-encoding,connection")
    assert answers == [b""] * 3


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


BODY = b"POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nbegun"
FAILED = b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@pytest.mark.behaviour("devhost.failed-bodies")
@pytest.mark.parametrize("is_all", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["ends", "stalls"])
async def test_a_body_that_ends_before_its_length_or_stalls_is_an_empty_500(is_all: bool) -> None:
    """It stalls below 240 bytes a second."""
    async with Served() as served:
        assert await served.answer(BODY, is_all=is_all) == FAILED
