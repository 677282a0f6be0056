"""Folds the updates of one run into the chunks of the AI SDK's stream, of which the client makes one message.

Theory. The message of a chat is the answer to one message of its user. It begins with that run, and goes on with the
runs that continue it after answers: they have one id, the first run's. A step is one call of the model with the calls
of tools that it makes. Text counts no more where another attempt writes it anew: a step can be taken back while it is
the newest one. Older text that has changed cannot, and the stream ends with an error: a client that follows the run
again gets all of it as it stands.

A call that waits is shown by the run that asks, under the approval's id. The calls of the agent's own tools are marked
as executed by the provider, so that the client runs its own tools alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from hosting.citations import Citation
from hosting.core import transcript
from hosting.core.outcome import run_error
from hosting.core.thread.events import (
    Accepted,
    Cancelled,
    Completed,
    Failed,
    Joined,
    ModelResult,
    Progressed,
    TimedOut,
)
from hosting.core.thread.finish import finish_reason, is_incomplete
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import Decision, PendingApproval, UserMessage
from hosting.errors import HostingError
from hosting.http.cited import citations_at, media_type_of
from hosting.http.wire_runs import ItemFold, RewrittenError, camel_usage
from hosting.visible import visible_line

Chunk = dict[str, Any]

PROVIDER = "agents"
"""The provider under which a source has its place in `providerMetadata`."""
_TEXT_CHUNKS = frozenset(("text-start", "text-delta", "text-end"))
_THOUGHT_CHUNKS = frozenset(("reasoning-start", "reasoning-delta", "reasoning-end"))


class AnswerFold(ItemFold[Chunk]):
    """One run, as a part of the message with that id.

    `waited` has the ids of the calls for which the run before waited, by the model's own. `names_causes`: the app's
    developer reads it, and learns what a tool raised.
    """

    def __init__(self, run: Run, message_id: str, waited: Mapping[str, str], *, names_causes: bool) -> None:
        super().__init__(run, names_causes=names_causes)
        self.message_id = message_id
        self._names_causes = names_causes
        self.waited = waited
        self._calls: dict[str, str] = {}
        self._texts: dict[transcript.AgentMessage, str] = {}
        self._step: list[Chunk] | None = None
        self._is_answered = False
        self._thought = ""
        self._thoughts = 0

    def start(self) -> list[Chunk]:
        """Return the chunks before all others."""
        ids = {"threadId": self.run.accepted.thread_id, "runId": self.run.run_id}
        return [{"type": "start", "messageId": self.message_id, "messageMetadata": ids}]

    def answered_by(self, run: Run) -> AnswerFold:
        """Return the fold of the run that this one's message joined, whose chunks go on with the same message."""
        return AnswerFold(run, self.message_id, {}, names_causes=self._names_causes)

    def broken(self, error: HostingError) -> list[Chunk]:
        """Return the last chunks of a stream that cannot continue."""
        return [{"type": "error", "errorText": error.detail}]

    def _project(self, position: str, item: transcript.Item) -> None:
        match item:
            case transcript.TextAdded():
                self._add_text(item)
            case transcript.AgentMessage() if item in self._texts:
                self._send("text-end", id=self._texts[item])
            case transcript.TextVoided():
                self._void(item)
            case Accepted():
                for decision in item.request.decisions:
                    self._answer(decision)
            case ModelResult():
                if self._is_answered or self._step is None:
                    self._begin_step()
                self._is_answered = True
            case transcript.CalledTool():
                self._call(position, item)
            case Completed():
                self._complete(item)
            case Cancelled():
                self._events.append({"type": "abort", "reason": run_error(item).detail})
            case Failed() | TimedOut():
                self._events.append({"type": "error", "errorText": run_error(item).detail})
            case Joined() if item.run_id != self.run.run_id:
                parts = [part for message in item.messages for part in message_parts(message)]
                self._send("steering-message", id=item.run_id, parts=parts)

    def _report(self, progress: Progressed) -> None:
        """Send a progress, which no message keeps."""
        shown = {"share": progress.share, "text": progress.text}
        self._events.append({"type": "data-progress", "data": shown, "transient": True})

    def _send(self, kind: str, **fields: Any) -> None:
        chunk = {"type": kind, **fields}
        if self._step is not None:
            self._step.append(chunk)
        self._events.append(chunk)

    def _begin_step(self) -> None:
        self._end_step()
        self._events.append({"type": "start-step"})
        self._step = []

    def _end_step(self) -> None:
        if self._step is not None:
            self._events.append({"type": "finish-step"})
        self._step, self._is_answered = None, False

    def _add_text(self, item: transcript.TextAdded) -> None:
        if item.message not in self._texts:
            self._speak()
            self._texts[item.message] = f"{self.run.run_id}.{len(self._texts)}"
            self._send("text-start", id=self._texts[item.message])
        if item.text:
            self._send("text-delta", id=self._texts[item.message], delta=item.text)

    def _speak(self) -> None:
        """Begin a step, if what the model says now is the first of its answer."""
        if self._step is None or self._is_answered:
            self._begin_step()

    def _think(self, position: str, text: str) -> None:
        if not self._thought:
            self._speak()
            self._thoughts += 1
            self._thought = f"{self.run.run_id}.thought-{self._thoughts}"
            self._send("reasoning-start", id=self._thought)
        self._send("reasoning-delta", id=self._thought, delta=text)

    def _end_thought(self, item: transcript.Item) -> None:
        if self._thought:
            self._send("reasoning-end", id=self._thought)
            self._thought = ""

    def _void(self, item: transcript.TextVoided) -> None:
        """Take texts back: the newest step begins anew, with all else that it has. Another attempt thinks anew, too."""
        ids = {self._texts[message] for message in item.messages if message in self._texts}
        step = self._step or []
        if ids - {chunk["id"] for chunk in step if chunk["type"] == "text-start"}:
            raise RewrittenError("The text that was sent stands no more. Follow the run again for the whole answer.")
        kept = [chunk for chunk in step if not (chunk["type"] in _TEXT_CHUNKS and chunk["id"] in ids)]
        if not (item.is_rewritten or self._is_answered):
            kept = [chunk for chunk in kept if chunk["type"] not in _THOUGHT_CHUNKS]
        if len(kept) < len(step):
            self._step = kept
            self._events += [{"type": "reset-step"}, *kept]

    def _call(self, position: str, call: transcript.CalledTool) -> None:
        call_id = self._calls.get(call.key)
        if call_id is None:
            waited = None if call.is_recorded else self.waited.get(call.call_id)
            call_id = self._calls[call.key] = waited or f"{self.run.run_id}.call-{position}"
            if waited is None:
                if self._step is None:
                    self._begin_step()
                self._show_call(call_id, call.tool, call.arguments, is_ours=True)
        self._is_answered = True
        if "error" in call.outcome:
            self._send("tool-output-error", toolCallId=call_id, errorText=call.outcome["error"])
        elif call.outcome:
            self._send("tool-output-available", toolCallId=call_id, output=_output(call.outcome["result"]))

    def _show_call(self, call_id: str, tool: str, arguments: Any, *, is_ours: bool) -> None:
        ours = {"providerExecuted": True} if is_ours else {}
        self._send("tool-input-available", toolCallId=call_id, toolName=tool, input=arguments, **ours)

    def _answer(self, decision: Decision) -> None:
        """Show an answer: the client that gave it has it, and others do not."""
        if decision.error is not None:
            self._send("tool-output-error", toolCallId=decision.id, errorText=decision.error)
        elif decision.value is not None:
            self._send("tool-output-available", toolCallId=decision.id, output=json.loads(decision.value))
        elif decision.approved:
            self._send("tool-approval-response", approvalId=decision.id, approved=True)
        else:
            self._send("tool-output-denied", toolCallId=decision.id)

    def _complete(self, end: Completed) -> None:
        if end.approvals and self._step is None:
            self._begin_step()
        for approval in end.approvals:
            self._ask(approval)
        for number, citation in enumerate(citations_at(end)):
            self._cite(f"{self.run.run_id}.source-{number}", citation)
        self._end_step()
        reason = "stop"
        if end.approvals:
            reason = "tool-calls"
        elif is_incomplete(end):
            reason = "content-filter" if finish_reason(end) in ("content_filter", "refusal") else "length"
        usage = camel_usage(end)
        metadata = {"messageMetadata": {"usage": usage}} if usage else {}
        self._events.append({"type": "finish", "finishReason": reason, **metadata})

    def _cite(self, source_id: str, citation: Citation) -> None:
        place = {
            "fileId" if name == "file_id" else name: value
            for name, value in citation.items()
            if name not in ("name", "url")
        }
        metadata = {"providerMetadata": {PROVIDER: place}} if place else {}
        if "url" in citation:
            self._send("source-url", sourceId=source_id, url=citation["url"], title=citation["name"], **metadata)
        else:
            names = {"title": citation["name"], "filename": citation["name"]}
            self._send("source-document", sourceId=source_id, mediaType=media_type_of(citation), **names, **metadata)

    def _ask(self, approval: PendingApproval) -> None:
        """Show what the run waits for. The answer to a question is the output of its call."""
        is_decision = approval.kind in ("approve", "authorization")
        self._show_call(approval.id, approval.tool, approval.arguments, is_ours=is_decision)
        if (wanted := approval.authorization) is not None:
            self._send("data-authorization", id=approval.id, data={"toolCallId": approval.id, **wanted.shown()})
        if is_decision:
            self._send("tool-approval-request", approvalId=approval.id, toolCallId=approval.id)
        elif approval.kind == "ask":
            question = {"toolCallId": approval.id, "answerSchema": approval.answer_schema}
            if approval.question is not None:
                question["question"] = visible_line(approval.question)
            self._send("data-question", id=approval.id, data=question)


def _output(text: str) -> Any:
    """Return a result as a value: JSON of an object or list as what it is, any other text as the text."""
    if text[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text


def message_parts(message: UserMessage) -> Iterator[dict[str, Any]]:
    """Yield the parts of a user's message."""
    texts = [{"$type": "text", "text": message.message}] if message.message else []
    for content in (*texts, *message.contents):
        if content.get("$type") == "text":
            yield {"type": "text", "text": content["text"]}
        elif isinstance(content.get("uri"), str):
            named = {"filename": content["name"]} if content.get("name") else {}
            yield {"type": "file", "mediaType": _media_type(content), "url": content["uri"], **named}


def _media_type(content: Mapping[str, Any]) -> str:
    prefix, _, _ = str(content["uri"]).partition(",")
    return content.get("mediaType") or prefix.removeprefix("data:").removesuffix(";base64")
