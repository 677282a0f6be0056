"""An app of the scripted agent, the clerk and the test kit's agent with the wire, called without a host."""

from __future__ import annotations

import itertools
from typing import Any

import httpx

from tests.hosting.features.a2a.kit import kit_agent
from tests.support.a2a import HEADERS, message, payloads
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import GUARD_SECONDS
from tests.support.clerk import clerk
from tests.support.direct import DirectHost
from tests.support.made_app import MEMORY, app_of

URL = "http://app.example/api/a2a"


class Wired:
    """The app; `http` sends plain requests below the wire's path."""

    def __init__(self, environ: dict[str, str] | None = None, *more_agents: Any, **options: Any) -> None:
        self.notes: list[str] = []
        agents = (scripted_agent("Joker"), clerk(self.notes.append), kit_agent(lambda: self.app), *more_agents)
        self.app = app_of(*agents, wires=["a2a"], environ={**MEMORY, **(environ or {})}, **options)
        self.host = DirectHost(self.app)
        transport = httpx.ASGITransport(self.host.asgi, raise_app_exceptions=False)
        self.http = httpx.AsyncClient(transport=transport, base_url=URL, timeout=GUARD_SECONDS, headers=HEADERS)
        self._numbers = itertools.count(1)

    async def rpc(self, method: str, agent: str = "Joker", headers: Any = None, **params: Any) -> dict[str, Any]:
        request = {"jsonrpc": "2.0", "id": f"r{next(self._numbers)}", "method": method, "params": params}
        answer = await self.http.post(agent, json=request, headers=headers)
        body: dict[str, Any] = answer.json()
        assert answer.status_code == 200, answer.text
        assert (body["jsonrpc"], body["id"]) == ("2.0", request["id"])
        return body

    async def result(self, method: str, agent: str = "Joker", headers: Any = None, **params: Any) -> dict[str, Any]:
        body = await self.rpc(method, agent, headers, **params)
        assert "result" in body, body
        result: dict[str, Any] = body["result"]
        return result

    async def refused(self, method: str, agent: str = "Joker", headers: Any = None, **params: Any) -> tuple[int, str]:
        error = (await self.rpc(method, agent, headers, **params))["error"]
        return error["code"], error["message"]

    async def send(self, text: str, agent: str = "Joker", configuration: Any = None, **fields: Any) -> dict[str, Any]:
        sent = message(text, **fields)
        result = await self.result("SendMessage", agent, message=sent, configuration=configuration or {})
        task: dict[str, Any] = result["task"]
        return task

    async def streamed(self, method: str, agent: str = "Joker", **params: Any) -> list[dict[str, Any]]:
        request = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        answer = await self.http.post(agent, json=request)
        assert answer.headers["content-type"].startswith("text/event-stream"), answer.text
        return payloads(answer.text)
