"""LangGraph's Agent Server, by its own routes, for graphs whose state is a list of messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import httpx

from conformance.events import events_of
from conformance.port import End, Entry, NotOffered, Piece, Run, Service

OPEN = ("pending", "running")
POLL_SECONDS = 0.1


class LangGraphService(Service):
    """The URL is the server's own. Each message is a run with `enqueue`; a decision resumes an interrupt by its id."""

    def __init__(self, http: httpx.AsyncClient, agent: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(http, agent, headers)
        self._newest: dict[str, Run] = {}  # by thread
        self._taken_over: dict[Run, Run] = {}

    async def find_agent(self) -> None:
        """The first assistant."""
        found = (await self.call("POST", "assistants/search", json={})).json()
        self.agent = self.agent or found[0]["assistant_id"]

    async def new_thread(self) -> str:
        """The server makes its id."""
        return str((await self.call("POST", "threads", json={})).json()["thread_id"])

    async def _started(self, thread: str, **fields: Any) -> Run:
        body = {"assistant_id": self.agent, "stream_mode": ["messages-tuple"], "stream_resumable": True, **fields}
        sent = (await self.call("POST", f"threads/{thread}/runs", json=body)).json()
        self._newest[thread] = Run(thread, sent["run_id"])
        return self._newest[thread]

    async def start(self, thread: str, message: str, key: str = "") -> Run:
        """There are no idempotency keys."""
        if key:
            raise NotOffered("idempotency keys")
        return await self._started(thread, input=_input(message), multitask_strategy="enqueue")

    async def steer(self, thread: str, message: str) -> Run:
        """`interrupt` ends the run at work, and the one that takes its place has both messages.

        A run that has not begun is no run at work: its message would be lost with it.
        """
        before = self._newest[thread]
        while await self._status(before) == "pending":  # noqa: ASYNC110 - the server begins it
            await asyncio.sleep(POLL_SECONDS)
        run = await self._started(thread, input=_input(message), multitask_strategy="interrupt")
        self._taken_over[before] = run
        return run

    async def start_long(self, thread: str, message: str) -> Run:
        """Each node of the graph has a checkpoint."""
        return await self.start(thread, message)

    async def _status(self, run: Run) -> str:
        return str((await self.call("GET", f"threads/{run.thread}/runs/{run.id}")).json()["status"])

    async def end(self, run: Run) -> End:
        """By its status; its answer is in the newest checkpoint that names it."""
        status = "pending"
        while status in OPEN:
            status = await self._status(run)
            await asyncio.sleep(POLL_SECONDS if status in OPEN else 0)
        if status == "interrupted" and run in self._taken_over:
            return await self.end(self._taken_over[run])
        if status != "success":
            return End("cancelled" if status == "interrupted" else "failed", status)
        for state in (await self.call("GET", f"threads/{run.thread}/history?limit=100")).json():
            if state["metadata"].get("run_id") == run.id:
                waiting = tuple(one["id"] for task in state["tasks"] for one in task["interrupts"])
                return End("completed", _answer(state["values"]), waiting)
        return End("failed", "no checkpoint names the run")

    async def conversation(self, thread: str) -> list[Entry]:
        """The messages of the newest state."""
        values = (await self.call("GET", f"threads/{thread}/state")).json()["values"] or {}
        return _entries(values)

    async def shown(self, thread: str) -> str:
        """Its checkpoints and its runs."""
        paths = (f"threads/{thread}/history?limit=100", f"threads/{thread}/runs?limit=100")
        return "\n".join([(await self.call("GET", path)).text for path in paths])

    async def follow(self, run: Run, after: str = "") -> AsyncGenerator[Piece, None]:
        """Resumable streams, from their beginning with the id 0."""
        path = f"threads/{run.thread}/runs/{run.id}/stream"
        headers = {**self.headers, "Last-Event-ID": after or "0"}
        async with aclosing(events_of(self.http, "GET", path, headers=headers)) as events:
            async for event in events:
                text = event.json()[0]["content"] if event.name == "messages" else ""
                yield Piece(event.id, text)

    async def cancel(self, run: Run) -> None:
        """By the action `interrupt`, which keeps the run."""
        await self.call("POST", f"threads/{run.thread}/runs/{run.id}/cancel?action=interrupt")

    async def decide(self, thread: str, approval: str, approved: bool) -> Run:
        """A run that resumes, refused where another is under way."""
        return await self.answer(thread, approval, approved)

    async def answer(self, thread: str, question: str, value: Any) -> Run:
        """An interrupt takes any value, and has no schema for it."""
        return await self._started(thread, command={"resume": {question: value}}, multitask_strategy="reject")

    async def delete(self, thread: str) -> None:
        """204."""
        await self.call("DELETE", f"threads/{thread}")


def _input(message: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": message}]}


def _entries(values: dict[str, Any]) -> list[Entry]:
    return [
        Entry("user" if message["type"] == "human" else "agent", message["content"])
        for message in values.get("messages", ())
        if message["type"] in ("human", "ai") and message["content"]
    ]


def _answer(values: dict[str, Any]) -> str:
    said: list[str] = []
    for entry in _entries(values):
        said = [] if entry.by == "user" else [*said, entry.text]
    return "".join(said)
