"""Replies to callers: projections of a run or a thread's view.

Free of any web framework. The types of the bodies are those from which the OpenAPI document is made.
"""

from __future__ import annotations

import json
import string
from base64 import b64encode
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import quote, urlsplit

from hosting.budgets import BudgetState, cost_text
from hosting.errors import HostingError
from hosting.http.bodies import (
    AnsweredApproval,
    ApprovalList,
    DeletionUnderWay,
    Erasure,
    Export,
    GrantList,
    HealthyAgent,
    ListedRun,
    ListedThread,
    Messages,
    PendingRun,
    RunList,
    RunState,
    ShownDelivery,
    ShownEntry,
    ShownGrant,
    ThreadPage,
)
from hosting.http.owner_bodies import OwnerErasure
from hosting.http.refusals import RETRY_AFTER_SECONDS
from hosting.http.timeline import timeline_fields
from hosting.names import Address
from hosting.plan import AgentPlan
from hosting.ports import EntityPage, iso
from hosting.request.run_call import Form
from hosting.request.run_request import Decision, Superstep
from hosting.service.deletion import Receipt
from hosting.service.deliveries import Delivery
from hosting.service.outcome import (
    ThreadIds,
    approval_fields,
    completed_fields,
    ids,
    open_status,
    outcome_fields,
    problem,
    run_error,
    status_of,
    text_with_decisions,
    usage_of,
)
from hosting.service.owners import ErasedOwner
from hosting.service.sharing import grant_id
from hosting.service.threads import MessagesPage, ThreadExport
from hosting.service.webhooks import next_try
from hosting.thread.events import Completed, Event
from hosting.thread.head import Grant
from hosting.thread.run import Run
from state.codec import entry_value, write
from state.models import unsent_messages

_ShownName = Literal["messages", "status", "response_type", "response_schema", "usage"]
_SHOWN: Mapping[str, _ShownName] = {
    "messages": "messages",
    "status": "status",
    "responseType": "response_type",
    "responseSchema": "response_schema",
    "usage": "usage",
}
"""What a reader sees of a stored entry, besides what identifies it."""


@dataclass(frozen=True)
class Reply:
    """One HTTP answer."""

    status: int
    body: str | bytes
    media_type: str | None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Streamed:
    """An answer of 200 that is sent as it is made: frames of an event stream."""

    frames: AsyncGenerator[bytes, None]
    headers: Mapping[str, str]


def thread_ids(thread_id: str) -> ThreadIds:
    """Return the id of a thread under both names."""
    return {"thread_id": thread_id, "session_id": thread_id}


def thread_headers(thread_id: str) -> dict[str, str]:
    """Return the headers of every answer that knows the thread; a thread of another package may need escapes."""
    shown = quote(thread_id, safe=string.punctuation.replace("%", ""))
    return {"x-ms-thread-id": shown, "x-ms-session-id": shown}


def run_headers(run: Run) -> dict[str, str]:
    """Return the headers of every answer that knows the run."""
    return {**thread_headers(run.accepted.thread_id), "x-ms-run-id": run.run_id}


def run_url(run_id: str, thread_url: str) -> str:
    """Return where the run's status is read, on the thread that is found there."""
    return f"{thread_url}/runs/{run_id}"


def json_reply(status: int, fields: Mapping[str, object], headers: Mapping[str, str] | None = None) -> Reply:
    """Return an answer in JSON."""
    return Reply(status, json.dumps(fields, ensure_ascii=False), "application/json", headers or {})


def problem_reply(
    error: HostingError, form: Form, headers: Mapping[str, str] | None = None, known: ThreadIds | None = None
) -> Reply:
    """Return the refusal of a request, as problem+json (RFC 9457) or as its sentence."""
    if form == "text":
        return Reply(error.status, error.detail, "text/plain", headers or {})
    body = json.dumps(problem(error, known), ensure_ascii=False)
    return Reply(error.status, body, "application/problem+json", headers or {})


def run_reply(run: Run, form: Form, thread_url: str, extra: Mapping[str, str] | None = None) -> Reply:
    """Return the answer to the request that started the run: 200, 202, or the problem that it ended in."""
    headers = {**run_headers(run), **(extra or {})}
    match run.certain_end:
        case Completed() as end if form == "text":
            text = text_with_decisions(run, end, f"{thread_url}/approvals/<id>")
            return Reply(200, text, "text/plain", headers)
        case Completed() as end:
            return json_reply(200, completed_fields(run, end), headers)
        case None:
            return _pending_reply(run, form, thread_url, headers)
        case end:
            return problem_reply(run_error(end), form, headers, ids(run.accepted))


def _pending_reply(
    run: Run, form: Form, thread_url: str, headers: Mapping[str, str], budget: BudgetState | None = None
) -> Reply:
    sent = {**headers, "location": run_url(run.run_id, thread_url), "retry-after": str(RETRY_AFTER_SECONDS)}
    response = "Agent request accepted"
    if form == "text":
        return Reply(202, response, "text/plain", sent)
    body: PendingRun = {
        "status": open_status(run),
        "response": response,
        "message": run.accepted.request.message,
        "thread_id": run.accepted.thread_id,
        "session_id": run.accepted.thread_id,
        "run_id": run.run_id,
        "correlation_id": run.run_id,
    }
    if budget is not None:
        body["budget"] = budget
    return json_reply(202, body, sent)


def status_reply(run: Run, thread_url: str, budget: BudgetState | None) -> Reply:
    """Return the answer of the run's status route: 202 while it is open, else 200 whatever the run ended in."""
    if (end := run.certain_end) is None:
        return _pending_reply(run, "json", thread_url, run_headers(run), budget)
    body = outcome_fields(run, end)
    if budget is not None:
        body["budget"] = budget
    return json_reply(200, body, run_headers(run))


def cancel_reply(run: Run) -> Reply:
    """Return how the run stands after a request to cancel it."""
    body: RunState = {"status": status_of(run), **ids(run.accepted)}
    return json_reply(202, body, run_headers(run))


def approvals_reply(thread_id: str, paused: Run | None) -> Reply:
    """Return what the thread waits for now: the approvals of the run `paused` that nobody has answered yet."""
    waiting = [] if paused is None else approval_fields(paused, paused.undecided)
    body: ApprovalList = {**thread_ids(thread_id), "approvals": waiting}
    return json_reply(200, body, thread_headers(thread_id))


def answered_reply(paused: Run, decision: Decision, form: Form) -> Reply:
    """Return that an answer was recorded, and what the thread still waits for."""
    thread_id, waiting = paused.accepted.thread_id, paused.undecided
    if form == "text":
        sentence = f"Answered. {len(waiting)} more to answer before the thread goes on."
        return Reply(200, sentence, "text/plain", thread_headers(thread_id))
    body: AnsweredApproval = {
        "status": "answered",
        "id": decision.id,
        "approved": decision.approved,
        **thread_ids(thread_id),
        "pending_approvals": approval_fields(paused, waiting),
    }
    return json_reply(200, body, thread_headers(thread_id))


def health_reply(agents: Iterable[AgentPlan] | None) -> Reply:
    """Return that the app runs, and its agents where they are given."""
    if agents is None:
        return json_reply(200, {"status": "healthy"})
    listed = [
        HealthyAgent(
            name=each.name,
            type=type(each.agent).__name__,
            http_endpoint_enabled=each.http,
            mcp_tool_enabled=each.tool is not None,
        )
        for each in agents
    ]
    return json_reply(200, {"status": "healthy", "agents": listed, "agent_count": len(listed)})


def threads_reply(page: EntityPage) -> Reply:
    """Return a page of threads, in the store's order."""
    threads: list[ListedThread] = [
        {"thread_id": key, "session_id": key, "updated_at": changed} for key, changed in page.keys
    ]
    body: ThreadPage = {"threads": threads, "next_cursor": page.cursor}
    return json_reply(200, body)


def runs_reply(thread_id: str, runs: Sequence[Run]) -> Reply:
    """Return runs, the newest first, each with its status."""
    body: RunList = {"runs": [_listed_run(run) for run in runs]}
    return json_reply(200, body, thread_headers(thread_id))


def _listed_run(run: Run) -> ListedRun:
    end = run.certain_end
    listed: ListedRun = {
        "run_id": run.run_id,
        "correlation_id": run.run_id,
        "status": status_of(run),
        "created_at": iso(run.accepted.at),
        "ended_at": None if end is None else iso(end.at),
        "attempts": run.attempts,
        "usage": usage_of(end),
    }
    if end is not None and not isinstance(end, Completed):
        listed["code"] = end.code
    if end is not None and end.cost:
        listed["cost"] = cost_text(end.cost)
    return listed


def timeline_reply(
    run: Run, events: Iterable[tuple[int, Event]], superstep: Superstep | None, *, notifies: bool
) -> Reply:
    """Return what the run did, step by step, and what is under way of it; `notifies`: the agent has a webhook."""
    return json_reply(200, timeline_fields(run, events, superstep, notifies=notifies), run_headers(run))


def messages_reply(thread_id: str, page: MessagesPage) -> Reply:
    """Return a window of the conversation: entries with their position, messages in stored form."""
    entries: list[ShownEntry] = []
    for position, entry in page.entries:
        stored = entry_value(entry)
        shown: ShownEntry = {
            "position": position,
            "type": stored["$type"],
            "run_id": stored.get("correlationId"),
            "created_at": stored.get("createdAt"),
        }
        for stored_name, name in _SHOWN.items():
            if stored_name in stored:
                shown[name] = stored[stored_name]
        if unsent := unsent_messages(entry):
            shown["messages"] = [*shown["messages"], *unsent]
        entries.append(shown)
    body: Messages = {**thread_ids(thread_id), "entries": entries, "has_more": page.has_more}
    return json_reply(200, body, thread_headers(thread_id))


def export_fields(agent: str, export: ThreadExport, now: float) -> Export:
    """Return everything that is kept about the thread, as JSON values."""
    return {
        "agent": agent,
        **thread_ids(export.view.address.thread_id),
        "exported_at": iso(now),
        "metadata": dict(export.metadata),
        "conversation": None if export.view.text is None else json.loads(write(export.conversation)),
        "attachments": [
            {"sha256": name, "size_bytes": len(content), "base64": b64encode(content).decode()}
            for name, content in sorted(export.attachments.items())
        ],
        "runs": [
            {
                "accepted": run.accepted.model_dump(mode="json"),
                "attempts": run.attempts,
                "steps": [step.model_dump(mode="json") for step in run.steps],
                "outcome": None if run.terminal is None else run.terminal.model_dump(mode="json"),
                "answers": [answer.model_dump(mode="json") for answer in run.answers],
            }
            for run in reversed(export.view.runs)
        ],
        "webhooks": [delivery_fields(export.view.address, delivery) for delivery in export.webhooks],
        "receivers": [{"id": one.id, "url": one.url} for one in export.receivers],
    }


def delivery_fields(address: Address, delivery: Delivery) -> ShownDelivery:
    """Return what came of a delivery.

    Of the address only the host is shown: the rest may be the receiver's secret, and who may read a thread is not
    always who named the address.
    """
    return {
        **thread_ids(address.thread_id),
        "run_id": delivery.run_id,
        "correlation_id": delivery.run_id,
        "owner": address.owner,
        "receiver": delivery.target,
        "host": urlsplit(delivery.url).netloc,
        "event": delivery.event,
        "state": delivery.state,
        "next_try_at": None if (at := next_try(address, delivery)) is None else iso(at),
        "tries": [{"at": iso(one.at), "status": one.status, "problem": one.problem} for one in delivery.tries],
    }


def erasure_fields(agent: str, address: Address, receipt: Receipt) -> Erasure:
    """Return the receipt of a thread's deletion."""
    return {
        "agent": agent,
        **thread_ids(address.thread_id),
        "deleted_at": iso(receipt.deleted_at),
        "reason": receipt.reason,
        "document": {"size_bytes": receipt.document_bytes, "sha256": receipt.sha256},
        "runs": receipt.runs,
        "archived_entries": receipt.archived_entries,
        "attachments": list(receipt.attachments),
        "webhooks": receipt.webhooks,
        "instances": [{"id": instance.id, "outcome": instance.outcome} for instance in receipt.instances],
    }


def grant_fields(address: Address, grant: Grant, base_url: str) -> ShownGrant:
    """Return a grant as the thread's owner sees it."""
    name = grant_id(address, grant)
    return {
        "grant": name,
        "issuer": grant.principal.issuer,
        "id": grant.principal.id,
        "access": grant.access,
        "granted_at": iso(grant.at),
        "url": f"{base_url}/shared/{name}",
    }


def grants_reply(address: Address, grants: Sequence[Grant], base_url: str) -> Reply:
    """Return with whom a thread is shared."""
    shown = [grant_fields(address, grant, base_url) for grant in grants]
    body: GrantList = {**thread_ids(address.thread_id), "grants": shown}
    return json_reply(200, body, thread_headers(address.thread_id))


def owner_erasure_reply(owner: str, erased: ErasedOwner, agents: Mapping[str, str]) -> Reply:
    """Return what is gone of an owner's, and whether all of it is; `agents` has names as they are written."""
    threads = [erasure_fields(agents.get(one.agent, one.agent), one, receipt) for one, receipt in erased.threads]
    body: OwnerErasure = {"owner": owner, "status": "deleted" if erased.is_complete else "accepted", "threads": threads}
    return (
        json_reply(200, body)
        if erased.is_complete
        else json_reply(202, body, {"retry-after": str(RETRY_AFTER_SECONDS)})
    )


def done_reply(thread_id: str) -> Reply:
    """Return that an operation on the thread is done, without a body."""
    return Reply(204, "", "application/json", thread_headers(thread_id))


def deleting_reply(thread_id: str) -> Reply:
    """Return that a deletion is under way; it continues without the caller."""
    body: DeletionUnderWay = {"status": "accepted", "operation": "delete", **thread_ids(thread_id)}
    return json_reply(202, body, {**thread_headers(thread_id), "retry-after": str(RETRY_AFTER_SECONDS)})
