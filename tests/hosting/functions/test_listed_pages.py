"""Lists by the HTTP address of the engine, as the real host answers there: where they end, where they would not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from azure.durable_functions import DurableOrchestrationClient

from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import CURSOR, GUARD_SECONDS
from tests.support.direct import DirectHost

pytestmark = pytest.mark.behaviour("http.lists-end")

LISTS = (
    "operations",
    "agents/one/threads",
    "agents/one/threads?sort=changed",
    "agents/one/figures",
    "approvals",
)


class Engine:
    """The part of the engine that lists entities; `follow` says with which cursor it answers the given one."""

    def __init__(self) -> None:
        self.follow: Callable[[str], str] = str
        self.cursors: list[str] = []
        self.asked = asyncio.Event()
        self.sdk: Any = None

    async def list(self, request: web.Request) -> web.Response:
        """Answer a page without entities."""
        await asyncio.sleep(0)
        self.cursors.append(request.headers.get(CURSOR, ""))
        self.asked.set()
        return web.json_response([], headers={CURSOR: self.follow(self.cursors[-1])})

    @property
    def app(self) -> DirectHost:
        """An app whose durable client asks this engine."""
        made = AgentFunctionApp(agents=[scripted_agent("one"), scripted_agent("two")], environ={"AGENT_LOG": "memory"})
        return DirectHost(made, sdk=lambda _: self.sdk)


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    """An engine on loopback."""
    engine, routes = Engine(), web.Application()
    routes.router.add_get("/entities/{name}", engine.list)
    server = TestServer(routes)
    await server.start_server()
    bindings = {"taskHubName": "hub", "creationUrls": {}, "managementUrls": {}, "rpcBaseUrl": f"{server.make_url('/')}"}
    engine.sdk = DurableOrchestrationClient(json.dumps(bindings))
    yield engine
    await server.close()


async def get(app: DirectHost, path: str) -> httpx.Response:
    """Return the answer of a route."""
    transport = httpx.ASGITransport(app.asgi, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://app.example") as http:
        return await asyncio.wait_for(http.get(f"/api/{path}"), GUARD_SECONDS)


@pytest.mark.parametrize("path", LISTS)
async def test_an_empty_cursor_is_none(engine: Engine, path: str) -> None:
    answer = await get(engine.app, path)

    assert (answer.status_code, answer.json().get("next_cursor")) == (200, None)
    assert '""' not in answer.text
    assert set(engine.cursors) == {""}


@pytest.mark.parametrize("cursors", [{"": "a", "a": "a"}, {"": "a", "a": "b", "b": "a"}])
@pytest.mark.parametrize("path", [path for path in LISTS if path != "agents/one/threads"])
async def test_a_list_that_leads_to_the_same_page_again_is_an_error(
    engine: Engine, path: str, cursors: dict[str, str]
) -> None:
    engine.follow = cursors.__getitem__

    answer = await get(engine.app, path)

    assert (answer.status_code, answer.json()["code"]) == (503, "engine_unavailable")
    assert answer.json()["detail"] == (
        "The durable engine's list of 'dafx-one' does not end: it repeats a page. Try again."
    )


async def test_a_caller_who_leaves_ends_the_list(engine: Engine) -> None:
    """Nobody waits for it any more, and the engine has other work."""
    engine.follow = lambda cursor: str(len(engine.cursors))

    async def receive() -> dict[str, Any]:
        await engine.asked.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        """Nobody reads it."""

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/api/operations",
        "raw_path": b"/api/operations",
        "query_string": b"",
        "headers": [],
        "root_path": "",
    }
    await asyncio.wait_for(engine.app.asgi(scope, receive, send), GUARD_SECONDS)  # type: ignore[arg-type]
