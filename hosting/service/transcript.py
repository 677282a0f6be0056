"""What a run said and did so far, once for all who show it: events and deltas become items, whatever was sent twice.

Theory. The log and the deltas before it say the same text, by its offset. `Transcript` puts both together and cuts the
text into messages: one goes on until the agent calls a tool or ends. Text is void once a later attempt or the answer
itself has another in its place, and its whole message with it. What of such a message stands comes again, in a new one.
So what a reader got before stands, or is void by an item. The wires and our own documents are projections of these
items: they give them their protocol's names, ids and order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hosting.runner.causes import cause_sentence
from hosting.service.broadcast import DeltaText, Update
from hosting.service.outcome import completed_text
from hosting.thread.events import (
    Accepted,
    Cancelled,
    Checkpointed,
    Claimed,
    Completed,
    Delta,
    Event,
    Failed,
    ModelResult,
    Terminal,
    TimedOut,
    ToolResult,
    ToolStarted,
)
from hosting.thread.run import Run, common_length, difference
from hosting.visible import visible
from state.json_values import portable_value


@dataclass(eq=False)
class AgentMessage:
    """Text of the agent, from `start` of the run's text on. That of a void message counts no more."""

    start: int
    text: str = ""
    is_void: bool = False


@dataclass(eq=False)
class CalledTool:
    """A tool call of a run, with the arguments that the model `sent`, if its recorded answer asked for the call."""

    key: str
    tool: str = ""
    sent: Any = None
    is_recorded: bool = False

    @property
    def call_id(self) -> str:
        """The model's own id of the call."""
        return self.key.partition(".")[2]

    @property
    def arguments(self) -> Any:
        """The arguments as a value: some models' clients keep the JSON text of them."""
        if not isinstance(self.sent, str):
            return self.sent or {}
        try:
            return portable_value(json.loads(self.sent))
        except (ValueError, RecursionError):
            return self.sent


@dataclass(frozen=True)
class TextAdded:
    """A message goes on by `text`, or begins with it."""

    message: AgentMessage
    text: str
    begins: bool


@dataclass(frozen=True)
class MessageEnded:
    """No text of this message comes any more."""

    message: AgentMessage


@dataclass(frozen=True)
class TextVoided:
    """The text of these messages counts no more, because of a later attempt, or because it `is_rewritten` itself."""

    messages: tuple[AgentMessage, ...]
    is_rewritten: bool


@dataclass(frozen=True)
class CallStarted:
    """The tool is called, again by each attempt that does."""

    call: CalledTool


@dataclass(frozen=True)
class CallEnded:
    """The call has a `result` or an `error`."""

    call: CalledTool
    outcome: dict[str, str]


Item = Accepted | Claimed | TextAdded | MessageEnded | TextVoided | ModelResult | CallStarted | CallEnded | Terminal


class CalledTools:
    """The tool calls of a run by their keys: the model's answer has the arguments, and the call's event the name."""

    def __init__(self) -> None:
        self._calls: dict[str, CalledTool] = {}

    def asked(self, event: ModelResult) -> list[CalledTool]:
        """Take the calls that the model asked for, and return them."""
        calls = [
            CalledTool(
                f"{event.key}.{content.get('call_id')}", str(content.get("name")), content.get("arguments"), True
            )
            for message in event.response.get("messages", ())
            for content in message.get("contents", ())
            if content.get("type") == "function_call"
        ]
        self._calls |= {call.key: call for call in calls}
        return calls

    def of(self, event: ToolStarted | ToolResult) -> CalledTool:
        """Return the call of an event, also one that no recorded answer asked for."""
        call = self._calls.setdefault(event.key, CalledTool(event.key))
        if isinstance(event, ToolStarted):
            call.tool = event.name
        return call


class Transcript:
    """One run: `next` returns the items of an update. `run` is the fold of its log, and `text` has what is not logged.

    `names_causes`: the app's developer reads it, and learns what a tool raised. `reads_answers`: a run that nobody
    streamed has the text of its recorded model answers; otherwise it has none before its end.
    """

    def __init__(self, run: Run, *, names_causes: bool = False, reads_answers: bool = False) -> None:
        self.run = run.begun
        self.text = ""
        self._names_causes = names_causes
        self._reads_answers = reads_answers and not run.accepted.streamed
        self._stable = 0
        self._messages: list[AgentMessage] = []
        self._open: AgentMessage | None = None
        self._calls = CalledTools()

    def next(self, update: Update) -> Iterator[Item]:
        """Take one more update, and yield what is new by it."""
        if isinstance(update, DeltaText):
            yield from self._deltas(update)
            return
        self.run = self.run.after(update.position, update.event)
        yield from self._items(update.event)

    def _items(self, event: Event) -> Iterator[Item]:
        match event:
            case Accepted():
                yield event
            case Claimed():
                yield from self._attempt(event)
            case Delta():
                yield from self._deltas(event)
            case ModelResult():
                self._calls.asked(event)
                if not event.within:
                    yield from self._answered(event)
            case Checkpointed():
                self._stable = len(self.text)
            case ToolStarted():
                yield from self._end_message()
                yield CallStarted(self._calls.of(event))
            case ToolResult():
                yield CallEnded(self._calls.of(event), tool_outcome(event, names_causes=self._names_causes))
            case Completed():
                # An agent's own middleware can change the text that was sent.
                yield from self._become(completed_text(event))
                yield from self._end_message()
                yield event
            case Failed() | TimedOut() | Cancelled():
                yield from self._end_message()
                yield event

    def _attempt(self, event: Claimed) -> Iterator[Item]:
        """A later attempt writes anew what it does not know of the text, but for one that only ends the run."""
        kept = self.text if self.run.cancelled is not None else self.text[: self._stable]
        yield event
        if event.attempt > 1:
            yield self._void(len(kept), is_rewritten=False)
            if rest := kept[len(self.text) :]:
                yield self._add(rest)

    def _answered(self, event: ModelResult) -> Iterator[Item]:
        if self._reads_answers:
            texts = (
                "".join(
                    content.get("text") or ""
                    for content in message.get("contents", ())
                    if content.get("type") == "text"
                )
                for message in event.response.get("messages", ())
            )
            yield from self._become("\n\n".join(filter(None, [self.text, *texts])))
        self._stable = len(self.text)
        yield from self._end_message()
        yield event

    def _deltas(self, delta: Delta | DeltaText) -> Iterator[Item]:
        change = difference(self.text, delta.offset, delta.text)
        if change is not None:
            yield from self._put(*change)

    def _become(self, text: str) -> Iterator[Item]:
        if text != self.text:
            same = common_length(self.text, text)
            yield from self._put(same, text[same:])

    def _put(self, offset: int, text: str) -> Iterator[Item]:
        if offset < len(self.text):
            kept = self.text[:offset]
            yield self._void(offset, is_rewritten=True)
            text = kept[len(self.text) :] + text
        yield self._add(text)

    def _void(self, offset: int, *, is_rewritten: bool) -> TextVoided:
        """Void the messages with text after `offset`; the text ends where the first of them began."""
        void = tuple(one for one in self._messages if one.start + len(one.text) > offset or one is self._open)
        for message in void:
            message.is_void = True
        self._messages, self._open = [one for one in self._messages if not one.is_void], None
        self.text = self.text[: min([offset, *(message.start for message in void)])]
        return TextVoided(void, is_rewritten)

    def _add(self, text: str) -> TextAdded:
        begins = self._open is None
        if self._open is None:
            if self.text and text.startswith("\n\n"):  # between two messages
                self.text, text = f"{self.text}\n\n", text[2:]
            self._open = AgentMessage(len(self.text))
            self._messages.append(self._open)
        self.text += text
        self._open.text += text
        return TextAdded(self._open, text, begins)

    def _end_message(self) -> Iterator[Item]:
        if self._open is not None:
            yield MessageEnded(self._open)
            self._open = None


def tool_outcome(event: ToolResult, *, names_causes: bool = False) -> dict[str, str]:
    """Return a tool call's `result` as text, or an `error`; `names_causes`: with the tool's exception.

    That is foreign text, which is for the developer of the tool alone.
    """
    if event.interrupted:
        return {"error": "The process ended while the tool was running. It may have done its work."}
    if event.error is not None:
        cause = f"{event.raised}{event.error}".strip() if names_causes else ""
        return {
            "error": f"The tool failed: {cause_sentence(event.raised, event.error)}" if cause else "The tool failed."
        }
    if event.contents is None:
        return {"result": event.text or ""}
    texts = (content.get("text") or "" for content in event.contents if content.get("type") == "text")
    return {"result": "".join(texts)}


def arguments_text(arguments: Any) -> str:
    """Return a call's arguments as JSON text, which most protocols have; some models' clients keep the text.

    Clients show it to the person who is asked, as it is: what is not seen is written out, and it is the same JSON.
    """
    return visible(arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False))
