"""A run's events as the frames of its stream (http-api.md section 5): the same bytes for the same log, whoever asks.

Theory. Frames are a fold of the log from its first event, and their ids are positions in it; so a reader that comes
back with the last id it has seen gets the rest, byte for byte. Events that are none of a caller's business have no
frame and leave a gap in the ids.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hosting.errors import HostingError
from hosting.events import Accepted, Delta, Event, Restarted, Started
from hosting.reply.run_replies import approval_fields, completed_fields, ids, problem, run_error
from hosting.run_record import RunRecord, fold
from hosting.thread.events import Completed, ModelResult, NoAnswer, ToolResult, ToolStarted

PING = b": still running\n\n"


@dataclass(frozen=True)
class Frame:
    """One event of a stream. `id` is None for what is in no log by itself: who resumes gets it with what follows."""

    id: int | None
    event: str
    fields: Mapping[str, Any]

    def encode(self) -> bytes:
        """Return the frame in the event stream format: JSON has no line breaks of its own."""
        head = "" if self.id is None else f"id: {self.id}\n"
        return f"{head}event: {self.event}\ndata: {json.dumps(self.fields, ensure_ascii=False)}\n\n".encode()


class Frames:
    """The fold of one run's log into frames."""

    def __init__(self) -> None:
        self._record: RunRecord | None = None
        self._calls: dict[str, Any] = {}
        self._names: dict[str, str] = {}

    @property
    def told(self) -> int:
        """The position of the last event of the run itself that was folded."""
        return 0 if self._record is None else self._record.told

    @property
    def has_ended(self) -> bool:
        """Whether the last event was folded: there will be no more."""
        return self._record is not None and self._record.terminal is not None

    def next(self, event: Event) -> list[Frame]:
        """Return the frame of the next event, if it has one, behind those of the approvals that it asks for."""
        self._record = fold([event]) if self._record is None else self._record.with_event(event)
        assert self._record is not None
        told = self._told(event, self._record)
        own = [] if told is None else [Frame(self._record.position, *told)]
        asked = approval_fields(self._record, event.approvals) if isinstance(event, Completed) else []
        return [*(Frame(None, "approval_requested", dict(approval)) for approval in asked), *own]

    def _told(self, event: Event, record: RunRecord) -> tuple[str, Mapping[str, Any]] | None:
        if isinstance(event, Accepted):
            return "accepted", {"status": "accepted", **ids(record)}
        if isinstance(event, Started):
            return "started", {"attempt": event.attempt}
        if isinstance(event, Restarted):
            return "restarted", {"attempt": event.attempt, "void_after": event.void_after}
        if isinstance(event, Delta):
            return "delta", _delta(event)
        if isinstance(event, ToolStarted):
            return "tool_call", self._call(event)
        if isinstance(event, ToolResult):
            return "tool_result", self._result(event)
        if isinstance(event, ModelResult):
            self._note_calls(event)
            return None
        return _end(event, record)

    def _note_calls(self, event: ModelResult) -> None:
        """Keep the arguments of the calls that the model asks for: a call's own event has their digest only."""
        for message in event.response.get("messages", ()):
            for content in message.get("contents", ()):
                if content.get("type") == "function_call":
                    self._calls[f"{event.key}.{content.get('call_id')}"] = content.get("arguments")

    def _call(self, event: ToolStarted) -> dict[str, Any]:
        self._names[event.key] = event.name
        return {"id": event.key, "tool": event.name, "arguments": _arguments(self._calls.get(event.key))}

    def _result(self, event: ToolResult) -> dict[str, Any]:
        told = {"id": event.key, "tool": self._names.get(event.key)}
        if event.error is not None:
            return {**told, "error": "The tool failed."}
        return {**told, "result": _text(event)}


def broken(error: HostingError) -> Frame:
    """Return the frame that ends a stream which cannot go on, for the reason of `error`; the run's end it is not."""
    return Frame(None, "unavailable" if error.status == 503 else "failed", problem(error, None))


def _delta(event: Delta) -> dict[str, Any]:
    told: dict[str, Any] = {"text": event.text}
    return told if event.void_after is None else {**told, "void_after": event.void_after}


def _end(event: Event, record: RunRecord) -> tuple[str, Mapping[str, Any]] | None:
    if isinstance(event, Completed):
        return "completed", completed_fields(record, event)
    if isinstance(event, NoAnswer):
        name = "cancelled" if event.kind == "cancelled" else "failed"
        return name, problem(run_error(event), ids(record))
    return None


def _arguments(given: Any) -> Any:
    """Return a call's arguments as a value: some models' clients keep the JSON text of them."""
    if not isinstance(given, str):
        return given or {}
    try:
        return json.loads(given)
    except ValueError:
        return given


def _text(event: ToolResult) -> str:
    if event.contents is None:
        return event.text or ""
    return "".join(content.get("text") or "" for content in event.contents if content.get("type") == "text")
