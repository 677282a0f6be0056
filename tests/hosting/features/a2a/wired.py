"""An app of the scripted agent, the clerk and the test kit's agent with the wire, called without a host."""

from __future__ import annotations

from typing import Any

from tests.hosting.features.a2a.kit import kit_agent
from tests.support.a2a import HEADERS, message, payloads
from tests.support.wired import ORIGIN, WiredApp

URL = f"{ORIGIN}/a2a"


class Wired(WiredApp):
    """The app."""

    wire, path, headers = "a2a", "a2a", HEADERS
    sent = 0

    def others(self) -> tuple[Any, ...]:
        return (kit_agent(lambda: self.app),)

    async def rpc(self, method: str, agent: str = "Joker", headers: Any = None, **params: Any) -> dict[str, Any]:
        self.sent += 1
        request = {"jsonrpc": "2.0", "id": f"r{self.sent}", "method": method, "params": params}
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
