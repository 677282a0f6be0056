"""Answers to callers: projections of a run's record (http-api.md sections 2 to 4), free of any web framework."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal

from hosting.approval.approvals import asked_approvals
from hosting.errors import RUN_ERROR_BY_CODE, HostingError, RunFailedError
from hosting.reply.bodies import (
    Approval,
    CompletedRun,
    EndedRun,
    OpenStatus,
    PendingRun,
    Problem,
    RunIds,
    RunState,
    RunStatus,
    ThreadIds,
    Usage,
)
from hosting.request.negotiation import Form
from hosting.requests import PendingApproval
from hosting.run_record import RunRecord
from hosting.thread.events import Completed, NoAnswer, Terminal
from hosting.times import iso
from state.conversation import response_text, response_value
from state.models import ResponseEntry

RETRY_AFTER_SECONDS = 1
TRY_AGAIN = (409, 429, 503)
"""The statuses of refusals that may not stand for long."""

UsageName = Literal["input_token_count", "output_token_count", "total_token_count"]
USAGE_NAMES: dict[str, UsageName] = {
    "inputTokenCount": "input_token_count",
    "outputTokenCount": "output_token_count",
    "totalTokenCount": "total_token_count",
}


@dataclass(frozen=True)
class Reply:
    """One HTTP answer."""

    status: int
    body: str
    media_type: str | None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Streamed:
    """An answer of 200 that is sent as it is made: frames of an event stream."""

    frames: AsyncGenerator[bytes, None]
    headers: Mapping[str, str]


def run_reply(record: RunRecord, form: Form, base_url: str, extra: Mapping[str, str] | None = None) -> Reply:
    """Return the answer to the request that started the run: 200, 202, or the problem that it ended in."""
    terminal = record.terminal
    headers = {**run_headers(record), **(extra or {})}
    if isinstance(terminal, Completed):
        if form == "text":
            return Reply(200, told_text(record, terminal), "text/plain", headers)
        return json_reply(200, completed_fields(record, terminal), headers)
    if terminal is not None:
        return problem_reply(run_error(terminal), form, headers, ids(record))
    return _pending(record, form, {**headers, "location": run_url(record, base_url)})


def status_reply(record: RunRecord, base_url: str) -> Reply:
    """Return the answer of the run's status route: 202 while it is open, else 200 whatever the run ended in."""
    terminal = record.terminal
    headers = run_headers(record)
    if terminal is None:
        return _pending(record, "json", {**headers, "location": run_url(record, base_url)})
    return json_reply(200, outcome_fields(record, terminal), headers)


def cancel_reply(record: RunRecord) -> Reply:
    """Return how the run stands after somebody asked to cancel it."""
    body: RunState = {"status": status_of(record), **ids(record)}
    return json_reply(202, body, run_headers(record))


def problem_reply(
    error: HostingError, form: Form, headers: Mapping[str, str] | None = None, known: ThreadIds | None = None
) -> Reply:
    """Return the refusal of a request, as problem+json (RFC 9457) or as its sentence."""
    if form == "text":
        return Reply(error.status, error.detail, "text/plain", headers or {})
    body = json.dumps(problem(error, known), ensure_ascii=False)
    return Reply(error.status, body, "application/problem+json", headers or {})


def problem(error: HostingError, known: ThreadIds | None) -> Problem:
    """Return the problem object; `error` repeats `detail` for clients of the older shape."""
    told: Problem = {
        "type": "about:blank",
        "title": HTTPStatus(error.status).phrase,
        "status": error.status,
        "detail": error.detail,
        "code": error.code,
        "error": error.detail,
    }
    return {**told, **known} if known else told


def run_error(terminal: NoAnswer) -> HostingError:
    """Return the error that an ended run's record tells."""
    return RUN_ERROR_BY_CODE.get(terminal.code, RunFailedError)(terminal.detail)


def outcome_fields(record: RunRecord, terminal: Terminal) -> CompletedRun | EndedRun:
    """Return what a run ended in, whatever that was: its answer, or its status with the problem."""
    if isinstance(terminal, Completed):
        return completed_fields(record, terminal)
    return {"status": terminal.kind, "error": problem(run_error(terminal), ids(record)), **ids(record)}


def completed_fields(record: RunRecord, terminal: Completed) -> CompletedRun:
    """Return the 200 body."""
    told: CompletedRun = {
        "status": "success",
        "response": completed_text(terminal),
        "message": record.accepted.request.message,
        "thread_id": record.accepted.thread_id,
        "session_id": record.accepted.thread_id,
        "run_id": record.run_id,
        "correlation_id": record.run_id,
        "message_count": terminal.message_count,
        "usage": _usage(terminal.entry.get("usage") or {}),
    }
    if terminal.approvals:
        told["pending_approvals"] = approval_fields(record, terminal.approvals)
    elif record.accepted.request.response_format is not None:
        told["value"] = completed_value(terminal)
    if not terminal.kept:
        told["kept"] = False
    return told


def approval_fields(record: RunRecord, approvals: Sequence[PendingApproval]) -> list[Approval]:
    """Return some of the approvals that a completed run asked for."""
    terminal = record.terminal
    if not isinstance(terminal, Completed):
        return []
    expires_at = None if terminal.expires_at is None else iso(terminal.expires_at)
    return [
        {
            "id": approval.id,
            "run_id": record.run_id,
            "tool": approval.tool,
            "arguments": approval.arguments,
            "requested_at": iso(terminal.at),
            "expires_at": expires_at,
        }
        for approval in approvals
    ]


def told_text(record: RunRecord, terminal: Completed) -> str:
    """Return the answer for those who read text only: what the agent said, and a line for each call that waits."""
    waits = [
        f"Waits for approval {approval.id}: {approval.tool}({json.dumps(approval.arguments, ensure_ascii=False)})"
        for approval in asked_approvals(record)
    ]
    return "\n\n".join(part for part in (completed_text(terminal), "\n".join(waits)) if part)


def _usage(stored: Mapping[str, Any]) -> Usage:
    usage: Usage = {}
    for name, told in USAGE_NAMES.items():
        if name in stored:
            usage[told] = stored[name]
    return usage


def completed_text(terminal: Completed) -> str:
    """Return the answer's text, messages joined by a blank line."""
    return response_text(terminal.response) if isinstance(terminal.response, ResponseEntry) else ""


def completed_value(terminal: Completed) -> Any:
    """Return the answer's JSON value, for a run that was asked for one."""
    return response_value(terminal.response) if isinstance(terminal.response, ResponseEntry) else None


def status_of(record: RunRecord) -> RunStatus:
    """Return the run's status in one word."""
    if record.terminal is not None:
        return "success" if isinstance(record.terminal, Completed) else record.terminal.kind
    return open_status(record)


def open_status(record: RunRecord) -> OpenStatus:
    """Return the status of a run that has not ended."""
    if record.cancel_requested:
        return "cancelling"
    return "running" if record.claim else "accepted"


def ids(record: RunRecord) -> RunIds:
    """Return the ids of a run under all their names."""
    thread_id, run_id = record.accepted.thread_id, record.run_id
    return {"thread_id": thread_id, "session_id": thread_id, "run_id": run_id, "correlation_id": run_id}


def run_headers(record: RunRecord) -> dict[str, str]:
    """Return the headers of every answer that knows the run."""
    return {**thread_headers(record.accepted.thread_id), "x-ms-run-id": record.run_id}


def thread_ids(thread_id: str) -> ThreadIds:
    """Return the id of a thread under both names."""
    return {"thread_id": thread_id, "session_id": thread_id}


def thread_headers(thread_id: str) -> dict[str, str]:
    """Return the headers of every answer that knows the thread."""
    return {"x-ms-thread-id": thread_id, "x-ms-session-id": thread_id}


def run_url(record: RunRecord, base_url: str) -> str:
    """Return where the run's status is read."""
    accepted = record.accepted
    return f"{base_url}/agents/{accepted.agent}/threads/{accepted.thread_id}/runs/{accepted.run_id}"


def events_url(record: RunRecord, base_url: str) -> str:
    """Return where the run's events are followed."""
    return f"{run_url(record, base_url)}/events"


def _pending(record: RunRecord, form: Form, headers: Mapping[str, str]) -> Reply:
    later = {**headers, "retry-after": str(RETRY_AFTER_SECONDS)}
    said = "Agent request accepted"
    if form == "text":
        return Reply(202, said, "text/plain", later)
    message = record.accepted.request.message
    body: PendingRun = {"status": open_status(record), "response": said, "message": message, **ids(record)}
    return json_reply(202, body, later)


def json_reply(status: int, fields: Mapping[str, object], headers: Mapping[str, str] | None = None) -> Reply:
    """Return an answer in JSON."""
    return Reply(status, json.dumps(fields, ensure_ascii=False), "application/json", headers or {})
