"""How one thread is shown: what it is, and one that was just made as a fork of another."""

from __future__ import annotations

from hosting.budgets import BudgetState, cost_text
from hosting.http.bodies import Fork, Thread
from hosting.http.replies import Reply, json_reply, thread_headers, thread_ids
from hosting.plan import AgentPlan
from hosting.ports import iso
from hosting.service.archiving import size_bytes
from hosting.service.forking import Forked
from hosting.service.outcome import USAGE_NAMES, Usage
from hosting.service.threads import ThreadView
from hosting.thread.forks import fork_source
from state.conversation import exchanges, message_count
from state.extension import host_of
from state.models import ResponseEntry


def thread_reply(agent: AgentPlan, view: ThreadView, limit_bytes: int, budget: BudgetState | None) -> Reply:
    """Return what one thread is: its times, its size, what it used, and what is left of a budget."""
    entries, older = list(exchanges(view.conversation)), host_of(view.conversation).archived
    accepted_at = iso(view.runs[-1].accepted.at) if view.runs else None
    created_at = older.since or (entries[0].created_at if entries else accepted_at)
    usage: Usage = {}
    for used in (older, *(entry.usage for entry in entries if type(entry) is ResponseEntry)):
        for name in USAGE_NAMES.values():
            count = getattr(used, name, None)
            usage[name] = usage.get(name, 0) + (count if type(count) is int else 0)
    body: Thread = {
        "agent": agent.name,
        "thread_id": view.address.thread_id,
        "session_id": view.address.thread_id,
        "created_at": created_at,
        "updated_at": entries[-1].created_at if entries else created_at,
        "message_count": message_count(view.conversation),
        "usage": usage,
        "size_bytes": size_bytes(view.text or ""),
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


def fork_reply(agent: str, forked: Forked, url: str) -> Reply:
    """Return a fork, which is found at `url`."""
    body: Fork = {
        "agent": agent,
        **thread_ids(forked.thread_id),
        "forked_from": {**thread_ids(forked.origin), "entries": forked.entries},
    }
    headers = {**thread_headers(forked.thread_id), "location": url}
    return json_reply(201, body, headers | ({"idempotency-replayed": "true"} if forked.replayed else {}))
