"""The clerk's app called without a host, and what can be asked of it: messages, approvals, answers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
from agent_framework import AgentMiddleware

from hosting.app import AgentFunctionApp
from tests.support.carriers import GUARD_SECONDS
from tests.support.clerk import clerk
from tests.support.direct import DirectHost

THREADS = "/api/agents/Clerk/threads"


class Desk:
    """One process of the app, whose agent has that middleware; `notes` is what its tools did."""

    def __init__(self, *middleware: AgentMiddleware, client_tools: bool = False, **environ: str) -> None:
        self.notes: list[str] = []
        self.app = AgentFunctionApp(
            agents=[clerk(self.notes.append, *middleware)],
            enable_mcp_tool_trigger=True,
            client_tools=client_tools,
            environ={"AGENT_LOG": "memory", **environ},
        )
        self.host = DirectHost(self.app)
        transport = httpx.ASGITransport(self.host.asgi, raise_app_exceptions=False)
        self.http = httpx.AsyncClient(transport=transport, base_url="http://app.example", timeout=GUARD_SECONDS)

    async def say(self, message: str, thread_id: str = "t", **fields: Any) -> httpx.Response:
        body = {"message": message, "thread_id": thread_id, **fields}
        return await self.http.post("/api/agents/Clerk/run", json=body)

    async def approvals_of(self, message: str, thread_id: str = "t") -> list[str]:
        """Send a message that ends in approvals, and return their ids."""
        answer = await self.say(message, thread_id)
        assert answer.status_code == 200, answer.text
        return [approval["id"] for approval in answer.json()["pending_approvals"]]

    async def waiting(self, thread_id: str = "t") -> list[str]:
        answer = await self.http.get(f"{THREADS}/{thread_id}/approvals")
        assert answer.status_code == 200, answer.text
        return [approval["id"] for approval in answer.json()["approvals"]]

    async def answer(
        self, approval_id: str, approved: object = True, thread_id: str = "t", **more: Any
    ) -> httpx.Response:
        place = f"{THREADS}/{thread_id}/approvals/{approval_id}"
        return await self.http.post(place, json={"approved": approved, **more})

    async def stored(self, thread_id: str = "t") -> dict[str, Any]:
        """Return the stored conversation, once its entity has nothing to do any more."""
        await asyncio.wait_for(self.host.entities.idle(), GUARD_SECONDS)
        return dict(json.loads(self.host.entities.states[f"@dafx-clerk@{thread_id}"]))
