"""An app with the endpoint, and a client of one version of the protocol."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

from hosting.app import Principal, PrincipalRequest
from tests.support.wired import WiredApp

PATH = "/api/mcp/v1"
HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"
HEADERS = {"accept": "application/json, text/event-stream"}
ASKS: dict[str, Any] = {"elicitation": {}}
_META = "io.modelcontextprotocol/"


def signed_in(request: PrincipalRequest) -> Principal | None:
    """Return whom the header names."""
    return Principal("https://login.example", request.headers.get("x-user", "ada"))


class Wired(WiredApp):
    """The app; `http` hands streams on as they come."""

    wire, path, headers, is_live = "mcp", "mcp/v1", HEADERS, True


class Session:
    """A client of one version of the protocol, which may put questions to its person."""

    def __init__(self, http: httpx.AsyncClient, version: str = HANDSHAKE, capabilities: Any = None) -> None:
        self.http = http
        self.version = version
        self.capabilities = capabilities or {}
        self.headers: dict[str, str] = {}
        self._numbers = itertools.count(1)

    async def begin(self, **headers: str) -> dict[str, Any]:
        """Shake hands, and return the server's part."""
        self.headers |= headers
        params = {"protocolVersion": self.version, "capabilities": self.capabilities, "clientInfo": NAME}
        answer = await self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        result: dict[str, Any] = answer.json()["result"]
        self.headers |= {"mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": self.version}
        await self.notify("notifications/initialized")
        return result

    async def begun(self) -> Session:
        """Shake hands if the version has that."""
        if self.version != STATELESS:
            await self.begin()
        return self

    async def post(self, message: Any, **headers: str) -> httpx.Response:
        return await self.http.post("", json=message, headers={**self.headers, **headers})

    async def notify(self, method: str, **params: Any) -> httpx.Response:
        """Send a notification."""
        return await self.post({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, params: Mapping[str, Any], request_id: object = None) -> dict[str, Any]:
        """Return a request, with all about the client where the version has no handshake."""
        number = next(self._numbers) if request_id is None else request_id
        if self.version == STATELESS:
            own = {f"{_META}protocolVersion": STATELESS, f"{_META}clientCapabilities": self.capabilities}
            params = {**params, "_meta": {**own, **params.get("_meta", {})}}
        return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}

    def headers_of(self, request: Mapping[str, Any]) -> dict[str, str]:
        if self.version != STATELESS:
            return self.headers
        name = request["params"].get("name", request["params"].get("uri"))
        named = {} if name is None else {"mcp-name": name}
        return {**self.headers, "mcp-protocol-version": STATELESS, "mcp-method": request["method"], **named}

    async def rpc(self, method: str, request_id: object = None, **params: Any) -> dict[str, Any]:
        request = self.request(method, params, request_id)
        answer = await self.http.post("", json=request, headers=self.headers_of(request))
        is_stream = answer.headers["content-type"].startswith("text/event-stream")
        body: dict[str, Any] = events_of(answer.text)[-1].value if is_stream else answer.json()
        assert (body["jsonrpc"], body["id"]) == ("2.0", request["id"]), body
        return body

    async def result(self, method: str, request_id: object = None, **params: Any) -> dict[str, Any]:
        body = await self.rpc(method, request_id, **params)
        assert "result" in body, body
        result: dict[str, Any] = body["result"]
        return result

    async def refused(self, method: str, **params: Any) -> tuple[int, str]:
        """Return code and message of a request that is refused."""
        error = (await self.rpc(method, **params))["error"]
        return error["code"], error["message"]

    async def call(self, query: str, thread: str | None = None, tool: str = "Joker", **more: Any) -> dict[str, Any]:
        arguments = {"query": query} if thread is None else {"query": query, "threadId": thread}
        return await self.result("tools/call", name=tool, arguments=arguments, **more)

    @asynccontextmanager
    async def calling(self, query: str, tool: str = "Joker", **more: Any) -> AsyncIterator[AsyncIterator[Event]]:
        """Open the stream of a call that takes progress; its events come one by one."""
        arguments = {"query": query, **more.pop("arguments", {})}
        params = {"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}, **more}
        request = self.request("tools/call", params, more.pop("request_id", None))
        async with self.http.stream("POST", "", json=request, headers=self.headers_of(request)) as answer:
            yield live_events(answer)

    @asynccontextmanager
    async def listening(self, *uris: str, **more: Any) -> AsyncIterator[AsyncIterator[Event]]:
        """Open a stream of changes of these resources; its events come one by one."""
        filters = {"resourceSubscriptions": [*uris], **more}
        request = self.request("subscriptions/listen", {"notifications": filters}, "listen")
        async with self.http.stream("POST", "", json=request, headers=self.headers_of(request)) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream"), await answer.aread()
            yield live_events(answer)

    @asynccontextmanager
    async def resuming(self, last: str) -> AsyncIterator[AsyncIterator[Event]]:
        """Open the rest of a stream."""
        async with self.http.stream("GET", "", headers={**self.headers, "last-event-id": last}) as answer:
            assert answer.status_code == 200, await answer.aread()
            yield live_events(answer)

    async def answer(self, question: Mapping[str, Any], action: str, **content: Any) -> httpx.Response:
        result = {"action": action, **({"content": content} if action == "accept" else {})}
        return await self.post({"jsonrpc": "2.0", "id": question["id"], "result": result})


NAME = {"name": "test", "version": "1"}


class Event:
    """One event of a stream: its id and its JSON value, None for one without data."""

    def __init__(self, text: str) -> None:
        lines = dict(line.split(": ", 1) for line in text.splitlines() if not line.startswith(":"))
        self.id = lines.get("id")
        self.value: Any = json.loads(lines["data"]) if lines.get("data") else None


def events_of(text: str) -> list[Event]:
    """Return the events of a whole stream, without pings."""
    return [Event(part) for part in text.split("\n\n") if part and not part.startswith(":")]


async def live_events(answer: httpx.Response) -> AsyncIterator[Event]:
    text = ""
    async for piece in answer.aiter_text():
        text += piece
        *whole, text = text.split("\n\n")
        for part in whole:
            if not part.startswith(":"):
                yield Event(part)


async def until(events: AsyncIterator[Event], *members: str) -> dict[str, Any]:
    """Return the first message that has one of these members."""
    async for event in events:
        if event.value is not None and any(member in event.value for member in members):
            value: dict[str, Any] = event.value
            return value
    raise AssertionError(f"the stream ended without {members}")


def words(values: list[dict[str, Any]]) -> str:
    """Return the messages of progress, joined."""
    return "".join(value["params"]["message"] for value in values)
