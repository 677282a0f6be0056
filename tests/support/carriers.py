"""The two ways to the app under test, and what can be asked of either: requests, logs, conversations."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from hosting.app import AgentFunctionApp
from tests.support.direct import DirectHost
from tests.support.live_asgi import LiveTransport

APP = Path(__file__).resolve().parent / "app"
GUARD_SECONDS = 5.0
ENTITY = "dafx-joker"
CONVERSATION = f"@{ENTITY}@"
ENTITIES = f"/runtime/webhooks/durabletask/entities/{ENTITY}"
CURSOR = "x-ms-continuation-token"


@dataclass(frozen=True)
class Api:
    """The app behind one carrier. Of Joker, `state` returns the stored text of a thread's conversation, and `threads`
    all threads that have one.
    """

    http: httpx.AsyncClient
    log: Path
    state: Callable[[str], Awaitable[str | None]]
    threads: Callable[[], Awaitable[set[str]]]
    live: httpx.AsyncClient
    """Reads answers as they come, which the client of an app without a host does not."""
    forget_state: Callable[[str], object] = str
    is_over_socket: bool = False

    @property
    def pause(self) -> float:
        """Seconds between two looks at what has not happened yet: who looks all the time takes a host's processor."""
        return 0.02 if self.is_over_socket else 0.0

    async def ask(self, message: str, **fields: Any) -> httpx.Response:
        """Send one message to Joker as JSON."""
        return await self.http.post("/api/agents/Joker/run", json={"message": message, **fields})

    async def begin(self, url: str) -> asyncio.Future[httpx.Response]:
        """Begin to read a stream, and return what will be its answer; whoever answers has sent its head."""
        answer = await self.live.send(self.live.build_request("GET", url), stream=True)

        async def whole() -> httpx.Response:
            await answer.aread()
            return answer

        return asyncio.ensure_future(whole())

    async def ended(self, location: str) -> dict[str, Any]:
        """Return the status of a run once it has ended, under the guard."""
        return await asyncio.wait_for(self._ended(location), GUARD_SECONDS)

    async def _ended(self, location: str) -> dict[str, Any]:
        while (answer := await self.http.get(location)).status_code == 202:  # noqa: ASYNC110 - a process may end it
            await asyncio.sleep(self.pause)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def entries(self, thread_id: str, turns: int = 1) -> list[dict[str, Any]]:
        """Return the entries of a conversation once it has so many turns: it is written after the answer is known."""
        return await asyncio.wait_for(self._entries(thread_id, turns), GUARD_SECONDS)

    async def _entries(self, thread_id: str, turns: int) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = []
        while len(entries) < 2 * turns:
            await asyncio.sleep(self.pause)
            text = await self.state(thread_id)
            entries = json.loads(text)["data"]["conversationHistory"] if text else []
        return entries

    async def stored(self) -> tuple[int, set[str]]:
        """Return how many runs there are, and every thread that has a conversation."""
        return run_count(self.log), await self.threads()


def run_count(log: Path) -> int:
    """Return how many runs the log at this path has accepted."""
    if not log.exists():
        return 0
    connection = sqlite3.connect(log)
    try:
        return int(connection.execute("SELECT count(*) FROM named WHERE name LIKE 'run-%'").fetchone()[0])
    finally:
        connection.close()


def load_app() -> AgentFunctionApp:
    """Import the app under test anew, by its path: its module's name is that of the product's own app."""
    if str(APP) not in sys.path:
        sys.path.append(str(APP))
    spec = importlib.util.spec_from_file_location("hosting_app_under_test", APP / "function_app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    app = module.app
    assert isinstance(app, AgentFunctionApp)
    return app


def direct_api(host: DirectHost, log: Path) -> Api:
    """Return the app called without a host."""
    transport = httpx.ASGITransport(host.asgi, raise_app_exceptions=False)
    http = httpx.AsyncClient(transport=transport, base_url="http://app.example", timeout=GUARD_SECONDS)

    async def state(thread_id: str) -> str | None:
        return host.entities.states.get(f"{CONVERSATION}{thread_id}")

    async def threads() -> set[str]:
        return {id_.removeprefix(CONVERSATION) for id_ in host.entities.states if id_.startswith(CONVERSATION)}

    def forget_state(thread_id: str) -> object:
        return host.entities.states.pop(f"{CONVERSATION}{thread_id}")

    live = httpx.AsyncClient(transport=LiveTransport(host.asgi), base_url=http.base_url)
    return Api(http, log, state, threads, live, forget_state)


def socket_api(origin: str, log: Path) -> Api:
    """Return the app on the local host at `origin`."""
    http = httpx.AsyncClient(base_url=origin, timeout=4 * GUARD_SECONDS)

    async def state(thread_id: str) -> str | None:
        text = (await http.get(f"{ENTITIES}/{thread_id}")).text
        return None if text in ("", "null") else text

    async def threads() -> set[str]:
        token: str | None = ""
        found: list[dict[str, Any]] = []
        while token is not None:
            page = await http.get(ENTITIES, params={"top": 10_000}, headers={CURSOR: token})
            token, found = page.headers.get(CURSOR), [*found, *page.json()]
        return {item["entityId"]["key"] for item in found}

    return Api(http, log, state, threads, http, is_over_socket=True)
