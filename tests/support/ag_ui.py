"""An app of the scripted agent and the clerk with the wire, called without a host."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.support.asker import asker
from tests.support.carriers import GUARD_SECONDS
from tests.support.painter import painter
from tests.support.wired import WiredApp

Events = list[dict[str, Any]]


class Wired(WiredApp):
    """The app."""

    wire = "ag-ui"

    def others(self) -> tuple[Any, ...]:
        return asker(self.notes.append, "Asker"), painter()

    async def run(self, fields: dict[str, Any], agent: str = "Joker") -> Events:
        answer = await self.http.post(f"ag-ui/{agent}", json=fields)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"].startswith("text/event-stream")
        return events_of(answer.text)

    async def refused(self, fields: dict[str, Any], agent: str = "Joker") -> tuple[int, dict[str, Any]]:
        """Return status and body of a request that is not served."""
        answer = await self.http.post(f"ag-ui/{agent}", json=fields)
        return answer.status_code, answer.json()


async def cancelled(wired: Wired, fields: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the events of a run that is cancelled over our own route once it is there."""
    running = asyncio.ensure_future(wired.run(fields))
    runs: list[Any] = []
    while not runs:
        await asyncio.sleep(0)
        answer = await wired.http.get("agents/Joker/threads/t/runs")
        runs = answer.json().get("runs", []) if answer.status_code == 200 else []
    await wired.http.post(f"agents/Joker/threads/t/runs/{runs[0]['run_id']}/cancel")
    return await asyncio.wait_for(running, GUARD_SECONDS)


def wanted(*messages: Any, thread: str = "t", run: str = "r", **fields: Any) -> dict[str, Any]:
    """Return a request as the clients of 1.0 send it; a text is a message of the user."""
    sent = [
        {"id": f"{run}-user-{at}", "role": "user", "content": one} if isinstance(one, str | list) else one
        for at, one in enumerate(messages)
    ]
    nothing = {"tools": [], "context": [], "forwardedProps": {}, "state": {}}
    return {"threadId": thread, "runId": run, "protocolVersion": "1.0", "messages": sent, **nothing, **fields}


def resume(*answers: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a request that answers interrupts."""
    return wanted(run="r-2", resume=list(answers), **fields)


def answer(name: str, **payload: Any) -> dict[str, Any]:
    return {"interruptId": name, "status": "resolved", "payload": payload}


def interrupts(events: Events) -> list[dict[str, Any]]:
    """Return what the last event of a run asks for."""
    asked: list[dict[str, Any]] = events[-1]["outcome"]["interrupts"]
    return asked


def events_of(text: str) -> Events:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


def kinds(events: Events) -> list[str]:
    """Return the kind of each event, joined words as one."""
    return [one["type"] for one in joined(events)]


def text_of(events: Events) -> str:
    return "".join(one["delta"] for one in events if one["type"] == "TEXT_MESSAGE_CONTENT")


def joined(events: Events) -> Events:
    """Return the events with the words that follow each other as one."""
    found: Events = []
    for one in events:
        if found and one["type"] == found[-1]["type"] == "TEXT_MESSAGE_CONTENT":
            found[-1] = {**one, "delta": found[-1]["delta"] + one["delta"]}
        else:
            found.append(one)
    return found


def folded(events: Events, before: Events | None = None) -> Events:
    """Return the messages that a client has after these events, as the official one makes them."""
    messages: Events = [dict(one) for one in before or []]
    for event in events:
        match event["type"]:
            case "MESSAGES_SNAPSHOT":
                stated = {one["id"]: json.loads(json.dumps(one)) for one in event["messages"]}
                kept = {one["id"]: stated[one["id"]] for one in messages if one["id"] in stated}
                messages = list((kept | stated).values())
            case "TEXT_MESSAGE_START":
                _named(messages, event["messageId"])
            case "TEXT_MESSAGE_CONTENT":
                message = _named(messages, event["messageId"])
                message["content"] = message.get("content", "") + event["delta"]
            case "TOOL_CALL_START":
                call = {"name": event["toolCallName"], "arguments": ""}
                calls = _named(messages, event["parentMessageId"]).setdefault("toolCalls", [])
                calls.append({"id": event["toolCallId"], "type": "function", "function": call})
            case "TOOL_CALL_ARGS":
                for one in (one for message in messages for one in message.get("toolCalls", ())):
                    if one["id"] == event["toolCallId"]:
                        one["function"]["arguments"] += event["delta"]
            case "TOOL_CALL_RESULT":
                said = {name: event[name] for name in ("toolCallId", "content")}
                messages.append({"id": event["messageId"], "role": "tool", **said})
    return messages


def _named(messages: Events, name: str) -> dict[str, Any]:
    for message in messages:
        if message["id"] == name:
            return message
    messages.append({"id": name, "role": "assistant"})
    return messages[-1]


def states(events: Events) -> list[Any]:
    """Return each state that a client has during these events, of whole ones and of changes."""
    had: list[Any] = []
    for event in events:
        match event:
            case {"type": "STATE_SNAPSHOT", "snapshot": state}:
                had.append(state)
            case {"type": "STATE_DELTA", "delta": changes}:
                had.append(patched(had[-1], changes))
    return had


def patched(state: Any, changes: list[dict[str, Any]]) -> Any:
    """Return a state with changes of JSON Patch."""
    changed = json.loads(json.dumps(state))
    for change in changes:
        *path, last = [name.replace("~1", "/").replace("~0", "~") for name in change["path"].split("/")[1:]]
        place = changed
        for name in path:
            place = place[int(name) if isinstance(place, list) else name]
        key: Any = int(last) if isinstance(place, list) else last
        if change["op"] == "remove":
            del place[key]
        elif change["op"] == "add" and isinstance(place, list):
            place.insert(key, change["value"])
        else:
            place[key] = change["value"]
    return changed
