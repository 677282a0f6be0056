"""What every HTTP answer has, whichever route gave it."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator

import pytest
from azurefunctions.extensions.http.fastapi import Request, Response
from starlette.requests import ClientDisconnect

from hosting.errors import (
    HostingError,
    LogUnavailableError,
    MethodNotAllowedError,
    NewerVersionError,
    TooManyRunsError,
    UnknownThreadError,
)
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


@pytest.mark.behaviour("http.slow-bodies")
async def test_a_caller_that_leaves_before_its_request_is_whole_is_no_defect(caplog: pytest.LogCaptureFixture) -> None:
    """The log has no more than a debug line of it, or any caller could fill the log."""
    with caplog.at_level(logging.DEBUG):
        response = await answered(ClientDisconnect())

    assert response.status_code == 400
    assert [record.levelname for record in caplog.records] == ["DEBUG"]


@pytest.mark.behaviour("http.retry-after")
@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (LogUnavailableError(), "1"),
        (LogUnavailableError(retry_after_seconds=0.2), "1"),
        (LogUnavailableError(retry_after_seconds=6.5), "7"),
        (NewerVersionError("A newer version wrote it."), "1"),
        (TooManyRunsError("There are many."), "1"),
        (UnknownThreadError("There is none."), None),
        (MethodNotAllowedError("Not so."), None),
    ],
)
async def test_a_refusal_that_may_not_stand_for_long_says_when_to_ask_again(
    error: HostingError, seconds: str | None
) -> None:
    """As long as the store's own pause, and never at once."""
    assert (await answered(error)).headers.get("retry-after") == seconds
