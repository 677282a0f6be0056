"""Microsoft's agent-framework-azurefunctions, by its own route and the durable extension's for entities."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from typing import Any

from conformance.port import End, Entry, NotOffered, Refused, Run, Service

POLL_SECONDS = 0.1
ENTITIES = "runtime/webhooks/durabletask/entities"


class UpstreamService(Service):
    """The URL is the app's own, without `/api`. On Azure the route for entities needs the extension's key."""

    async def find_agent(self) -> None:
        """There is no list of agents, so one must be named; the entities' route shows that the app answers."""
        if not self.agent:
            raise ValueError("this service lists no agents: name an agent with --agent")
        await self.call("GET", f"{ENTITIES}/dafx-{self.agent}?fetchState=false")

    def as_owner(self, headers: Mapping[str, str]) -> Service:
        """Who has the app's key has every session."""
        raise NotOffered("owners of sessions")

    async def new_thread(self) -> str:
        """A session begins with its first message."""
        return uuid.uuid4().hex

    async def start(self, thread: str, message: str, key: str = "") -> Run:
        """202 with the id by which the session's document has the answer."""
        if key:
            raise NotOffered("idempotency keys")
        body = {"message": message, "session_id": thread, "thread_id": thread, "wait_for_response": False}
        sent = (await self.call("POST", f"api/agents/{self.agent}/run", json=body)).json()
        return Run(thread, sent["correlation_id"])

    async def end(self, run: Run) -> End:
        """Once the document has the response."""
        while True:
            for entry in await self._history(run.thread):
                if entry["correlationId"] == run.id and entry["$type"] == "response":
                    return End("completed", _text(entry))
            await asyncio.sleep(POLL_SECONDS)

    async def conversation(self, thread: str) -> list[Entry]:
        """The entries of the document."""
        history = await self._history(thread)
        return [Entry("user" if entry["$type"] == "request" else "agent", _text(entry)) for entry in history]

    async def stored_version(self, thread: str) -> str:
        """The document's own."""
        return str((await self._document(thread))["schemaVersion"])

    async def _history(self, thread: str) -> list[dict[str, Any]]:
        try:
            return list((await self._document(thread))["data"]["conversationHistory"])
        except Refused as refusal:
            if refusal.status != 404:
                raise
            return []  # accepted, and not yet there

    async def _document(self, thread: str) -> dict[str, Any]:
        return dict((await self.call("GET", f"{ENTITIES}/dafx-{self.agent}/{thread}")).json())


def _text(entry: dict[str, Any]) -> str:
    return "".join(
        content["text"]
        for message in entry["messages"]
        for content in message["contents"]
        if content["$type"] == "text"
    )
