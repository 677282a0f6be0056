"""What an address may answer that somebody else chose: whatever it sends, the exchange ends, and takes little of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import pytest

from hosting.exchange import FinalAnswer, UnreadableAnswerError, exchange
from hosting.features.webhooks.client import Posted, post
from tests.support.carriers import GUARD_SECONDS

MOST = 1000


class Endless(bytes):
    """Is sent again and again."""


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
HEADS = {
    "102 without end": [Endless(b"HTTP/1.1 102 Processing\r\n\r\n" * 2000)],
    "100 without end": [Endless(b"HTTP/1.1 100 Continue\r\n\r\n" * 2000)],
    "103 with headers without end": [Endless(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" * 2000)],
    "headers without end": [OK, Endless(b"a: b\r\n" * 2000)],
    "a header without end": [OK, b"a: ", Endless(b"b" * 65_536)],
    "a line without end": [Endless(b"a" * 65_536)],
    "no HTTP": [b"SSH-2.0-OpenSSH_9.6\r\n\r\n"],
    "an end before the status": [b""],
    "an end before the last header": [OK, b"a: b"],
    "an informational answer alone": [b"HTTP/1.1 102 Processing\r\n\r\n"],
}
BODIES = {
    "a body without end": [OK, b"\r\n", Endless(b"a" * 65_536)],
    "a body said to be too long": [OK, b"content-length: 1001\r\n\r\n"],
    "a length that is none": [OK, b"content-length: -1\r\n\r\n"],
    "a body that ends early": [OK, b"content-length: 10\r\n\r\nshort"],
    "chunks without end": [CHUNKED, Endless(b"1\r\na\r\n" * 2000)],
    "extensions of chunks without end": [CHUNKED, b"1;", Endless(b"a" * 65_536)],
    "a chunk that is too long": [CHUNKED, b"ffffffff\r\n"],
    "chunks that are none": [CHUNKED, b"\r\n\r\n"],
}


@asynccontextmanager
async def server(parts: Sequence[bytes], *, is_held: bool = False) -> AsyncIterator[str]:
    """A server that sends these bytes to whoever comes, and then ends the connection unless it `is_held`."""
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            for part in parts:
                writer.write(part)
                await writer.drain()
                while isinstance(part, Endless):
                    writer.write(part)
                    await writer.drain()
            if is_held:
                await ended.wait()
        writer.transport.abort() if is_held else writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/hook?a=b"
    finally:
        ended.set()
        listening.close()


async def here(host: str, port: int) -> list[str]:
    """Return the address of this machine, behind one at which nobody is."""
    return ["127.0.0.2", "127.0.0.1"]


async def fetched(url: str) -> FinalAnswer:
    """Fetch a body of at most `MOST` bytes, under the guard."""
    return await asyncio.wait_for(exchange("GET", url, {}, resolve=here, most_body_bytes=MOST), GUARD_SECONDS)


@pytest.mark.behaviour("webhooks.bounded")
@pytest.mark.parametrize("answer", ["102 without end", "a line without end", "an end before the status"])
async def test_a_webhook_that_answers_without_a_status_or_without_end_is_let_go_of(answer: str) -> None:
    """Long before its time is over, and the event loop has its turns meanwhile."""
    async with server(HEADS[answer]) as url:
        posted = await asyncio.wait_for(post(url, {}, b"{}", ("127.0.0.1",), 2 * GUARD_SECONDS), GUARD_SECONDS)

    assert posted == Posted(problem="unreadable")


@pytest.mark.behaviour("webhooks.bounded")
@pytest.mark.parametrize("answer", [*HEADS, *BODIES])
async def test_what_is_fetched_has_a_bound(answer: str) -> None:
    async with server((HEADS | BODIES)[answer]) as url:
        with pytest.raises(UnreadableAnswerError):
            await fetched(url)


@pytest.mark.behaviour("webhooks.bounded")
async def test_a_receiver_that_sends_now_and_then_has_its_time() -> None:
    async with server([b"HTTP/1.1 102 Processing\r\n\r\n", OK], is_held=True) as url:
        posted = await asyncio.wait_for(post(url, {}, b"{}", ("127.0.0.1",), 0.05), GUARD_SECONDS)

    assert posted == Posted(problem="timeout")


async def test_a_header_that_ends_a_line_is_not_sent() -> None:
    """It would be another header."""
    async with server([OK, b"\r\n"]) as url:
        with pytest.raises(ValueError, match="a line break"):
            await exchange("POST", url, {"authorization": "a\r\nb: c"}, resolve=here)
