"""An engine that takes its time, or whose answers are lost: what callers are told, and what counts all the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypeVar

import azure.functions as func
import httpx
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from azure.durable_functions import DurableOrchestrationClient, OrchestrationRuntimeStatus

from hosting.app import AgentFunctionApp
from hosting.errors import EngineUnavailableError
from hosting.functions.durable import DurableClient
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import CURSOR, GUARD_SECONDS
from tests.support.direct import DirectHost
from tests.support.made_app import app_of

T = TypeVar("T")
ORDER = ("dafx-joker", "t", "run", {"logged": True})


class Stalled:
    """The SDK's client, of which nobody answers any method, as where the engine's disk is full.

    `meanwhile` is called once, as soon as something was sent; after it the engine answers.
    """

    def __init__(self, meanwhile: Callable[[], None] | None = None) -> None:
        self.sent = 0
        self._meanwhile = meanwhile

    def __getattr__(self, name: str) -> Callable[..., Awaitable[None]]:
        return self._asked

    async def _asked(self, *arguments: object) -> None:
        self.sent += 1
        if self._meanwhile is None or self.sent == 1:
            if self._meanwhile is not None:
                self._meanwhile()
            await asyncio.Event().wait()


CALLS: dict[str, Callable[[DurableClient], Awaitable[object]]] = {
    "signal": lambda client: client.signal(*ORDER),
    "read": lambda client: client.read("dafx-joker", "t"),
    "ended": lambda client: client.ended("dafx-joker", "t"),
    "purge": lambda client: client.purge("i1"),
    "purge an entity": lambda client: client.purge("@dafx-joker@t"),
    "start": lambda client: client.start("ask", "i1", {}),
    "status": lambda client: client.status("i1"),
    "send_event": lambda client: client.send_event("i1", "said", 1),
    "terminate": lambda client: client.terminate("i1"),
}


@pytest.mark.behaviour("http.full-disk")
async def test_a_list_that_nobody_sends_fails_in_time() -> None:
    async with silent_server() as url:
        stalled = SimpleNamespace(_orchestration_bindings=SimpleNamespace(rpc_base_url=url))

        with pytest.raises(EngineUnavailableError):
            await asyncio.wait_for(DurableClient(stalled, call_seconds=0.1).list("dafx-joker", 10, None), GUARD_SECONDS)


@asynccontextmanager
async def silent_server() -> AsyncIterator[str]:
    """Serve connections that nobody answers, and give their address."""
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


@pytest.mark.behaviour("service.late-answers")
@pytest.mark.parametrize(("call", "times"), [("signal", 2), ("start", 2), ("terminate", 2), ("send_event", 1)])
async def test_a_call_whose_time_was_slept_through_is_made_again(
    monkeypatch: pytest.MonkeyPatch, call: str, times: int
) -> None:
    """Nobody knows of an answer that came while this process was stopped; an event that comes twice would be two."""
    loop, slept = asyncio.get_running_loop(), [0.0]
    time_of_loop = loop.time
    monkeypatch.setattr(loop, "time", lambda: time_of_loop() + slept[0])
    engine = Stalled(lambda: slept.__setitem__(0, 70.0))

    with suppress(EngineUnavailableError):
        await asyncio.wait_for(CALLS[call](DurableClient(engine)), 2 * 70.0)

    assert engine.sent == times


@dataclass(frozen=True)
class Status:
    """How an instance stands, as the SDK has it."""

    runtime_status: OrchestrationRuntimeStatus | None
    output: Any = None
    custom_status: Any = None


class Deaf:
    """The SDK's client for orchestrations, whose first answers are lost: so many calls of each name fail.

    One that is started is there, and has ended, whether or not that was answered. One that `is_away` starts nothing.
    """

    def __init__(self, lost: dict[str, int], *, is_away: bool = False) -> None:
        self.started = list[str]()
        self._is_away = is_away
        self._lost = dict(lost)

    async def start_new(self, name: str, instance_id: str, given: object) -> str:
        """Start one."""
        if not self._is_away:
            self.started.append(instance_id)
        return self._answered("start", instance_id)

    async def get_status(self, instance_id: str) -> Status:
        """Return how one stands."""
        ended = Status(OrchestrationRuntimeStatus.Completed, "done")
        return self._answered("status", ended if instance_id in self.started else Status(None))

    def _answered(self, call: str, answer: T) -> T:
        self._lost[call] = self._lost.get(call, 0) - 1
        if self._lost[call] >= 0:
            raise ConnectionResetError
        return answer


async def asked(sdk: Any, *, wait_seconds: float = GUARD_SECONDS) -> tuple[int, str]:
    """Have an app start an orchestration for a request; return the status and the body of its answer."""
    app = app_of(scripted_agent("Joker"))
    request = func.HttpRequest("POST", "http://app.example/api/ask", body=b"")
    answer = await app.run_orchestration(request, sdk, "ask", wait_seconds=wait_seconds)
    return answer.status_code, answer.get_body().decode()


@pytest.mark.behaviour("service.late-answers")
@pytest.mark.parametrize("lost", [{"start": 1}, {"status": 1}, {"status": 2}])
async def test_an_orchestration_that_was_started_is_answered_whatever_answer_was_lost(lost: dict[str, int]) -> None:
    sdk = Deaf(lost)

    assert await asked(sdk) == (200, '"done"')
    assert len(sdk.started) == 1


@pytest.mark.behaviour("service.late-answers")
async def test_an_orchestration_of_which_nobody_can_tell_is_answered_with_its_place() -> None:
    status, body = await asked(Deaf({"status": 1}), wait_seconds=0.0)

    assert (status, json.loads(body)["status"]) == (202, "Pending")


@pytest.mark.behaviour("service.late-answers")
async def test_an_orchestration_that_was_not_started_is_refused() -> None:
    status, body = await asked(Deaf({"start": 1}, is_away=True))

    assert (status, json.loads(body)["code"]) == (503, "engine_unavailable")


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


@pytest.mark.behaviour("http.lists-end")
async def test_an_empty_cursor_is_none(engine: Engine) -> None:
    for path in LISTS:
        answer = await get(engine.app, path)

        assert (answer.status_code, answer.json().get("next_cursor")) == (200, None), path
        assert '""' not in answer.text
        assert set(engine.cursors) == {""}


@pytest.mark.behaviour("http.lists-end")
@pytest.mark.parametrize("cursors", [{"": "a", "a": "a"}, {"": "a", "a": "b", "b": "a"}])
async def test_a_list_that_leads_to_the_same_page_again_is_an_error(engine: Engine, cursors: dict[str, str]) -> None:
    engine.follow = cursors.__getitem__
    for path in LISTS[2:]:
        answer = await get(engine.app, path)

        assert (answer.status_code, answer.json()["code"]) == (503, "engine_unavailable"), path
        assert answer.json()["detail"] == (
            "The durable engine's list of 'dafx-one' does not end: it repeats a page. Try again."
        )


@pytest.mark.behaviour("http.lists-end")
async def test_a_caller_who_leaves_ends_the_list(engine: Engine) -> None:
    """Nobody waits for it any more, and the engine has other work."""
    engine.follow = lambda cursor: str(len(engine.cursors))

    async def receive() -> dict[str, Any]:
        await engine.asked.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        """Nobody reads it."""

    path = {"path": "/api/operations", "raw_path": b"/api/operations", "root_path": ""}
    scope = {"type": "http", "method": "GET", "query_string": b"", "headers": [], **path}
    await asyncio.wait_for(engine.app.asgi(scope, receive, send), GUARD_SECONDS)  # type: ignore[arg-type]
