"""A container of Microsoft Foundry's hosted agents: Responses, without the platform's conversations around them."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from typing import Any

import httpx

from conformance.adapters.responses import POLL_SECONDS, ResponsesService, text_of
from conformance.port import Entry, NotOffered, Refused, Run

MODEL = "agent"
"""A container has one agent, and asks for the name of a model all the same."""


class FoundryService(ResponsesService):
    """The URL is the container's. A thread is the responses that name one conversation, which their client knows."""

    def __init__(self, http: httpx.AsyncClient, agent: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(http, agent, headers)
        self._runs: dict[str, list[Run]] = {}  # by thread, of all owners

    def as_owner(self, headers: Mapping[str, str]) -> FoundryService:
        """The platform says who asks in `x-agent-user-id`."""
        other = FoundryService(self.http, self.agent, {**self.headers, **headers})
        other._runs = self._runs
        return other

    async def find_agent(self) -> None:
        """By the route that the platform asks too."""
        await self.call("GET", "readiness")
        self.agent = self.agent or MODEL

    async def new_thread(self) -> str:
        """The platform makes conversations; the container takes the id that it is given."""
        return f"conv_{uuid.uuid4().hex}"

    async def _started(self, thread: str, given: Any, **fields: Any) -> Run:
        """Nothing waits: a second response of a conversation runs beside the first, or is refused."""
        runs = self._runs.setdefault(thread, [])
        if runs and await self.is_open(runs[-1]):
            raise NotOffered("a message that waits behind another run of its thread")
        runs.append(await super()._started(thread, given, **fields))
        return runs[-1]

    async def start_long(self, thread: str, message: str) -> Run:
        """A container recovers workflows alone."""
        raise NotOffered("runs of an agent whose steps are recorded one by one")

    async def shown(self, thread: str) -> str:
        """The conversation is the platform's."""
        raise NotOffered("all that it knows of a thread, to be read")

    async def conversation(self, thread: str) -> list[Entry]:
        """What each response was asked and answered."""
        entries = []
        for run in self._runs.get(thread, ()):
            asked = (await self.call("GET", f"responses/{run.id}/input_items?order=asc")).json()["data"]
            answered = (await self.call("GET", f"responses/{run.id}")).json()["output"]
            entries += [Entry("user", text) for item in asked if (text := text_of(item))]
            entries += [Entry("agent", text) for item in answered if (text := text_of(item))]
        return entries

    async def delete(self, thread: str) -> None:
        """Response by response, of which none may be under way."""
        for run in self._runs.get(thread, ()):
            if await self.is_open(run):
                raise NotOffered("deleting a thread whose run is under way")
            while not await self._is_deleted(run):  # noqa: ASYNC110 - the service stores it
                await asyncio.sleep(POLL_SECONDS)

    async def _is_deleted(self, run: Run) -> bool:
        """A response that has ended can be read before it is stored, and deleted only then."""
        try:
            await self.call("DELETE", f"responses/{run.id}")
        except Refused as refusal:
            if refusal.status != httpx.codes.NOT_FOUND:
                raise
            await self.is_open(run)  # refuses who has no such response
            return False
        return True
