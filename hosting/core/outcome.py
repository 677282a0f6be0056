"""The end of a run as JSON: the same over HTTP, as an entity's answer and as a tool result.

The types of these bodies are here, too; those that HTTP alone has are in `http.bodies`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal, NotRequired, cast

from typing_extensions import TypedDict

from hosting.amounts import BudgetState, LimitState, cost_text
from hosting.core.thread.events import Accepted, Completed, NoAnswer, Terminal
from hosting.core.thread.finish import finish_reason, is_incomplete
from hosting.core.thread.run import Cancelling, Run
from hosting.core.thread.run_request import PauseKind, PendingApproval
from hosting.core.thread.usage import SHOWN_COUNTS, entry_counts
from hosting.errors import RUN_ERROR_BY_CODE, HostingError, RunFailedError
from hosting.ports import iso
from hosting.visible import visible, visible_json, visible_line
from state.contents import FunctionCallContent
from state.conversation import response_text, response_value
from state.models import ResponseEntry

OpenStatus = Literal["accepted", "running", "cancelling"]
RunStatus = Literal["accepted", "running", "cancelling", "success", "failed", "timed_out", "cancelled"]


class ThreadIds(TypedDict):
    """The thread under both of its names."""

    thread_id: str
    session_id: str


class RunIds(ThreadIds):
    """The run and its thread, each under both of its names."""

    run_id: str
    correlation_id: str


class Usage(TypedDict, total=False):
    """Tokens, as the model counts them; `estimated_token_count` of them are estimates, for interrupted calls."""

    input_token_count: int
    output_token_count: int
    total_token_count: int
    estimated_token_count: int


class Problem(TypedDict):
    """A refusal, or the error of a run (RFC 9457). `code` is stable, `error` repeats `detail`; ids are set if known.

    `budget` is the state of the run's budget, or of its thread's or owner's, also if used up; `limit` is the limit
    that a request reached.
    """

    type: Literal["about:blank"]
    title: str
    status: int
    detail: str
    code: str
    error: str
    thread_id: NotRequired[str]
    session_id: NotRequired[str]
    run_id: NotRequired[str]
    correlation_id: NotRequired[str]
    budget: NotRequired[BudgetState]
    limit: NotRequired[LimitState]


class Approval(TypedDict):
    """What a run waits for; times are RFC 3339, `expires_at` is null for never.

    `approve`: may `tool` be called with these arguments? `ask`: `tool`, or a workflow's executor of that name, asks a
    person: the `question` if it is a text, and `arguments`. `client_tool`: you make the call and send its result. The
    last two have the schema of the answer as `answer_schema`. The first has that of the arguments as `arguments_schema`
    if you may change them, and is `destructive` if the tool's author says that a call cannot be taken back.
    """

    id: str
    run_id: str
    kind: PauseKind
    tool: str
    question: NotRequired[str]
    arguments: Any
    requested_at: str
    expires_at: str | None
    answer_schema: NotRequired[dict[str, Any]]
    arguments_schema: NotRequired[dict[str, Any]]
    destructive: NotRequired[Literal[True]]


class CompletedRun(RunIds):
    """The agent's answer, with a `value` if a format was requested or a workflow yielded one.

    `incomplete`: the answer is incomplete for the reason `finish_reason`, which is null if unknown.
    `pending_approvals` are the tool calls that waited for an approval when the run ended. `kept` is false if the
    conversation lacks the answer. `cost` is a decimal number as text, in the unit of the app's own prices. `budget`
    is the rest of the run's budget; in the answer to the request that started the run, of its thread's or your
    day's budget, if any.
    """

    status: Literal["success"]
    response: str
    message: str
    message_count: int
    finish_reason: str | None
    incomplete: bool
    usage: Usage
    value: NotRequired[Any]
    pending_approvals: NotRequired[list[Approval]]
    kept: NotRequired[Literal[False]]
    cost: NotRequired[str]
    budget: NotRequired[BudgetState]


class EndedRun(RunIds):
    """A run that ended without an answer, with the state of its own budget, if any."""

    status: Literal["failed", "timed_out", "cancelled"]
    error: Problem
    budget: NotRequired[BudgetState]


def problem(error: HostingError, ids: ThreadIds | None) -> Problem:
    """Return the problem object; `error` repeats `detail` for clients of the older shape."""
    body: Problem = {
        "type": "about:blank",
        "title": HTTPStatus(error.status).phrase,
        "status": error.status,
        "detail": error.detail,
        "code": error.code,
        "error": error.detail,
    }
    if error.budget is not None:
        body["budget"] = cast(BudgetState, error.budget)
    if error.limit is not None:
        body["limit"] = cast(LimitState, error.limit)
    return {**body, **ids} if ids else body


def run_error(terminal: NoAnswer) -> HostingError:
    """Return the error with which a run ended."""
    error = RUN_ERROR_BY_CODE.get(terminal.code, RunFailedError)(terminal.detail)
    error.budget = None if terminal.budget is None else dict(terminal.budget)
    return error


def outcome_fields(run: Run, terminal: Terminal) -> CompletedRun | EndedRun:
    """Return the end of a run: its answer, or its status with the problem."""
    if isinstance(terminal, Completed):
        return completed_fields(run, terminal)
    return {
        "status": terminal.kind,
        "error": problem(run_error(terminal), ids(run.accepted)),
        "thread_id": run.accepted.thread_id,
        "session_id": run.accepted.thread_id,
        "run_id": run.run_id,
        "correlation_id": run.run_id,
    }


def completed_fields(run: Run, terminal: Completed) -> CompletedRun:
    """Return the 200 body."""
    body: CompletedRun = {
        "status": "success",
        "response": text_with_approvals(terminal),
        "message": run.accepted.request.message,
        "thread_id": run.accepted.thread_id,
        "session_id": run.accepted.thread_id,
        "run_id": run.run_id,
        "correlation_id": run.run_id,
        "message_count": terminal.message_count,
        "finish_reason": finish_reason(terminal),
        "incomplete": is_incomplete(terminal),
        "usage": usage_of(terminal),
    }
    if terminal.approvals:
        body["pending_approvals"] = approval_fields(run, terminal.approvals)
    elif (value := completed_value(terminal)) is not None or run.accepted.request.response_format is not None:
        body["value"] = value
    if not terminal.kept:
        body["kept"] = False
    if terminal.cost:
        body["cost"] = cost_text(terminal.cost)
    return body


def usage_of(end: Terminal | None) -> Usage:
    """Return the tokens that a run has used which has ended, with all its attempts."""
    return {} if end is None else shown_usage(end.usage or entry_counts(end.entry))


def shown_usage(stored: Mapping[str, Any]) -> Usage:
    """Return the tokens of an entry as they are shown."""
    return cast(Usage, {shown: stored[name] for name, shown in SHOWN_COUNTS.items() if name in stored})


def approval_fields(run: Run, approvals: Sequence[PendingApproval]) -> list[Approval]:
    """Return some of the approvals that a completed run asked for."""
    terminal = run.end
    if not isinstance(terminal, Completed):
        return []
    expires_at = None if terminal.expires_at is None else iso(terminal.expires_at)
    shown: list[Approval] = []
    for approval in approvals:
        item: Approval = {
            "id": approval.id,
            "run_id": run.run_id,
            "kind": approval.kind,
            "tool": approval.tool,
            "arguments": approval.arguments,
            "requested_at": iso(terminal.at),
            "expires_at": expires_at,
        }
        if approval.question is not None:
            item["question"] = approval.question
        if approval.answer_schema is not None:
            item["answer_schema"] = approval.answer_schema
        if approval.arguments_schema is not None:
            item["arguments_schema"] = approval.arguments_schema
        if approval.destructive:
            item["destructive"] = True
        shown.append(item)
    return shown


def text_with_decisions(run: Run, terminal: Completed, url: str = "") -> str:
    """Return the answer for readers of text only: the agent's text, and a line for each call that waits.

    With a `url`, how the calls are answered there.
    """
    if not (approvals := run.requested_approvals):
        return completed_text(terminal)
    waits = [
        f"Waits for {'approval' if approval.kind == 'approve' else 'an answer'} {approval.id}: "
        f"{visible_line(approval.tool)}({visible_json(approval.arguments)})"
        for approval in approvals
    ]
    decisions = ['{"approved": true} or {"approved": false, "reason": "..."}'] if _tools(approvals, asks=False) else []
    choice = " or ".join([*decisions, *(['{"value": ...}'] if _tools(approvals, asks=True) else [])])
    how = f"To answer, POST {choice} as application/json to {url}" if url else ""
    return "\n\n".join(part for part in (visible(completed_text(terminal)), "\n".join(waits), how) if part)


def text_with_approvals(terminal: Completed) -> str:
    """Return the answer for readers of one text and the approvals next to it: the agent's text, and its waits.

    A model that calls a tool mostly writes no text, and an empty answer would look like a failed one. Beside
    what a person decides nothing is hidden: a terminal obeys what stands in a text.
    """
    if not terminal.approvals:
        return completed_text(terminal)
    approved, asks = _tools(terminal.approvals, asks=False), _tools(terminal.approvals, asks=True)
    waits = f"Waits for a person's approval of: {approved}." if approved else ""
    questions = f"Waits for a person's answer to: {asks}." if asks else ""
    return "\n\n".join(part for part in (visible(completed_text(terminal)), waits, questions) if part)


def _tools(approvals: Sequence[PendingApproval], *, asks: bool) -> str:
    """Return the tools with waiting calls, or the executors with questions, each once."""
    tools = (visible_line(approval.tool) for approval in approvals if (approval.kind != "approve") is asks)
    return ", ".join(dict.fromkeys(tools))


def incomplete_note(terminal: Completed) -> str:
    """Return a sentence for readers of text only, if the answer is incomplete; else nothing."""
    reason = visible_line(finish_reason(terminal) or "")[:80]
    return f"This answer is incomplete: its finish_reason is {reason}." if is_incomplete(terminal) else ""


def completed_text(terminal: Completed) -> str:
    """Return the answer's text, messages joined by a blank line; without one, the agent's request to its caller."""
    if not isinstance(terminal.response, ResponseEntry):
        return ""
    return response_text(terminal.response) or ("" if terminal.approvals else _calls_of_caller(terminal.response))


def _calls_of_caller(entry: ResponseEntry) -> str:
    """Return a sentence for the calls with which an answer ends: of tools that the agent only declares."""
    last = entry.messages[-1].contents if entry.messages else ()
    calls = [content for content in last if isinstance(content, FunctionCallContent)]
    written = ", ".join(f"{visible_line(call.name or '')}({visible_json(call.arguments or {})})" for call in calls)
    return f"Make this call and send its result, because the app has no code for it: {written}" if calls else ""


def completed_value(terminal: Completed) -> Any:
    """Return the answer's JSON value, for a run with a requested format."""
    return response_value(terminal.response) if isinstance(terminal.response, ResponseEntry) else None


def status_of(run: Run) -> RunStatus:
    """Return the run's status in one word."""
    if (end := run.end) is not None:
        return "success" if isinstance(end, Completed) else end.kind
    return open_status(run)


def open_status(run: Run) -> OpenStatus:
    """Return the status of a run that has not ended."""
    if isinstance(run.state, Cancelling):
        return "cancelling"
    return "running" if run.claim else "accepted"


def ids(accepted: Accepted) -> RunIds:
    """Return the ids of a run under all their names."""
    thread_id, run_id = accepted.thread_id, accepted.run_id
    return {"thread_id": thread_id, "session_id": thread_id, "run_id": run_id, "correlation_id": run_id}
