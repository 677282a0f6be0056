"""Answers about threads (http-api.md section 3): projections of a thread's view, free of any web framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from hosting.entity.capacity import size_bytes
from hosting.entity.receipt import Receipt
from hosting.entity.threads import MessagesPage, ThreadView
from hosting.plan import AgentPlan
from hosting.ports import EntityPage
from hosting.reply.bodies import (
    AgentList,
    Erasure,
    Export,
    Kept,
    ListedAgent,
    ListedRun,
    ListedThread,
    Messages,
    QueuedOperation,
    RunList,
    ShownEntry,
    Thread,
    ThreadPage,
    Usage,
)
from hosting.reply.run_replies import (
    RETRY_AFTER_SECONDS,
    USAGE_NAMES,
    Reply,
    json_reply,
    status_of,
    thread_headers,
    thread_ids,
)
from hosting.run_record import RunRecord
from hosting.times import iso
from state.archived import archived
from state.codec import entry_value
from state.conversation import exchanges, message_count
from state.models import Conversation, RequestEntry, ResponseEntry

_Shown = Literal["messages", "status", "response_type", "response_schema", "usage"]
_SHOWN: Mapping[str, _Shown] = {
    "messages": "messages",
    "status": "status",
    "responseType": "response_type",
    "responseSchema": "response_schema",
    "usage": "usage",
}


def agents_reply(agents: Sequence[AgentPlan], base_url: str) -> Reply:
    """Return the agents and which doors each has."""
    body: AgentList = {"agents": [_agent(agent, base_url) for agent in agents]}
    return json_reply(200, body)


def threads_reply(page: EntityPage) -> Reply:
    """Return a page of threads, in the store's order."""
    threads: list[ListedThread] = [{**thread_ids(key), "updated_at": changed} for key, changed in page.keys]
    body: ThreadPage = {"threads": threads, "next_cursor": page.cursor}
    return json_reply(200, body)


def thread_reply(agent: str, view: ThreadView, limit_bytes: int) -> Reply:
    """Return what one thread is: its times, its size and what it used."""
    entries = list(exchanges(view.conversation))
    body: Thread = {
        "agent": agent,
        **thread_ids(view.place.thread_id),
        "created_at": _created(view),
        "updated_at": entries[-1].created_at if entries else _created(view),
        "message_count": message_count(view.conversation),
        "usage": _usage(view.conversation),
        "size_bytes": size_bytes(view.text or ""),
        "limit_bytes": limit_bytes,
        "expires_at": view.conversation.data.expiration_time_utc,
    }
    return json_reply(200, body, thread_headers(view.place.thread_id))


def runs_reply(thread_id: str, runs: Sequence[RunRecord]) -> Reply:
    """Return runs, the newest first, each with its status."""
    body: RunList = {"runs": [_run(record) for record in runs]}
    return json_reply(200, body, thread_headers(thread_id))


def messages_reply(thread_id: str, page: MessagesPage) -> Reply:
    """Return a window of the conversation: entries with their position, messages in stored form."""
    entries = [_entry(position, entry) for position, entry in page.entries]
    body: Messages = {**thread_ids(thread_id), "entries": entries, "has_more": page.has_more}
    return json_reply(200, body, thread_headers(thread_id))


def export_reply(agent: str, thread_id: str, kept: Kept, now: float) -> Reply:
    """Return everything that is kept about the thread."""
    body: Export = {"agent": agent, **thread_ids(thread_id), "exported_at": iso(now), **kept}
    return json_reply(200, body, thread_headers(thread_id))


def erasure_reply(agent: str, thread_id: str, receipt: Receipt) -> Reply:
    """Return the receipt of a thread's deletion."""
    body: Erasure = {
        "agent": agent,
        **thread_ids(thread_id),
        "deleted_at": iso(receipt.deleted_at),
        "reason": receipt.reason,
        "document": {"size_bytes": receipt.document_bytes, "sha256": receipt.sha256},
        "runs": receipt.runs,
        "archived_entries": receipt.archived_entries,
        "attachments": list(receipt.attachments),
        "instances": [{"id": instance.id, "outcome": instance.outcome} for instance in receipt.instances],
    }
    return json_reply(200, body, thread_headers(thread_id))


def done_reply(thread_id: str) -> Reply:
    """Return that an operation on the thread is done; there is nothing more to say."""
    return Reply(204, "", "application/json", thread_headers(thread_id))


def queued_reply(thread_id: str, operation: Literal["reset", "delete"]) -> Reply:
    """Return that an operation is accepted and waits behind the thread's runs."""
    body: QueuedOperation = {"status": "accepted", "operation": operation, **thread_ids(thread_id)}
    return json_reply(202, body, {**thread_headers(thread_id), "retry-after": str(RETRY_AFTER_SECONDS)})


def _agent(agent: AgentPlan, base_url: str) -> ListedAgent:
    place = f"{base_url}/agents/{agent.name}"
    return {
        "name": agent.name,
        "description": agent.description,
        "run_url": f"{place}/run" if agent.http else None,
        "threads_url": f"{place}/threads" if agent.http else None,
        "mcp_tool": agent.tool.name if agent.tool else None,
    }


def _run(record: RunRecord) -> ListedRun:
    ended = None if record.terminal is None else iso(record.terminal.at)
    return {
        "run_id": record.run_id,
        "correlation_id": record.run_id,
        "status": status_of(record),
        "created_at": iso(record.accepted.at),
        "ended_at": ended,
    }


def _entry(position: int, entry: RequestEntry | ResponseEntry) -> ShownEntry:
    stored = entry_value(entry)
    shown: ShownEntry = {
        "position": position,
        "type": stored["$type"],
        "run_id": stored.get("correlationId"),
        "created_at": stored.get("createdAt"),
    }
    for name, told in _SHOWN.items():
        if name in stored:
            shown[told] = stored[name]
    return shown


def _usage(conversation: Conversation) -> Usage:
    total: Usage = {}
    used_by_entries = (entry.usage for entry in exchanges(conversation) if type(entry) is ResponseEntry)
    for used in (archived(conversation), *used_by_entries):
        for name in USAGE_NAMES.values():
            count = getattr(used, name, None)
            total[name] = total.get(name, 0) + (count if type(count) is int else 0)
    return total


def _created(view: ThreadView) -> str | None:
    older = archived(view.conversation)
    if older.since is not None:
        return older.since
    first = next(exchanges(view.conversation), None)
    if first is not None:
        return first.created_at
    return iso(view.runs[-1].accepted.at) if view.runs else None
