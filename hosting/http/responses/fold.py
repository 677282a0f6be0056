"""Folds the updates of one run into the protocol's items and events, the same in every process.

Theory. Ids are made of the run's id and positions of its log. A number counts what was sent: one for each event, and
one for each character of a delta. So the number of a delta is that of its last character, however the text was cut.
Each attempt counts anew from a number of its own, because text that was sent and not logged was lost with the attempt
before; what ends the response has the highest number. A reader that comes back with the last number that it has gets
what comes after it.

Text that a later attempt writes anew is void: its item is done as `incomplete` and is no output. Of a lost attempt
whose text the log does not have there may be a reader who got some, so it has such an item too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hosting.http.responses.objects import approval_item, response_object
from hosting.names import Address
from hosting.service.broadcast import DeltaText, Update
from hosting.service.outcome import completed_text
from hosting.service.transcript import arguments_text, tool_outcome
from hosting.thread.events import (
    Accepted,
    Cancelled,
    Claimed,
    Completed,
    Delta,
    Event,
    Failed,
    ModelResult,
    TimedOut,
    ToolResult,
    ToolStarted,
)
from hosting.thread.finish import is_incomplete
from hosting.thread.run import Run, common_length

_ATTEMPT = 2**32
_END = 2**20 * _ATTEMPT
"""Below 2**53, up to which every client's numbers are exact."""

_ENDS = {status: f"response.{status}" for status in ("completed", "incomplete")} | {"cancelled": "response.incomplete"}


@dataclass(frozen=True)
class WireEvent:
    """One event of a stream under its number."""

    number: int
    type: str
    fields: Mapping[str, Any]

    def after(self, number: int) -> WireEvent | None:
        """Return the part of an event after that number: the rest of a delta, all or nothing of any other event."""
        if self.number <= number:
            return None
        delta = self.fields.get("delta")
        rest = self.number - number
        if delta is None or len(delta) <= rest:
            return self
        return replace(self, fields={**self.fields, "delta": delta[-rest:]})

    def encode(self) -> bytes:
        """Return the event in the event stream format."""
        fields = {"type": self.type, "sequence_number": self.number, **self.fields}
        return f"event: {self.type}\ndata: {json.dumps(fields, ensure_ascii=False)}\n\n".encode()


@dataclass
class _Item:
    """An item that was added: a message with its text from `start` of the answer on, or a tool call."""

    value: dict[str, Any]
    index: int
    start: int = 0
    text: str = ""
    is_void: bool = False


@dataclass
class ResponseFold:
    """One run: `next` returns the events of an update, `response` the current object.

    `names_causes`: the app's developer reads it, and learns what a tool raised.
    """

    agent: str
    address: Address
    run: Run | None = None
    names_causes: bool = False
    _items: list[_Item] = field(default_factory=list)
    _message: _Item | None = None
    _calls: dict[str, _Item] = field(default_factory=dict)
    _arguments: dict[str, Any] = field(default_factory=dict)
    _text: str = ""
    _stable: int = 0
    _anchor: str = ""
    _attempt: int = 0
    _count: int = -1
    _events: list[WireEvent] = field(default_factory=list)

    def next(self, update: Update) -> list[WireEvent]:
        """Fold one more, and return its events."""
        self._events = []
        if isinstance(update, DeltaText):
            self._say(update.offset, update.text)
        else:
            if self.run is not None:
                self.run = self.run.after(update.position, update.event)
            elif isinstance(update.event, Accepted):
                self.run = Run(self.address, update.event, update.position, update.position)
            self._fold(update.position, update.event)
        return self._events

    def response(self) -> dict[str, Any]:
        """Return the response as it stands."""
        assert self.run is not None
        return response_object(self.agent, self.run, self.output())

    def output(self) -> list[dict[str, Any]]:
        """Return the items that are not void."""
        return [item.value for item in self._items if not item.is_void]

    def _fold(self, position: int, event: Event) -> None:
        match event:
            case Accepted():
                self._send("response.created", response=self.response())
            case Claimed() if event.attempt == 1:
                self._anchor = str(position)
                self._send("response.in_progress", response=self.response())
            case Claimed():
                self._begin_again(position)
            case Delta():
                self._say(event.offset, event.text)
            case ModelResult():
                self._take_model_result(position, event)
            case ToolStarted():
                self._start_call(position, event)
            case ToolResult():
                self._end_call(event)
            case Completed():
                self._complete(event)
            case Failed() | TimedOut() | Cancelled():
                self._end_message("incomplete")
                for item in [one for one in self._calls.values() if one.value["status"] == "in_progress"]:
                    self._done(item, "incomplete")
                self._end()

    def _send(self, kind: str, size: int = 1, **fields: Any) -> None:
        self._count += size
        self._events.append(WireEvent(self._attempt * _ATTEMPT + self._count, kind, fields))

    def _end(self) -> None:
        response = self.response()
        kind = _ENDS.get(response["status"], "response.failed")
        self._events.append(WireEvent(_END, kind, {"response": response}))

    def _say(self, offset: int, text: str) -> None:
        """Put text at an offset of the answer; text that was sent already is not sent again."""
        same = common_length(self._text[offset:], text)
        if same < len(text):
            self._put(offset + same, text[same:])

    def _put(self, at: int, text: str) -> None:
        if at < len(self._text):
            kept, start = self._text[:at], self._void(at)
            self._attempt += 1
            self._count = -1
            self._anchor += f".{self._attempt}"
            self._text, text = kept[:start], kept[start:] + text
        if self._message is None:
            if self._text and text.startswith("\n\n"):  # between two messages
                self._text, text = f"{self._text}\n\n", text[2:]
            self._begin_message()
        assert self._message is not None
        self._text += text
        self._message.text += text
        if text:
            self._send("response.output_text.delta", len(text), **self._part(), delta=text, logprobs=[])

    def _void(self, at: int) -> int:
        """Void the messages with text after `at`; return where the first of them begins."""
        voided = [item for item in self._items if item.start + len(item.text) > at or item is self._message]
        voided = [item for item in voided if item.value["type"] == "message" and not item.is_void]
        for item in voided:
            item.is_void = True
        if (open_one := self._message) is not None:
            self._message = None
            open_one.value["content"] = []
            self._done(open_one, "incomplete")
        return min((item.start for item in voided), default=at)

    def _begin_again(self, position: int) -> None:
        """Begin another attempt: the recorded answers of the model stay, and later text is dropped."""
        assert self.run is not None
        is_calling = any(item.value["status"] == "in_progress" for item in self._calls.values())
        if self._message is None and self.run.accepted.streamed and not is_calling:
            self._begin_message()
        self._attempt += 1
        self._count = -1
        self._void(self._stable)
        self._text = self._text[: self._stable]
        self._anchor = str(position)

    def _begin_message(self) -> None:
        assert self.run is not None
        value = {
            "id": f"msg_{self.run.run_id}_{self._anchor}",
            "type": "message",
            "role": "assistant",
            "status": "in_progress",
            "content": [],
        }
        self._message = self._add(value, len(self._text))
        self._send("response.content_part.added", **self._part(), part=_text_part(""))

    def _part(self) -> dict[str, Any]:
        assert self._message is not None
        return {"item_id": self._message.value["id"], "output_index": self._message.index, "content_index": 0}

    def _end_message(self, status: str = "completed") -> None:
        if (item := self._message) is None:
            return
        item.value["content"] = [_text_part(item.text)]
        self._send("response.output_text.done", **self._part(), text=item.text, logprobs=[])
        self._send("response.content_part.done", **self._part(), part=_text_part(item.text))
        self._message = None
        self._done(item, status)

    def _add(self, value: dict[str, Any], start: int = 0) -> _Item:
        item = _Item(value, len(self._items), start)
        self._items.append(item)
        self._send("response.output_item.added", output_index=item.index, item=dict(value))
        return item

    def _done(self, item: _Item, status: str | None = None) -> None:
        if status is not None:
            item.value["status"] = status
        self._send("response.output_item.done", output_index=item.index, item=dict(item.value))

    def _take_model_result(self, position: int, event: ModelResult) -> None:
        messages = event.response.get("messages", ())
        for content in (content for message in messages for content in message.get("contents", ())):
            if content.get("type") == "function_call":
                self._arguments[f"{event.key}.{content.get('call_id')}"] = content.get("arguments")
        if event.within:
            return
        assert self.run is not None
        if not self.run.accepted.streamed:
            texts = (
                "".join(one.get("text") or "" for one in message.get("contents", ()) if one.get("type") == "text")
                for message in messages
            )
            text = "\n\n".join(filter(None, [self._text, *texts]))
            self._say(0, text)
        self._end_message()
        self._stable, self._anchor = len(self._text), str(position)

    def _start_call(self, position: int, event: ToolStarted) -> None:
        """A call that waited for a person was asked for by the run before, which its caller's `wire` has."""
        self._end_message()
        self._anchor = str(position)
        if event.key in self._calls:  # made again by a later attempt: it is still the same item
            return
        assert self.run is not None
        wire, approved = self.run.accepted.wire or {}, None
        arguments = self._arguments.get(event.key)
        if event.key not in self._arguments:
            arguments = wire.get("calls", {}).get(event.key.partition(".")[2])
            used = {item.value["approval_request_id"] for item in self._calls.values()}
            same = (
                one for one in wire.get("approved", ()) if (one["tool"], one["arguments"]) == (event.name, arguments)
            )
            approved = next((name for one in same if (name := f"mcpr_{one['id']}") not in used), None)
        value = {
            "id": f"mcp_{self.run.run_id}_{position}",
            "type": "mcp_call",
            "server_label": self.agent,
            "name": event.name,
            "arguments": arguments_text(arguments),
            "approval_request_id": approved,
            "output": None,
            "error": None,
            "status": "in_progress",
        }
        item = self._calls[event.key] = self._add(value)
        named: dict[str, Any] = {"item_id": value["id"], "output_index": item.index}
        self._send("response.mcp_call.in_progress", **named)
        self._send("response.mcp_call_arguments.done", **named, arguments=value["arguments"])

    def _end_call(self, event: ToolResult) -> None:
        if (item := self._calls.get(event.key)) is None:
            return
        outcome = tool_outcome(event, names_causes=self.names_causes)
        if (fault := outcome.get("error")) is None:
            item.value["output"] = outcome["result"]
        else:
            content = [{"type": "text", "text": fault}]
            item.value["error"] = {"type": "mcp_tool_execution_error", "content": content}
        status = "completed" if fault is None else "failed"
        self._send(f"response.mcp_call.{status}", item_id=item.value["id"], output_index=item.index)
        self._done(item, status)

    def _complete(self, event: Completed) -> None:
        """The answer may differ from the text that was sent: an agent's middleware can change it."""
        answer = completed_text(event)
        same = common_length(self._text, answer)
        if same < max(len(self._text), len(answer)):
            self._put(same, answer[same:])
        self._end_message("incomplete" if is_incomplete(event) else "completed")
        for approval in event.approvals:
            self._done(self._add(approval_item(self.agent, approval)))
        self._end()


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
