"""Any agent that speaks AG-UI, as far as that protocol goes: one request, whose answer is a run's events."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import asdict
from typing import Any

import httpx

from conformance.events import events_of
from conformance.port import End, Entry, NotOffered, Refused, Run, Service

NO_REPLAY = (400, 422)
"""What a service answers to a request without messages that does not replay threads."""


class AgUiService(Service):
    """The URL is the agent's. A run is as long as its stream, which a task reads; the client has the conversation."""

    def __init__(self, http: httpx.AsyncClient, agent: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(http, agent, headers)
        self._messages: dict[str, list[dict[str, Any]]] = {}  # by thread
        self._streams: dict[Run, asyncio.Task[End]] = {}
        self._writers: dict[str, AgUiService] = {}  # by thread, for all owners

    def as_owner(self, headers: Mapping[str, str]) -> Service:
        """A client of its own, which may ask another whether its thread can be read at all."""
        other = AgUiService(self.http, self.agent, {**self.headers, **headers})
        other._writers = self._writers
        return other

    async def find_agent(self) -> None:
        """There is no list of agents; any answer shows that the service is up."""
        answer = await self.http.get("", headers=self.headers)
        if answer.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
            raise Refused(answer)

    async def new_thread(self) -> str:
        """The client chooses a thread's id."""
        return uuid.uuid4().hex

    async def start(self, thread: str, message: str, key: str = "") -> Run:
        """The protocol has ids of runs, and promises nothing of one that is sent again or of two runs at once."""
        if key:
            raise NotOffered("idempotency keys")
        if any(run.thread == thread and not stream.done() for run, stream in self._streams.items()):
            raise NotOffered("a message that waits behind another run of its thread")
        self._writers.setdefault(thread, self)
        held = self._messages.setdefault(thread, [])
        held.append({"id": uuid.uuid4().hex, "role": "user", "content": message})
        return await self._started(thread)

    async def _started(self, thread: str, **fields: Any) -> Run:
        """Return once the first event is there."""
        run, is_accepted = Run(thread, uuid.uuid4().hex), asyncio.Event()
        stream = asyncio.ensure_future(self._read(run, is_accepted, fields))
        accepted = asyncio.ensure_future(is_accepted.wait())
        await asyncio.wait({stream, accepted}, return_when=asyncio.FIRST_COMPLETED)
        accepted.cancel()
        stream.add_done_callback(lambda done: done.cancelled() or done.exception())
        if stream.done():
            stream.result()
        self._streams[run] = stream
        return run

    async def _events(self, run: Run, fields: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        body = {"threadId": run.thread, "runId": run.id, "state": {}, "tools": [], "context": [], "forwardedProps": {}}
        headers = {**self.headers, "Accept": "text/event-stream"}
        given = {"json": {**body, "protocolVersion": "1.0", **fields}, "headers": headers}
        async with aclosing(events_of(self.http, "POST", "", **given)) as events:
            async for event in events:
                yield dict(event.json())

    async def _read(self, run: Run, is_accepted: asyncio.Event, fields: Mapping[str, Any]) -> End:
        held = self._messages[run.thread]
        async with aclosing(self._events(run, {"messages": list(held), **fields})) as events:
            async for event in events:
                is_accepted.set()
                if event["type"] == "RUN_ERROR":
                    return End("failed", f"{event.get('code')}: {event['message']}")
                if event["type"] == "RUN_FINISHED":
                    return _end(event.get("outcome") or {}, held)
                _hold(held, event)
        raise ValueError("the stream ended without an end of its run")

    async def end(self, run: Run) -> End:
        """Known to who reads the run's stream."""
        if run not in self._streams:
            return await super().end(run)
        try:
            return await asyncio.shield(self._streams[run])
        except httpx.TransportError:
            raise NotOffered("the end of a run whose stream broke") from None

    async def conversation(self, thread: str) -> list[Entry]:
        """Of services that replay a thread to a request without messages; the protocol lets them, and no more."""
        entries = await self._replayed(thread)
        if entries is not None:
            return entries
        writer = self._writers.get(thread, self)
        if writer is self or await writer._replayed(thread) is None:
            return await super().conversation(thread)
        return []

    async def shown(self, thread: str) -> str:
        """What is replayed."""
        return json.dumps([asdict(entry) for entry in await self.conversation(thread)])

    async def _replayed(self, thread: str) -> list[Entry] | None:
        entries = None
        try:
            async with aclosing(self._events(Run(thread, uuid.uuid4().hex), {"messages": []})) as events:
                async for event in events:
                    if event["type"] == "MESSAGES_SNAPSHOT":
                        entries = _entries(event["messages"])
        except Refused as refusal:
            if refusal.status not in NO_REPLAY:
                raise
        return entries

    async def decide(self, thread: str, approval: str, approved: bool) -> Run:
        """A run that resumes an interrupt."""
        return await self._resumed(thread, approval, {"approved": approved})

    async def answer(self, thread: str, question: str, value: Any) -> Run:
        """A run that resumes an interrupt with a value, as durable-agent-host names it."""
        return await self._resumed(thread, question, {"value": value})

    async def _resumed(self, thread: str, interrupt: str, payload: Mapping[str, Any]) -> Run:
        """It may be refused in its stream, so that is read to its end."""
        answer = {"interruptId": interrupt, "status": "resolved", "payload": payload}
        run = await self._started(thread, resume=[answer])
        end = await self.end(run)
        if end.status == "failed":
            asked = httpx.Request("POST", self.http.base_url)
            raise Refused(httpx.Response(httpx.codes.CONFLICT, request=asked, text=end.text))
        return run


def _hold(held: list[dict[str, Any]], event: Mapping[str, Any]) -> None:
    """Apply an event to the messages that a client holds, as the protocol says."""
    match event["type"]:
        case "MESSAGES_SNAPSHOT":
            held[:] = event["messages"]
        case "TEXT_MESSAGE_CONTENT" | "TEXT_MESSAGE_CHUNK":
            message = _held(held, event["messageId"])
            message["content"] = message.get("content", "") + event.get("delta", "")
        case "TOOL_CALL_START":
            call = {"id": event["toolCallId"], "type": "function", "function": {"name": event["toolCallName"]}}
            message = _held(held, event.get("parentMessageId") or event["toolCallId"])
            message.setdefault("toolCalls", []).append(call)
        case "TOOL_CALL_ARGS":
            for call in (call for message in held for call in message.get("toolCalls", ())):
                if call["id"] == event["toolCallId"]:
                    call["function"]["arguments"] = call["function"].get("arguments", "") + event["delta"]
        case "TOOL_CALL_RESULT":
            result = {"id": event["messageId"], "role": "tool", "toolCallId": event["toolCallId"]}
            held.append({**result, "content": event["content"]})


def _held(held: list[dict[str, Any]], name: str) -> dict[str, Any]:
    for message in held:
        if message["id"] == name:
            return message
    held.append({"id": name, "role": "assistant"})
    return held[-1]


def _end(outcome: Any, held: list[dict[str, Any]]) -> End:
    kind = outcome if isinstance(outcome, str) else outcome.get("type", "success")
    if kind == "cancelled":
        return End("cancelled")
    waiting = tuple(one["id"] for one in outcome["interrupts"]) if kind == "interrupt" else ()
    said: list[str] = []
    for entry in _entries(held):
        said = [] if entry.by == "user" else [*said, entry.text]
    return End("completed", "".join(said), waiting)


def _entries(messages: list[dict[str, Any]]) -> list[Entry]:
    return [
        Entry("user" if message["role"] == "user" else "agent", text)
        for message in messages
        if message["role"] in ("user", "assistant") and (text := _text(message.get("content")))
    ]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())
