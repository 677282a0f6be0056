"""The app's own durable client, answered in the host's process (`devhost.durable.management.own_client`)."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator

import pytest
from azure.durable_functions.models.utils import http_utils
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from devhost.durable.management.own_client import answered_here
from devhost.forwarding import current_invocation_id, make_task, mark_task
from devhost.http.app import BodyLimit

pytestmark = pytest.mark.behaviour("engine.own-client")

BASE = "http://127.0.0.1:1/durabletask/"
"""Nothing listens there: what goes over HTTP fails."""
CALLER = contextvars.ContextVar("caller", default="nobody")


class Engine:
    """Stands for the management API; keeps what arrived, and answers once it is let go."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, str, bytes, str | None]] = []
        self.callers: list[tuple[str, str | None]] = []
        self.may_answer = asyncio.Event()
        self.arrived, self.answered = asyncio.Event(), asyncio.Event()
        self.may_answer.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        path = scope["path"].removeprefix(scope["root_path"])
        kind = request.headers.get("content-type")
        self.seen.append((scope["method"], path, request.url.query, await request.body(), kind))
        self.callers.append((CALLER.get(), current_invocation_id()))
        self.arrived.set()
        await self.may_answer.wait()
        answer = Response(status_code=202) if scope["method"] == "POST" else JSONResponse({"host": request.url.netloc})
        await answer(scope, receive, send)
        self.answered.set()


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    asyncio.get_running_loop().set_task_factory(make_task)
    engine = Engine()
    with answered_here(BodyLimit(engine, 100), BASE):
        yield engine
    await http_utils._close_session()


async def test_each_verb_arrives_and_is_answered_as_over_http_and_nothing_of_the_caller_does(engine: Engine) -> None:
    """Path decoded, query as it stands, JSON body; an empty answer reads as none.

    Neither the caller's variables, in which traces are, nor its invocation, which the engine's tasks would log for.
    """
    CALLER.set("a function")
    mark_task("an invocation")
    signal = await http_utils.post_async_request(f"{BASE}entities/dafx-a/app~t%20x?op=run", {"id": "é"})
    read = await http_utils.get_async_request(f"{BASE}entities/dafx-a/t")
    gone = await http_utils.delete_async_request(f"{BASE}instances/i!1")

    assert (signal, read, gone) == ([202, None], [200, {"host": "127.0.0.1:1"}], [200, {"host": "127.0.0.1:1"}])
    assert engine.seen == [
        ("POST", "/entities/dafx-a/app~t x", "op=run", b'{"id": "\\u00e9"}', "application/json"),
        ("GET", "/entities/dafx-a/t", "", b"", None),
        ("DELETE", "/instances/i!1", "", b"", None),
    ]
    assert engine.callers == [("nobody", None)] * 3


async def test_an_address_that_a_client_would_change_goes_over_http(engine: Engine) -> None:
    for path in ("entities/a/two words", "entities/a/../b", "entities/a/./b", "instances/#1", "é"):
        with pytest.raises(OSError):
            await http_utils.get_async_request(f"{BASE}{path}")
    assert engine.seen == []


async def test_a_request_goes_on_when_its_caller_is_cancelled(engine: Engine) -> None:
    """As one that has arrived over HTTP does."""
    engine.may_answer.clear()
    caller = asyncio.ensure_future(http_utils.post_async_request(f"{BASE}entities/a/b?op=run", "1"))
    await engine.arrived.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller

    engine.may_answer.set()
    await engine.answered.wait()
