"""What every HTTP answer has, whichever route gave it."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
from azurefunctions.extensions.http.fastapi import Request, Response

from hosting.errors import UnknownThreadError
from hosting.functions.answering import respond
from hosting.http.pings import PING
from hosting.http.replies import Reply, Streamed


async def frames() -> AsyncGenerator[bytes, None]:
    """Yield a silence."""
    yield PING


async def answered(reply: Reply | Streamed | Exception) -> Response:
    """Return the answer to a request whose handler replies or raises that."""
    scope = {"type": "http", "method": "GET", "path": "/api/x", "headers": [], "path_params": {}, "query_string": b""}

    async def work() -> Reply | Streamed:
        if isinstance(reply, Exception):
            raise reply
        return reply

    return await respond(Request(scope), work())


@pytest.mark.behaviour("http.no-store")
@pytest.mark.parametrize(
    ("reply", "cache_control"),
    [
        (Reply(200, "{}", "application/json"), "no-store"),
        (Reply(204, "", None), "no-store"),
        (Streamed(frames(), {}), "no-store"),
        (Streamed(frames(), {"cache-control": "no-cache, no-store"}), "no-cache, no-store"),
        (UnknownThreadError("There is none."), "no-store"),
        (KeyError("a defect"), "no-store"),
    ],
)
async def test_nobody_on_the_way_keeps_an_answer(reply: Reply | Streamed | Exception, cache_control: str) -> None:
    assert (await answered(reply)).headers["cache-control"] == cache_control
