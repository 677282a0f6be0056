"""durable-agent-host, by its own routes (docs/reference/http-routes.md)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from conformance.events import events_of
from conformance.port import End, Entry, Pending, Piece, Run, Service, State

POLL_SECONDS = 0.1


class OurService(Service):
    """The URL ends with the route prefix, as `http://localhost:7071/api` does."""

    async def find_agent(self) -> None:
        """The list of agents."""
        agents = (await self.call("GET", "agents")).json()["agents"]
        self.agent = self.agent or agents[0]["name"]

    async def new_thread(self) -> str:
        """A thread begins with its first message, under an id that the caller chooses."""
        return uuid.uuid4().hex

    def _thread(self, thread: str) -> str:
        return f"agents/{self.agent}/threads/{thread}"

    async def _send(self, thread: str, message: str, key: str, **fields: Any) -> dict[str, Any]:
        body = {"message": message, "thread_id": thread, **fields}
        headers = {"Idempotency-Key": key} if key else {}
        answer = await self.call("POST", f"agents/{self.agent}/run", json=body, headers=headers)
        return dict(answer.json())

    async def start(self, thread: str, message: str, key: str = "") -> Run:
        """202; the deltas are recorded."""
        sent = await self._send(thread, message, key, stream=True, wait_for_response=False)
        return Run(sent["thread_id"], sent["run_id"])

    async def ask(self, thread: str, message: str, key: str = "") -> tuple[Run, End]:
        """200, or a 202 whose run is asked for until its end."""
        sent = await self._send(thread, message, key)
        run = Run(sent["thread_id"], sent["run_id"])
        return run, _end(sent) if sent["status"] == "success" else await self.end(run)

    async def start_long(self, thread: str, message: str) -> Run:
        """As any other: each step is an event of the thread's log."""
        return await self.start(thread, message)

    async def end(self, run: Run) -> End:
        """202 as long as it is open."""
        while True:
            answer = await self.call("GET", f"{self._thread(run.thread)}/runs/{run.id}")
            if answer.status_code != 202:
                state = answer.json()
                return await self.end(Run(run.thread, state["joined"])) if "joined" in state else _end(state)
            await asyncio.sleep(POLL_SECONDS)

    async def state(self, run: Run) -> State | None:
        """202 as long as it is open; `progress` is there once the run's code has said some."""
        answer = await self.call("GET", f"{self._thread(run.thread)}/runs/{run.id}")
        if answer.status_code != 202:
            return None
        state = answer.json()
        return State(state["status"] == "paused", state.get("progress", {}).get("share"))

    async def pause(self, run: Run) -> None:
        """202."""
        await self.call("POST", f"{self._thread(run.thread)}/runs/{run.id}/pause")

    async def resume(self, run: Run) -> None:
        """202."""
        await self.call("POST", f"{self._thread(run.thread)}/runs/{run.id}/resume")

    async def conversation(self, thread: str) -> list[Entry]:
        """Entries with their messages, of which the texts count."""
        page = (await self.call("GET", f"{self._thread(thread)}/messages?limit=200")).json()
        return [
            Entry("user" if entry["type"] == "request" else "agent", text)
            for entry in page["entries"]
            if (text := "".join(_texts(entry)))
        ]

    async def follow(self, run: Run, after: str = "") -> AsyncGenerator[Piece, None]:
        """Each event has an id; those that are no delta bring no text."""
        path = f"{self._thread(run.thread)}/runs/{run.id}/events"
        headers = {**self.headers, "Accept": "text/event-stream", **({"Last-Event-ID": after} if after else {})}
        async with aclosing(events_of(self.http, "GET", path, headers=headers)) as events:
            async for event in events:
                data = event.json()
                yield Piece(event.id, data.get("text", "") if event.name == "delta" else "", data.get("offset"))

    async def cancel(self, run: Run) -> None:
        """202."""
        await self.call("POST", f"{self._thread(run.thread)}/runs/{run.id}/cancel")

    async def decide(self, thread: str, approval: str, approved: bool) -> Run:
        """The answer is the run that goes on."""
        return await self._decided(thread, approval, approved=approved)

    async def _decided(self, thread: str, waiting: str, **fields: Any) -> Run:
        path = f"{self._thread(thread)}/approvals/{waiting}"
        sent = await self.call("POST", path, json={**fields, "wait_for_response": False})
        return Run(thread, sent.json()["run_id"])

    async def pending(self, thread: str, waiting: str) -> Pending:
        """One of the thread's approvals."""
        listed = (await self.call("GET", f"{self._thread(thread)}/approvals")).json()["approvals"]
        approval = next(approval for approval in listed if approval["id"] == waiting)
        return Pending(approval["arguments"], approval.get("answer_schema"), approval.get("default"))

    async def decide_with(self, thread: str, approval: str, arguments: Mapping[str, Any]) -> Run:
        """By the member `arguments`."""
        return await self._decided(thread, approval, approved=True, arguments=arguments)

    async def answer(self, thread: str, question: str, value: Any) -> Run:
        """By a value."""
        return await self._decided(thread, question, value=value)

    async def steer(self, thread: str, message: str) -> Run:
        """202. The run ends as `joined`, and the one that took the message has the answer."""
        sent = await self._send(thread, message, "", busy="steer", wait_for_response=False)
        return Run(sent["thread_id"], sent["run_id"])

    async def start_with_tool(self, thread: str, message: str, tool: Mapping[str, Any]) -> Run:
        """202, where the agent takes tools of its callers."""
        sent = await self._send(thread, message, "", client_tools=[tool], wait_for_response=False)
        return Run(sent["thread_id"], sent["run_id"])

    async def give(self, thread: str, call: str, result: str) -> Run:
        """As a question is answered."""
        return await self.answer(thread, call, result)

    async def delete(self, thread: str) -> None:
        """204, or 202 while it goes on: then until the thread is not found."""
        answer = await self.call("DELETE", self._thread(thread))
        while answer.status_code == 202:
            await asyncio.sleep(POLL_SECONDS)
            answer = await self.call("DELETE", self._thread(thread))

    async def shown(self, thread: str) -> str:
        """The export of the thread, and the timeline of each run."""
        place = self._thread(thread)
        runs = (await self.call("GET", f"{place}/runs")).json()["runs"]
        paths = [f"{place}/export", *(f"{place}/runs/{run['run_id']}/timeline" for run in runs)]
        return "\n".join([(await self.call("GET", path)).text for path in paths])

    async def stored_version(self, thread: str) -> str:
        """The export has the stored document, which follows a run's end within moments."""
        while True:
            document = (await self.call("GET", f"{self._thread(thread)}/export")).json()["conversation"]
            if document is not None:
                return str(document["schemaVersion"])
            await asyncio.sleep(POLL_SECONDS)


def _texts(entry: dict[str, Any]) -> list[str]:
    return [
        content["text"]
        for message in entry["messages"]
        if message["role"] != "tool"
        for content in message["contents"]
        if content["$type"] == "text"
    ]


def _end(state: dict[str, Any]) -> End:
    if state["status"] == "success":
        waiting = tuple(approval["id"] for approval in state.get("pending_approvals", ()))
        return End("completed", state["response"], waiting)
    return End("cancelled" if state["status"] == "cancelled" else "failed", state.get("error", ""))
