"""Functions on the FastAPI extension's types through a real host on a socket."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.support.running_host import GUARD_SECONDS, RunningHost

pytestmark = pytest.mark.slow


@pytest.fixture
async def client(streaming_host: RunningHost) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=streaming_host.origin, timeout=GUARD_SECONDS) as client:
        yield client


@pytest.mark.behaviour("devhost.streaming-request-as-recorded")
async def test_a_function_sees_a_request_with_forwarding_headers_and_decoded_path_values(client, streaming_host):
    """Added are the invocation id and who asked for which host; a chunked body arrives whole."""

    async def chunks() -> AsyncIterator[bytes]:
        yield b"ab"
        yield b"c"

    seen = (await client.post("/v1/echo/bob%20x?a=1&a=2", content=chunks())).json()
    forwarded = seen.pop("forwarded")
    assert len(forwarded.pop("x-ms-invocation-id")) == 36
    host = streaming_host.origin.removeprefix("http://")
    assert forwarded == {"x-forwarded-for": "127.0.0.1", "x-forwarded-host": host, "x-forwarded-proto": "http"}
    assert seen == {
        "method": "POST",
        "url": f"{streaming_host.origin}/v1/echo/bob x?a=1&a=2",
        "path": {"name": "bob x"},
        "query": [["a", "1"], ["a", "2"]],
        "length": 3,
    }


@pytest.mark.behaviour("devhost.streaming-returns-as-recorded")
@pytest.mark.parametrize(
    ("kind", "status", "content_type", "body"),
    [
        ("dict", 200, "application/json", b'{"a":[1]}'),
        ("text", 200, "application/json", b'"t"'),
        ("number", 200, "application/json", b"5"),
        ("none", 500, "text/plain; charset=utf-8", b"Internal Server Error"),
        ("raise", 500, "text/plain; charset=utf-8", b"Internal Server Error"),
        ("refuse", 418, "application/json", b'{"detail":"a teapot"}'),
    ],
)
async def test_a_result_is_answered_as_the_workers_own_server_answers_it(client, kind, status, content_type, body):
    """Plain values are JSON; None and errors are a text without detail."""
    answer = await client.get(f"/v1/results/{kind}")
    assert (answer.status_code, answer.headers["content-type"], answer.content) == (status, content_type, body)


@pytest.mark.behaviour("devhost.streams")
async def test_a_stream_passes_chunk_by_chunk(client):
    async with client.stream("GET", "/v1/stream") as answer:
        chunks = [chunk async for chunk in answer.aiter_text()]
    assert "".join(chunks) == "data: 0\n\ndata: 1\n\ndata: 2\n\n"
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["transfer-encoding"] == "chunked"


@pytest.mark.behaviour("devhost.streams")
async def test_a_client_that_leaves_cancels_the_generator(client):
    async with client.stream("GET", "/v1/endless") as answer:
        assert await anext(answer.aiter_text()) == "first\n"
    assert (await client.get("/v1/left")).text == "the generator was cancelled"


@pytest.mark.behaviour("devhost.streams")
async def test_a_generator_that_raises_just_ends_the_body(client, streaming_host):
    assert (await client.get("/v1/breaks")).text == "first\n"
    streaming_host.wait_for("ValueError: not for callers")
