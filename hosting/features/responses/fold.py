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

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hosting.core import transcript
from hosting.core.thread.events import Accepted, Claimed, Completed, ModelResult, Unanswered
from hosting.core.thread.finish import is_incomplete
from hosting.core.thread.run import Run
from hosting.features.responses.objects import approval_item, response_object
from hosting.http.cited import message_annotations
from hosting.http.streams import Frame
from hosting.http.wire_runs import ItemFold

_ATTEMPT = 2**32
_END = 2**20 * _ATTEMPT
"""Below 2**53, up to which every client's numbers are exact."""

_ENDS = {status: f"response.{status}" for status in ("completed", "incomplete")} | {"cancelled": "response.incomplete"}


class WireEvent(Struct, frozen=True):
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


class _Item(Struct):
    """An item that was added: a message, a thought with its `text`, a tool call or a request for an approval."""

    value: dict[str, Any]
    index: int
    text: str = ""
    is_void: bool = False


def encoded(events: Iterable[WireEvent]) -> bytes:
    """Return events in the event stream format."""
    return b"".join(
        Frame(None, event.type, {"type": event.type, "sequence_number": event.number, **event.fields}).encode()
        for event in events
    )


class ResponseFold(ItemFold[WireEvent]):
    """One run: `next` returns the events of an update, `response` the current object.

    `names_causes`: the app's developer reads it, and learns what a tool raised.
    """

    def __init__(self, agent: str, run: Run, *, names_causes: bool = False) -> None:
        super().__init__(run, names_causes=names_causes, reads_answers=True)
        self._agent = agent
        self._items: list[_Item] = []
        self._messages: dict[transcript.AgentMessage, _Item] = {}
        self._open: _Item | None = None
        self._calls: dict[str, _Item] = {}
        self._thought: _Item | None = None
        self._answered = 0
        self._anchor = ""
        self._attempt = 0
        self._count = -1

    def response(self) -> dict[str, Any]:
        """Return the response as it stands."""
        return response_object(self._agent, self.run, self.output())

    def output(self) -> list[dict[str, Any]]:
        """Return the items that are not void."""
        return [item.value for item in self._items if not item.is_void]

    def _project(self, position: str, item: transcript.Item) -> None:
        match item:
            case transcript.TextAdded():
                self._add_text(item)
            case Accepted():
                self._send("response.created", response=self.response())
            case Claimed():
                self._begin_attempt(position, item.attempt)
            case transcript.AgentMessage():
                self._end_message(item)
            case transcript.TextVoided():
                self._void(item)
            case ModelResult():
                self._anchor, self._answered = position, len(self._items)
            case transcript.CalledTool() if not item.outcome:
                self._start_call(position, item)
            case transcript.CalledTool() if item.key in self._calls:
                self._end_call(self._calls[item.key], item.outcome)
            case Completed():
                for approval in item.approvals:
                    self._ask(approval_item(self._agent, approval, self.run))
                self._end()
            case Unanswered() if item.run_id == self.run.run_id:
                for call in self._calls_at_work():
                    self._done(call, "incomplete")
                self._end()

    def _send(self, kind: str, size: int = 1, **fields: Any) -> None:
        self._count += size
        self._events.append(WireEvent(self._attempt * _ATTEMPT + self._count, kind, fields))

    def _end(self) -> None:
        response = self.response()
        kind = _ENDS.get(response["status"], "response.failed")
        self._events.append(WireEvent(_END, kind, {"response": response}))

    def _begin_attempt(self, position: str, attempt: int) -> None:
        """Begin an attempt: a reader may have got text of the one before that the log does not have."""
        if attempt > 1:
            for item in self._items[self._answered :]:
                item.is_void = item.is_void or item.value["type"] == "reasoning"
            if self._open is None and self.run.accepted.streamed and not self._calls_at_work():
                self._begin_message()
            self._begin_numbers()
            self._void_open()
        else:
            self._send("response.in_progress", response=self.response())
        self._anchor = position

    def _begin_numbers(self) -> None:
        self._attempt += 1
        self._count = -1

    def _calls_at_work(self) -> list[_Item]:
        return [item for item in self._calls.values() if item.value["status"] == "in_progress"]

    def _add_text(self, added: transcript.TextAdded) -> None:
        message, text = added
        item = self._open
        if item is None:
            item = self._messages[message] = self._begin_message()
        if text:
            self._send("response.output_text.delta", len(text), **_part(item), delta=text, logprobs=[])

    def _think(self, position: str, text: str) -> None:
        if self._thought is None:
            self._anchor = position
            self._thought = self._add({"id": f"rs_{self.run.run_id}_{position}", "type": "reasoning", "summary": []})
            self._summarize(self._thought, "part.added", part={"type": "summary_text", "text": ""})
        self._thought.text += text
        self._summarize(self._thought, "text.delta", len(text), delta=text)

    def _summarize(self, thought: _Item, kind: str, size: int = 1, **fields: Any) -> None:
        self._send(f"response.reasoning_summary_{kind}", size, **_part(thought, "summary_index"), **fields)

    def _end_thought(self, item: transcript.Item) -> None:
        if (thought := self._thought) is None:
            return
        part = {"type": "summary_text", "text": thought.text}
        thought.value["summary"] = [part]
        self._summarize(thought, "text.done", text=thought.text)
        self._summarize(thought, "part.done", part=part)
        self._thought = None
        self._done(thought, "incomplete" if isinstance(item, Claimed | Unanswered) else "completed")

    def _void(self, voided: transcript.TextVoided) -> None:
        for message in voided.messages:
            self._messages[message].is_void = True
        if voided.is_rewritten:
            self._void_open()
            self._begin_numbers()
            self._anchor += f".{self._attempt}"

    def _void_open(self) -> None:
        if (item := self._open) is not None:
            item.is_void, self._open = True, None
            self._done(item, "incomplete")

    def _begin_message(self) -> _Item:
        value = {
            "id": f"msg_{self.run.run_id}_{self._anchor}",
            "type": "message",
            "role": "assistant",
            "status": "in_progress",
            "content": [],
        }
        item = self._open = self._add(value)
        self._send("response.content_part.added", **_part(item), part=_text_part(""))
        return item

    def _end_message(self, message: transcript.AgentMessage) -> None:
        item, end, text = self._messages[message], self.run.end, message.text
        part = _text_part(text, message_annotations(self.run, text))
        for number, annotation in enumerate(part["annotations"]):
            place = {**_part(item), "annotation_index": number}
            self._send("response.output_text.annotation.added", **place, annotation=annotation)
        item.value["content"] = [part]
        self._send("response.output_text.done", **_part(item), text=text, logprobs=[])
        self._send("response.content_part.done", **_part(item), part=part)
        self._open = None
        is_whole = end is None or (isinstance(end, Completed) and not is_incomplete(end))
        self._done(item, "completed" if is_whole else "incomplete")

    def _add(self, value: dict[str, Any]) -> _Item:
        item = _Item(value, len(self._items))
        self._items.append(item)
        self._send("response.output_item.added", output_index=item.index, item=dict(value))
        return item

    def _ask(self, value: dict[str, Any]) -> None:
        """Add what the response waits for; the arguments of a caller's function come by events, too."""
        if value["type"] != "function_call":
            self._done(self._add(value))
            return
        text = value["arguments"]
        item = self._add({**value, "arguments": "", "status": "in_progress"})
        place: dict[str, Any] = {"item_id": value["id"], "output_index": item.index}
        self._send("response.function_call_arguments.delta", len(text), **place, delta=text)
        self._send("response.function_call_arguments.done", **place, name=value["name"], arguments=text)
        item.value = value
        self._done(item)

    def _done(self, item: _Item, status: str | None = None) -> None:
        if status is not None:
            item.value["status"] = status
        self._send("response.output_item.done", output_index=item.index, item=dict(item.value))

    def _start_call(self, position: str, call: transcript.CalledTool) -> None:
        """The caller's `wire` has the approvals of calls that waited for a person in the run before."""
        self._anchor = position
        if call.key in self._calls:  # made again by a later attempt: it is still the same item
            return
        waited = {} if call.is_recorded else (self.run.accepted.wire or {}).get("approved", {})
        approved = waited.get(call.call_id)
        value = {
            "id": f"mcp_{self.run.run_id}_{position}",
            "type": "mcp_call",
            "server_label": self._agent,
            "name": call.tool,
            "arguments": transcript.arguments_text(call.sent),
            "approval_request_id": None if approved is None else f"mcpr_{approved}",
            "output": None,
            "error": None,
            "status": "in_progress",
        }
        item = self._calls[call.key] = self._add(value)
        place: dict[str, Any] = {"item_id": value["id"], "output_index": item.index}
        self._send("response.mcp_call.in_progress", **place)
        self._send("response.mcp_call_arguments.done", **place, arguments=value["arguments"])

    def _end_call(self, item: _Item, outcome: Mapping[str, str]) -> None:
        if (fault := outcome.get("error")) is None:
            item.value["output"] = outcome["result"]
        else:
            content = [{"type": "text", "text": fault}]
            item.value["error"] = {"type": "mcp_tool_execution_error", "content": content}
        status = "completed" if fault is None else "failed"
        self._send(f"response.mcp_call.{status}", item_id=item.value["id"], output_index=item.index)
        self._done(item, status)


def _part(item: _Item, number: str = "content_index") -> dict[str, Any]:
    return {"item_id": item.value["id"], "output_index": item.index, number: 0}


def _text_part(text: str, annotations: Iterable[Mapping[str, Any]] = ()) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [*annotations], "logprobs": []}
