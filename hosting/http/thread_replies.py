"""Replies about one thread: its state and conversation, its grants, its export, and the receipt of its deletion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, cast

from hosting.amounts import BudgetState, cost_text
from hosting.core.deletion import Receipt
from hosting.core.outcome import Usage, shown_usage
from hosting.core.thread.events import Accepted
from hosting.core.thread.finish import is_cut, word_of
from hosting.core.thread.run import Ended, Run
from hosting.core.thread.sources import fork_source
from hosting.core.thread_view import MessagesPage, ThreadExport, ThreadView
from hosting.http.bodies import (
    DeletionUnderWay,
    Erasure,
    Export,
    ExportedRun,
    Messages,
    ShownEntry,
    Thread,
)
from hosting.http.refusals import RETRY_AFTER_SECONDS
from hosting.http.replies import Reply, json_reply, thread_headers, thread_ids
from hosting.names import Address
from hosting.plan import AgentPlan
from hosting.ports import iso
from hosting.principal import Caller
from state.codec import entry_value
from state.contents import TOKEN_COUNTS
from state.conversation import exchanges, message_count
from state.extension import host_of
from state.models import OURS, unsent_messages
from state.put import put_of

_ShownName = Literal["messages", "status", "response_type", "response_schema", "usage"]
_SHOWN: Mapping[str, _ShownName] = {
    "messages": "messages",
    "status": "status",
    "responseType": "response_type",
    "responseSchema": "response_schema",
    "usage": "usage",
}
"""The fields of a stored entry that a reader sees, besides its ids."""


def thread_reply(
    agent: AgentPlan, view: ThreadView, size_bytes: int, limit_bytes: int, budget: BudgetState | None
) -> Reply:
    """Return one thread: its times, its size, its usage, and the rest of a budget."""
    entries, older = list(exchanges(view.conversation)), host_of(view.conversation).archived
    accepted_at = iso(view.runs[-1].accepted.at) if view.runs else None
    created_at = older.since or (entries[0].created_at if entries else accepted_at)
    counted = view.head.counted
    always = dict.fromkeys(TOKEN_COUNTS.values(), 0)
    usage = cast(Usage, {**always, **shown_usage(counted.stored())})
    body: Thread = {
        "agent": agent.name,
        "thread_id": view.address.thread_id,
        "session_id": view.address.thread_id,
        "title": view.head.name or view.head.title,
        "pinned": view.head.pinned,
        "metadata": view.head.metadata,
        "created_at": created_at,
        "updated_at": entries[-1].created_at if entries else created_at,
        "message_count": message_count(view.conversation),
        "usage": usage,
        "size_bytes": size_bytes,
        "limit_bytes": limit_bytes,
        "expires_at": view.conversation.data.expiration_time_utc,
    }
    if budget is not None:
        body["budget"] = budget
    if cost := view.head.used.cost:
        body["cost"] = cost_text(cost)
    if (source := fork_source(view.head)) is not None:
        body["forked_from"] = {**thread_ids(source.thread_id), "entries": source.entries}
    return json_reply(200, body, thread_headers(view.address.thread_id))


def messages_reply(thread_id: str, page: MessagesPage, *, shows_thoughts: bool) -> Reply:
    """Return a window of the conversation: entries with their position, messages in stored form.

    Of thoughts there is at most the text: what a provider sealed is for its model alone.
    """
    entries: list[ShownEntry] = []
    for position, entry in page.entries:
        stored = entry_value(entry)
        shown: ShownEntry = {
            "position": position,
            "type": stored["$type"],
            "run_id": stored.get("correlationId"),
            "created_at": stored.get("createdAt"),
        }
        if (put := put_of(entry)) is not None:
            by: Any = put.by
            shown |= {"run_id": None, "put": {"id": put.id, "by": by}}
        for stored_name, name in _SHOWN.items():
            if stored_name in stored:
                shown[name] = stored[stored_name]
        if (reason := word_of(stored.get(OURS))) is not None:
            shown["finish_reason"] = reason
        if is_cut(reason):
            shown["incomplete"] = True
        if unsent := unsent_messages(entry):
            shown["messages"] = [*shown["messages"], *unsent]
        if isinstance(messages := shown.get("messages"), list):
            shown["messages"] = [_shown_message(message, shows_thoughts=shows_thoughts) for message in messages]
        entries.append(shown)
    body: Messages = {**thread_ids(thread_id), "entries": entries, "has_more": page.has_more}
    return json_reply(200, body, thread_headers(thread_id))


def _shown_message(message: Any, *, shows_thoughts: bool) -> Any:
    """Return a stored message, of an entry of any kind, with the text of its thoughts or without them."""
    if not isinstance(message, dict) or not isinstance(contents := message.get("contents"), list):
        return message
    shown: list[Any] = []
    for content in contents:
        match content:
            case {"$type": "reasoning", "text": str(text)} if shows_thoughts and text:
                shown.append({"$type": "reasoning", "text": text})
            case {"$type": "reasoning"} | {"$type": "unknown", "content": {"type": "text_reasoning"}}:
                pass
            case _:
                shown.append(content)
    return {**message, "contents": shown}


def export_fields(agent: str, export: ThreadExport, now: float, reader: Caller | None = None) -> Export:
    """Return the stored data of the thread, as JSON values; conversation and attachments are put in their places.

    A `reader` with whom the thread is shared does not see what features keep of it, nor what is for others alone.
    """
    fields: Export = {
        "agent": agent,
        **thread_ids(export.view.address.thread_id),
        "exported_at": iso(now),
        "metadata": export.view.head.metadata,
        "conversation": None,
        "attachments": [],
        "runs": [_exported_run(run, reader) for run in reversed(export.view.runs)],
    }
    return cast(Export, {**fields, **(export.kept if reader is None else export.hidden)})


def _exported_run(run: Run, reader: Caller | None) -> ExportedRun:
    exported: ExportedRun = {
        "accepted": _accepted_fields(run.accepted, reader),
        "attempts": run.attempts,
        "steps": [step.model_dump(mode="json") for step in run.steps],
        "outcome": run.state.end.model_dump(mode="json") if isinstance(run.state, Ended) else None,
        "answers": [answer.model_dump(mode="json") for answer in run.answers],
    }
    if run.progress is not None:
        exported["progress"] = run.progress.model_dump(mode="json")
    if run.paused and run.end is None:
        exported["paused"] = run.paused
    return exported


def _accepted_fields(accepted: Accepted, reader: Caller | None) -> dict[str, Any]:
    """Return a run's request; a reader gets it without the webhook and private data of its sender."""
    if reader is not None:
        principal = accepted.principal and replace(accepted.principal, roles=())
        grant = accepted.grant if accepted.grant == reader.grant else None
        request = accepted.request.model_copy(update={"webhook": None, "context": {}})
        accepted = accepted.model_copy(
            update={"request": request, "wire": None, "principal": principal, "grant": grant}
        )
    return accepted.model_dump(mode="json")


def done_reply(thread_id: str) -> Reply:
    """Return that an operation on the thread is done, without a body."""
    return Reply(204, "", "application/json", thread_headers(thread_id))


def deleting_reply(thread_id: str) -> Reply:
    """Return that a deletion is under way; it continues without the caller."""
    body: DeletionUnderWay = {"status": "accepted", "operation": "delete", **thread_ids(thread_id)}
    return json_reply(202, body, {**thread_headers(thread_id), "retry-after": str(RETRY_AFTER_SECONDS)})


def erasure_fields(agent: str, address: Address, receipt: Receipt) -> Erasure:
    """Return the receipt of a thread's deletion."""
    fields: Erasure = {
        "agent": agent,
        **thread_ids(address.thread_id),
        "deleted_at": iso(receipt.deleted_at),
        "reason": receipt.reason,
        "document": {"size_bytes": receipt.document_bytes, "sha256": receipt.sha256},
        "runs": receipt.runs,
        "archived_entries": receipt.archived_entries,
        "attachments": list(receipt.attachments),
        "instances": [{"id": instance.id, "outcome": instance.outcome} for instance in receipt.instances],
    }
    return cast(Erasure, {**fields, **receipt.counts})
