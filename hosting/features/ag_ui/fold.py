"""Folds the updates of one run into the protocol's events, with the same ids in every process.

Theory. The id of a message is made of the run's and of the position of its log after which the message begins; that of
a tool call of the position at which it began. The run's id is the client's own, or ours for a run that goes on after
an approval: clients may give both runs the same. A client puts events together to messages and keeps them. So when text
counts no more, because another attempt writes it anew or the answer was changed, all messages are sent as they stand
(MESSAGES_SNAPSHOT), and the text that follows has a message of its own. So it is when a message joins the run, which
keeps the id that its client gave it: no other event has a user's words. A call that waits is shown by the run that
asks, and its result belongs to the run that goes on, under the same id.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from hosting.client_tools import result_text
from hosting.core import transcript
from hosting.core.broadcast import LoggedEvent, Update
from hosting.core.outcome import run_error
from hosting.core.thread.events import (
    Accepted,
    Cancelled,
    Claimed,
    Completed,
    Failed,
    Joined,
    ModelResult,
    NoAnswer,
    Progressed,
    Terminal,
    TimedOut,
    ToolResult,
)
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import Decision, PendingApproval
from hosting.errors import HostingError
from hosting.features.ag_ui.messages import Message, asked_message
from hosting.features.ag_ui.names import error_event
from hosting.features.ag_ui.requests import RunInput, own_prefix, without_own
from hosting.http.cited import cited_of
from hosting.http.json_patch import shorter_patch
from hosting.http.wire import object_schema
from hosting.http.wire_runs import ItemFold, camel_usage, finish_of
from hosting.ports import iso
from hosting.shared_state import text_in
from hosting.visible import visible_line

VERSION = "1.0"
ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["approved"],
}
"""The schema of an answer to an interrupt. With `editedArgs` clients offer an edit: it stands where one is taken."""

_DENIED = "The call was not approved, so it was not made."

WireEvent = dict[str, Any]


class RunFold(ItemFold[WireEvent]):
    """One run, for the client that sent `run_input`: `start` returns its first events, `next` those of an update.

    `waited` has the ids of the calls for which the run before waited, by the model's own, and `asked` what runs that
    joined this one were asked, by their ids, once they did. `brought` is the shared state with which the run begins,
    once that is certain. `names_causes`: the app's developer reads it, and learns what a tool raised.
    """

    def __init__(
        self,
        run_input: RunInput,
        run: Run,
        waited: Mapping[str, str],
        asked: Mapping[str, Sequence[Message]],
        *,
        names_causes: bool = False,
    ) -> None:
        super().__init__(run, names_causes=names_causes)
        self._run_input = run_input
        self._ids = {"threadId": run_input.thread_id, "runId": run_input.run_id}
        self._prefix = own_prefix((run.accepted.wire or {}).get("run_id") or run.run_id)
        before = without_own(run_input.sent, self._prefix).values()
        self._history: list[Message] = [message for message in before if not run_input.stands_in(message)]
        self._waited = waited
        self._asked = asked
        self._shown: list[dict[str, Any]] = []
        self._texts: dict[transcript.AgentMessage, dict[str, Any]] = {}
        self._open = ""
        self._calls: dict[str, str] = {}
        self._anchor = ""
        self._step = ""
        self._thought = ""
        self._voids = 0
        self.brought: str | None = None
        self._state: str | None = None

    def start(self) -> list[WireEvent]:
        """Return the events before all others. A client that has messages of this run already is to forget them."""
        parent = {"parentRunId": self._run_input.parent} if self._run_input.parent else {}
        self._events = [{"type": "RUN_STARTED", **self._ids, **parent, "protocolVersion": VERSION}]
        if len(self._history) < len(self._run_input.sent):
            self._restate()
        return self._events

    @property
    def shown(self) -> list[dict[str, Any]]:
        """The messages of this run as they stand now."""
        return [
            {**message, "toolCalls": [*message["toolCalls"]]} if "toolCalls" in message else {**message}
            for message in self._shown
        ]

    def restate(self, history: Sequence[Message]) -> list[WireEvent]:
        """Return the events that say which messages the thread has before this run's own.

        Clients keep what they have where it is, and put what they lack behind it. So what is out of its place goes
        first.
        """
        sent = [message["id"] for message in self._run_input.sent]
        in_place = list(takewhile(lambda pair: pair[0]["id"] == pair[1], zip(history, sent, strict=False)))
        self._events = []
        if len(in_place) < len(sent):
            self._send("MESSAGES_SNAPSHOT", messages=[message for message, _ in in_place])
        self._history = [*history]
        self._restate()
        return self._events

    def next(self, update: Update) -> list[WireEvent]:
        """Fold one more, and return its events; the state that a tool changed follows the tool's result."""
        events = super().next(update)
        match update:
            case LoggedEvent(event=ToolResult(key=key, session=changed)) if "/" not in key:  # of no agent within
                events += self.share(text_in({"state": changed}))
        return events

    def share(self, text: str | None) -> list[WireEvent]:
        """Return the event with what changed of the shared state, or with all of it; none if the client has that."""
        if text is None or text == self._state:
            return []
        patch = None if self._state is None else shorter_patch(self._state, text)
        self._state = text
        if patch is None:
            return [{"type": "STATE_SNAPSHOT", "snapshot": json.loads(text)}]
        return [{"type": "STATE_DELTA", "delta": patch}] if patch else []

    def broken(self, error: HostingError) -> list[WireEvent]:
        """Return the last events of a stream that cannot continue."""
        self._events = []
        self._close_thought()
        self._end_message()
        return [*self._events, error_event(error)]

    def _project(self, position: str, item: transcript.Item) -> None:
        match item:
            case transcript.TextAdded():
                self._add_text(item)
            case Accepted():
                for decision in item.request.decisions:
                    self._answer(decision)
            case Claimed():
                self._anchor = position
            case transcript.AgentMessage():
                self._end_message()
            case transcript.TextVoided():
                self._void(item)
            case ModelResult():
                self._step, self._anchor = self._anchor, position
            case transcript.CalledTool() if not item.outcome:
                self._start_call(position, item)
            case transcript.CalledTool() if item.key in self._calls:
                self._show_result(position, self._calls[item.key], "".join(item.outcome.values()))
            case Completed():
                self._complete(item)
            case Failed() | TimedOut() | Cancelled() | Joined() if item.run_id == self.run.run_id:
                self._end_unanswered(item)
            case Joined():
                names = (f"{self._prefix}{position}.{number}" for number in range(len(item.messages)))
                unknown = [asked_message(*each) for each in zip(names, item.messages, strict=True)]
                self._shown += [{**message} for message in self._asked.get(item.run_id, unknown)]
                self._restate()

    def _report(self, progress: Progressed) -> None:
        self._send("CUSTOM", name="progress", value={"share": progress.share, "text": progress.text})

    def _send(self, kind: str, **fields: Any) -> None:
        self._events.append({"type": kind, **fields})

    def _restate(self) -> None:
        self._send("MESSAGES_SNAPSHOT", messages=[*self._history, *self.shown])

    def _finish(self, end: Terminal, outcome: Mapping[str, Any]) -> None:
        self._send("RUN_FINISHED", **self._ids, outcome=outcome, **_result(end), **_usage(end))

    def _end_unanswered(self, end: NoAnswer) -> None:
        self._events += self.share(self.brought or (self._state and "{}"))  # the thread keeps none of its changes
        if isinstance(end, Joined):
            self._send("RUN_FINISHED", **self._ids, outcome={"type": "success"}, result={"joined": end.into})
        elif isinstance(end, Cancelled) and self._run_input.is_versioned:
            self._finish(end, {"type": "cancelled"})
        else:
            self._events.append({**error_event(run_error(end)), **_usage(end)})

    def _add_text(self, item: transcript.TextAdded) -> None:
        if not self._open:
            shown, self._step = self._message(self._anchor), ""
            self._texts[item.message], self._open = shown, shown["id"]
            self._send("TEXT_MESSAGE_START", messageId=self._open, role="assistant")
        if item.text:
            self._texts[item.message]["content"] = item.message.text
            self._send("TEXT_MESSAGE_CONTENT", messageId=self._open, delta=item.text)

    def _think(self, position: str, text: str) -> None:
        if not self._thought:
            self._anchor, self._thought = position, f"{self._prefix}reasoning_{position}"
            self._send("REASONING_START", messageId=self._thought)
            self._send("REASONING_MESSAGE_START", messageId=self._thought, role="reasoning")
        self._send("REASONING_MESSAGE_CONTENT", messageId=self._thought, delta=text)

    def _end_thought(self, item: transcript.Item) -> None:
        self._close_thought()

    def _close_thought(self) -> None:
        if self._thought:
            self._send("REASONING_MESSAGE_END", messageId=self._thought)
            self._send("REASONING_END", messageId=self._thought)
            self._thought = ""

    def _void(self, item: transcript.TextVoided) -> None:
        """Take the messages back: a client is sent all that stand, and those that follow have other ids."""
        self._end_message()
        for message in item.messages:
            self._texts[message].pop("content", None)
        self._shown = [message for message in self._shown if "content" in message or "toolCalls" in message]
        if item.is_rewritten:
            self._voids += 1
            self._anchor += f".{self._voids}"
        self._restate()

    def _message(self, anchor: str) -> dict[str, Any]:
        """Return the message that begins after that position; the model's text and its calls share one."""
        name = f"{self._prefix}{anchor}"
        for message in self._shown:
            if message["id"] == name and message["role"] == "assistant":
                return message
        self._shown.append(message := {"id": name, "role": "assistant"})
        return message

    def _end_message(self) -> None:
        if self._open:
            self._send("TEXT_MESSAGE_END", messageId=self._open)
            self._open = ""

    def _start_call(self, position: str, call: transcript.CalledTool) -> None:
        """A call that waited for a person was shown by the run before.

        A model whose answers are not recorded has asked for it in the newest message.
        """
        if not self._step:
            self._step, self._anchor = self._anchor, position
        if call.key in self._calls:
            return
        waited = None if call.is_recorded else self._waited.get(call.call_id)
        self._calls[call.key] = waited or f"{self._prefix}call_{position}"
        if waited is None:
            self._show_call(self._calls[call.key], call.tool, call.arguments)

    def _show_call(self, call_id: str, tool: str, arguments: Any) -> None:
        message, text = self._message(self._step or self._anchor), transcript.arguments_text(arguments)
        call = {"id": call_id, "type": "function", "function": {"name": tool, "arguments": text}}
        message.setdefault("toolCalls", []).append(call)
        self._send("TOOL_CALL_START", toolCallId=call_id, toolCallName=tool, parentMessageId=message["id"])
        self._send("TOOL_CALL_ARGS", toolCallId=call_id, delta=text)
        self._send("TOOL_CALL_END", toolCallId=call_id)

    def _show_result(self, name: str, call_id: str, content: str) -> None:
        message = {"id": f"{self._prefix}{name}", "role": "tool", "toolCallId": call_id, "content": content}
        self._shown.append(message)
        self._send("TOOL_CALL_RESULT", messageId=message["id"], toolCallId=call_id, content=content, role="tool")

    def _answer(self, decision: Decision) -> None:
        """Show that a call was denied. The result of a client's own tool is the client's message, which others lack."""
        if decision.value is not None or decision.error is not None:
            if not self._run_input.has_result(decision.id):
                content = result_text(decision.value, decision.error, decision.reason)
                name = f"{self._prefix}{decision.id}"
                self._shown.append({"id": name, "role": "tool", "toolCallId": decision.id, "content": content})
        elif not decision.approved:
            reason = f" {decision.reason}" if decision.reason else ""
            self._show_result(decision.id, decision.id, f"{_DENIED}{reason}")

    def _complete(self, end: Completed) -> None:
        self._events += self.share(text_in(end.session))
        for approval in end.approvals:
            self._show_call(approval.id, approval.tool, approval.arguments)
        if asked := [approval for approval in end.approvals if approval.kind != "client_tool"]:
            interrupts = [{**_interrupt(approval), **_expires(approval.end(end.expires_at))} for approval in asked]
            self._finish(end, {"type": "interrupt", "interrupts": interrupts})
        else:
            self._finish(end, {"type": "success"})


def _expires(end: float | None) -> dict[str, str]:
    return {} if end is None else {"expiresAt": iso(end)}


def _interrupt(approval: PendingApproval) -> dict[str, Any]:
    wanted, question = approval.authorization, approval.question or f"May {approval.tool} be called?"
    return {
        "id": approval.id,
        "reason": "tool_call" if approval.kind == "approve" else "input_required",
        "message": visible_line(question if wanted is None else f"{approval.tool}: {wanted.words}"),
        "toolCallId": approval.id,
        "responseSchema": _answer_schema(approval),
        **({} if wanted is None else {"metadata": {"authorization": wanted.shown()}}),
    }


def _answer_schema(approval: PendingApproval) -> dict[str, Any]:
    if approval.kind == "ask":
        return object_schema({"value": approval.answer_schema or {}}, "value")
    if approval.arguments_schema is None:
        return ANSWER_SCHEMA
    return {**ANSWER_SCHEMA, "properties": {**ANSWER_SCHEMA["properties"], "editedArgs": approval.arguments_schema}}


def _result(end: Terminal) -> dict[str, Any]:
    """Return the member for what the protocol has no word for: why the model ended its answer, and what that cites."""
    result = {**finish_of(end, "finishReason"), **cited_of(end)}
    return {"result": result} if result else {}


def _usage(end: Terminal) -> dict[str, Any]:
    counts = camel_usage(end)
    return {"usage": [counts]} if counts else {}
