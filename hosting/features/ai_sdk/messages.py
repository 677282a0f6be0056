"""The messages of a chat, made from the thread's log and its document."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from operator import itemgetter
from typing import Any

from hosting.core.thread.events import Event, Joined
from hosting.core.thread.run import Run
from hosting.core.thread.thread_events import MessagesPut
from hosting.features.ai_sdk.fold import AnswerFold, Chunk, message_parts
from hosting.http.wire_runs import fold_runs, put_metadata, waited_calls
from hosting.names import Address
from state.conversation import exchanges
from state.json_values import parse
from state.models import Conversation, entry_text
from state.put import put_of, source_of

Message = dict[str, Any]


class FoldedRun(AnswerFold):
    """A run of the log with all its chunks. `before` is the run whose questions were answered by this one."""

    def __init__(self, run: Run, before: FoldedRun | None, *, names_causes: bool) -> None:
        waited = {} if before is None else waited_calls(before.run)
        message_id = run.run_id if before is None else before.message_id
        super().__init__(run, message_id, waited, names_causes=names_causes)
        self.before = before
        self.chunks: list[Chunk] = []

    def next(self, update: Any) -> list[Chunk]:
        """Fold one more, and keep its chunks."""
        chunks = super().next(update)
        self.chunks += chunks
        return chunks

    @property
    def shown(self) -> list[Chunk]:
        """Its chunks, as a part of a message that goes on."""
        return [chunk for chunk in self.chunks if chunk["type"] != "finish"]

    def chain(self) -> list[FoldedRun]:
        """Return the runs of its message up to this one, the oldest first."""
        return [*([] if self.before is None else self.before.chain()), self]


def folded_runs(address: Address, log: Iterable[tuple[int, Event]], *, names_causes: bool) -> list[FoldedRun]:
    """Return the runs of these events of a thread, the oldest first."""

    def begin(run: Run, before: dict[str, FoldedRun]) -> FoldedRun:
        asked = [fold for fold in before.values() if fold.run.requested_approvals]
        return FoldedRun(
            run, asked[-1] if asked and run.accepted.request.decisions else None, names_causes=names_causes
        )

    return list(fold_runs(address, log, begin).values())


def asked_id(run: Run) -> str:
    """Return the id of the message that a run was asked: its client's, or one of ours."""
    return str((run.accepted.wire or {}).get("message_id") or f"{run.run_id}.asked")


def chat_messages(runs: Iterable[FoldedRun], puts: Iterable[tuple[int, MessagesPut]]) -> list[Message]:
    """Return the messages of runs: what each was asked, and its answer, whole with the runs that continue it.

    Those that were put in stand between them, by their positions.
    """
    messages: dict[str, Message] = {}
    sources: list[tuple[int, FoldedRun | MessagesPut]] = [*((fold.run.first, fold) for fold in runs), *puts]
    for _, fold in sorted(sources, key=itemgetter(0)):
        if isinstance(fold, MessagesPut):
            messages |= {message["id"]: message for message in _put_messages(fold)}
            continue
        run = fold.run
        if isinstance(run.end, Joined):
            continue
        if fold.before is None:
            parts = [part for message in run.accepted.request.messages for part in message_parts(message)]
            messages[asked_id(run)] = {"id": asked_id(run), "role": "user", "parts": parts}
        chunks = [chunk for part in fold.chain() for chunk in (*part.start(), *part.chunks)]
        answer = assembled(chunks)
        if answer["parts"]:
            messages[answer["id"]] = answer
    return list(messages.values())


def _put_messages(put: MessagesPut) -> Iterator[Message]:
    for number, message in enumerate(put.messages):
        parts = [{**part, "state": "done"} if part["type"] == "text" else part for part in message_parts(message)]
        yield {"id": f"{put.id}.{number}", "role": message.role, "parts": parts, "metadata": put_metadata(put)}


def assembled(chunks: Iterable[Chunk]) -> Message:
    """Return the message that a client makes of these chunks."""
    message: Message = {"role": "assistant", "parts": []}
    parts, open_texts = message["parts"], dict[str, Any]()
    calls = dict[str, dict[str, Any]]()
    for chunk in chunks:
        match chunk["type"]:
            case "start" | "finish":
                message["id"] = chunk.get("messageId") or message.get("id")
                message["metadata"] = {**message.get("metadata", {}), **chunk.get("messageMetadata", {})}
            case "start-step":
                parts.append({"type": "step-start"})
            case "reset-step":
                starts = [number for number, part in enumerate(parts) if part["type"] == "step-start"]
                del parts[starts[-1] + 1 :]
            case "text-start" | "reasoning-start" as kind:
                open_texts[chunk["id"]] = {"type": kind.removesuffix("-start"), "text": "", "state": "streaming"}
                parts.append(open_texts[chunk["id"]])
            case "text-delta" | "reasoning-delta":
                open_texts[chunk["id"]]["text"] += chunk["delta"]
            case "text-end" | "reasoning-end":
                open_texts[chunk["id"]]["state"] = "done"
            case "tool-input-available":
                members = ("toolCallId", "input", "providerExecuted")
                kept: dict[str, Any] = {name: chunk[name] for name in members if name in chunk}
                call = {"type": f"tool-{chunk['toolName']}", "state": "input-available"}
                calls[chunk["toolCallId"]] = {**kept, **call}
                parts.append(calls[chunk["toolCallId"]])
            case "steering-message" | "data-question" | "data-authorization" | "source-url" | "source-document":
                parts.append(chunk)
            case kind if (call_id := chunk.get("toolCallId") or chunk.get("approvalId")) in calls:
                calls[call_id] |= _answered(kind, chunk)
    return message


def _answered(kind: str, chunk: Chunk) -> Mapping[str, Any]:
    """Return the members of a call's part after this chunk."""
    match kind:
        case "tool-approval-request":
            return {"state": "approval-requested", "approval": {"id": chunk["approvalId"]}}
        case "tool-approval-response":
            return {"state": "approval-responded", "approval": {"id": chunk["approvalId"], "approved": True}}
        case "tool-output-denied":
            return {"state": "output-denied", "approval": {"id": chunk["toolCallId"], "approved": False}}
        case "tool-output-error":
            return {"state": "output-error", "errorText": chunk["errorText"]}
    return {"state": "output-available", "output": chunk["output"]}


def entry_messages(conversation: Conversation, logged: Collection[str]) -> list[Message]:
    """Return the messages of the entries of other runs and messages than these: the log has those no more."""
    entries = [entry for entry in exchanges(conversation) if source_of(entry) not in logged]
    stored_entries = [parse(entry_text(entry)).get("messages") or () for entry in entries]
    contents = [content for stored in chain(*stored_entries) for content in stored.get("contents") or ()]
    results = {content.get("callId"): content for content in contents if content.get("$type") == "functionResult"}
    messages: list[Message] = []
    for number, entry in enumerate(stored_entries):
        put = put_of(entries[number])
        metadata = {} if put is None else {"metadata": {"put": {"id": put.id, "by": put.by}}}
        for place, stored in enumerate(entry):
            parts = list(_stored_parts(stored, results))
            role = "assistant" if stored.get("role") in ("assistant", "tool") else "user"
            if parts:
                messages.append({"id": f"entry-{number}.{place}", "role": role, "parts": parts, **metadata})
    return messages


def _stored_parts(message: Mapping[str, Any], results: Mapping[Any, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the texts, files and calls of a stored message; a result stands with its call."""
    for content in message.get("contents") or ():
        match content.get("$type"):
            case "text":
                yield {"type": "text", "text": content.get("text") or "", "state": "done"}
            case "functionCall":
                call = {"toolCallId": content.get("callId"), "input": _value(content.get("arguments"))}
                output = results.get(content.get("callId"), {}).get("result")
                call |= {"type": f"tool-{content.get('name')}", "state": "output-available", "output": output}
                yield call
            case "data" | "uri":
                yield {"type": "file", "mediaType": content.get("mediaType") or "", "url": content.get("uri")}


def _value(arguments: object) -> object:
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return arguments
