"""Any service that speaks OpenAI's Responses and Conversations, as far as that protocol goes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import httpx

from conformance.events import events_of
from conformance.port import End, Entry, NotOffered, Piece, Run, Service

OPEN = ("queued", "in_progress")
POLL_SECONDS = 0.1


class ResponsesService(Service):
    """The URL is what a client has as its base URL. Each run is in the background, and in a conversation."""

    def __init__(self, http: httpx.AsyncClient, agent: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(http, agent, headers)
        self._read: dict[str, dict[str, int]] = {}  # by response and item, how much text of it was read

    async def find_agent(self) -> None:
        """The first model."""
        models = (await self.call("GET", "models")).json()["data"]
        self.agent = self.agent or models[0]["id"]

    async def new_thread(self) -> str:
        """A conversation; a service of several agents reads whose from its metadata."""
        body = {"metadata": {"agent_id": self.agent}}
        return str((await self.call("POST", "conversations", json=body)).json()["id"])

    async def _started(self, thread: str, given: Any, **fields: Any) -> Run:
        """Started as a stream, which is what can be read later, and left at its first event."""
        body = {
            "model": self.agent,
            "conversation": thread,
            "input": given,
            "background": True,
            "stream": True,
            **fields,
        }
        async with aclosing(events_of(self.http, "POST", "responses", json=body, headers=self.headers)) as events:
            async for event in events:
                return Run(thread, event.json()["response"]["id"])
        raise ValueError("the stream of a new response has no event")

    async def start(self, thread: str, message: str, key: str = "") -> Run:
        """The protocol has no idempotency keys."""
        if key:
            raise NotOffered("idempotency keys")
        return await self._started(thread, message)

    async def is_open(self, run: Run) -> bool:
        """Tell whether a run has not ended."""
        return (await self.call("GET", f"responses/{run.id}")).json()["status"] in OPEN

    async def end(self, run: Run) -> End:
        """By its status."""
        while True:
            response = (await self.call("GET", f"responses/{run.id}")).json()
            if response["status"] not in OPEN:
                return _end(response)
            await asyncio.sleep(POLL_SECONDS)

    async def ask_waiting(self, thread: str, message: str) -> End:
        """A response that is not in the background."""
        body = {"model": self.agent, "conversation": thread, "input": message}
        return _end((await self.call("POST", "responses", json=body)).json())

    async def start_long(self, thread: str, message: str) -> Run:
        """The protocol has nothing of steps: the service may record them."""
        return await self.start(thread, message)

    async def conversation(self, thread: str) -> list[Entry]:
        """Its messages among the items."""
        page = json.loads(await self.shown(thread))
        return [
            Entry("user" if item.get("role") == "user" else "agent", text_of(item))
            for item in page["data"]
            if text_of(item)
        ]

    async def shown(self, thread: str) -> str:
        """The items of the conversation."""
        return (await self.call("GET", f"conversations/{thread}/items?order=asc&limit=100")).text

    async def follow(self, run: Run, after: str = "") -> AsyncGenerator[Piece, None]:
        """The number of an event is its id here. An item that is done as incomplete is void, with its text."""
        query = f"?stream=true&starting_after={after}" if after else "?stream=true"
        items = self._read.get(run.id, {}) if after else {}
        self._read[run.id] = items
        path = f"responses/{run.id}{query}"
        async with aclosing(events_of(self.http, "GET", path, headers=self.headers)) as events:
            async for event in events:
                if event.data == "[DONE]":
                    return
                data = event.json()
                text, offset = "", sum(items.values())
                if data["type"] == "response.output_text.delta":
                    text = data["delta"]
                    items[data["item_id"]] = items.get(data["item_id"], 0) + len(text)
                elif data["type"] == "response.output_item.done" and data["item"].get("status") == "incomplete":
                    items.pop(data["item"]["id"], None)
                yield Piece(str(data["sequence_number"]), text, offset)

    async def cancel(self, run: Run) -> None:
        """200 with the response."""
        await self.call("POST", f"responses/{run.id}/cancel")

    async def decide(self, thread: str, approval: str, approved: bool) -> Run:
        """A response to an item that answers the request."""
        answer = {"type": "mcp_approval_response", "approval_request_id": approval, "approve": approved}
        return await self._started(thread, [answer])

    async def start_with_tool(self, thread: str, message: str, tool: Mapping[str, Any]) -> Run:
        """A function tool."""
        return await self._started(thread, message, tools=[{"type": "function", **tool}])

    async def give(self, thread: str, call: str, result: str) -> Run:
        """A response to an item with the function's output."""
        return await self._started(thread, [{"type": "function_call_output", "call_id": call, "output": result}])

    async def delete(self, thread: str) -> None:
        """200."""
        await self.call("DELETE", f"conversations/{thread}")


def _end(response: Mapping[str, Any]) -> End:
    if response["status"] != "completed":
        return End("cancelled" if response["status"] == "cancelled" else "failed", str(response.get("error")))
    return End("completed", "".join(map(text_of, response["output"])), _waiting(response["output"]))


def text_of(item: dict[str, Any]) -> str:
    """Return what an item says; nothing for one that is no message."""
    parts = item.get("content") or () if item["type"] == "message" else ()
    return "".join(part.get("text", "") for part in parts)


def _waiting(output: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the names of calls that wait: for approval, or else for a result; some services list each as both."""
    approvals = tuple(item["id"] for item in output if item["type"] == "mcp_approval_request")
    return approvals or tuple(item["call_id"] for item in output if item["type"] == "function_call")
