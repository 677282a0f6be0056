"""The client that measures: one request at a time on one connection, its answer whole."""

import asyncio

import pytest

from benchmarks.connection import Answer
from tests.benchmarks.stand_in import answering, http

GUARD_SECONDS = 5
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n"


async def test_a_connection_takes_one_request_after_another() -> None:
    """Path and body arrive as given, and each answer is its own."""
    async with answering(lambda path, body: http(201, path.encode() + body)) as (connection,):
        answers = [await connection.request("POST", "/a", text) for text in (b"one", b"")]

    assert answers == [Answer(201, b"/aone"), Answer(201, b"/a")]


async def test_an_answer_in_pieces_is_put_together() -> None:
    """Chunks are joined, whichever way the host frames its answer."""
    async with answering(lambda path, body: CHUNKED) as (connection,):
        assert await connection.request("GET", "/") == Answer(200, b"abcdef")


@pytest.mark.parametrize("output", [b"", b"not HTTP\r\n\r\n"], ids=["hangs up", "no HTTP"])
async def test_a_host_that_does_not_answer_is_an_error_and_no_endless_wait(output: bytes) -> None:
    """A measure must not stand still because its host died."""
    async with answering(lambda path, body: output) as (connection,):
        with pytest.raises(ConnectionError):
            await asyncio.wait_for(connection.request("GET", "/"), GUARD_SECONDS)


async def test_a_closed_connection_refuses_further_requests() -> None:
    """The next request of a client whose host has gone is refused at once."""
    async with answering(lambda path, body: b"") as (connection,):
        connection.close()
        with pytest.raises(ConnectionError, match=r"The connection is closed\."):
            await connection.request("GET", "/")
