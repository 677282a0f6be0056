"""The end of a run as JSON: the same over HTTP, as an entity's answer and as a tool result.

The types of these bodies are here, too; those that HTTP alone has are in `http.bodies`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal, NotRequired, cast

from typing_extensions import TypedDict

from hosting.amounts import BudgetState, LimitState, cost_text
from hosting.authorizations import SignIn
from hosting.citations import Cited, citations_of
from hosting.core.thread.events import Accepted, Completed, Joined, NoAnswer, Terminal
from hosting.core.thread.finish import finish_reason, is_incomplete
from hosting.core.thread.run import Cancelling, Run
from hosting.core.thread.run_request import PauseKind, PendingApproval
from hosting.core.thread.usage import SHOWN_COUNTS, entry_counts
from hosting.errors import RUN_ERROR_BY_CODE, HostingError, RunFailedError
from hosting.metadata import Value
from hosting.ports import iso
from hosting.visible import visible, visible_line
from state.conversation import response_text, response_value
from state.models import ResponseEntry

OpenStatus = Literal["accepted", "running", "pausing", "paused", "cancelling"]
RunStatus = OpenStatus | Literal["success", "failed", "timed_out", "cancelled", "joined"]


class ThreadIds(TypedDict):
    """The thread under both of its names."""

    thread_id: str
    session_id: str


class RunIds(ThreadIds):
    """The run and its thread, each under both of its names."""

    run_id: str
    correlation_id: str


class Usage(TypedDict, total=False):
    """Tokens, as the model counts them; `estimated_token_count` of them are estimates, for interrupted calls.

    Of the input, the model read some from its cache. Of the output, some are its reasoning.
    """

    input_token_count: int
    output_token_count: int
    total_token_count: int
    estimated_token_count: int
    cache_read_input_token_count: int
    reasoning_output_token_count: int


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
    if you may change them, and is `destructive` if the tool's author says that a call cannot be taken back. A question
    with a `default` has that as its answer from `expires_at` on. `authorization`: the tool needs the run's user to sign
    in, and nobody else may answer.
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
    default: NotRequired[Any]
    authorization: NotRequired[SignIn]


class CompletedRun(RunIds, Cited):
    """The agent's answer, with a `value` if a format was requested or a workflow yielded one.

    `incomplete`: the answer is incomplete for the reason `finish_reason`, which is null if unknown.
    `pending_approvals` are the tool calls that waited for an approval when the run ended. `kept` is false if the
    conversation lacks the answer. `cost` is a decimal number as text, in the unit of the app's own prices. `budget`
    is the rest of the run's budget; in the answer to the request that started the run, of its thread's or your
    day's budget, if any. `joined` is the run's id again, if the message of the request joined it. `citations` are the
    sources that the answer cites, if any.
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
    joined: NotRequired[str]
    metadata: NotRequired[dict[str, Value]]


class JoinedRun(RunIds):
    """A run that ended by joining another one, of the id `joined`, which answers its message too."""

    status: Literal["joined"]
    joined: str
    budget: NotRequired[BudgetState]
    metadata: NotRequired[dict[str, Value]]


class EndedRun(RunIds):
    """A run that ended without an answer, with the state of its own budget, if any."""

    status: Literal["failed", "timed_out", "cancelled"]
    error: Problem
    budget: NotRequired[BudgetState]
    metadata: NotRequired[dict[str, Value]]


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


def outcome_fields(run: Run, terminal: Terminal) -> CompletedRun | EndedRun | JoinedRun:
    """Return the end of a run: its answer, the run that it joined, or its status with the problem."""
    if isinstance(terminal, Completed):
        return completed_fields(run, terminal)
    if isinstance(terminal, Joined):
        return cast(JoinedRun, {"status": "joined", "joined": terminal.into, **labelled_ids(run.accepted)})
    error = problem(run_error(terminal), ids(run.accepted))
    return cast(EndedRun, {"status": terminal.kind, "error": error, **labelled_ids(run.accepted)})


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
    if metadata := run.accepted.request.metadata:
        body["metadata"] = metadata
    if citations := citations_of(terminal.response):
        body["citations"] = citations
    return body


def usage_of(end: Terminal | None) -> Usage:
    """Return the tokens that a run has used which has ended, with all its attempts."""
    return {} if end is None else shown_usage(end.usage or entry_counts(end.entry))


def shown_usage(stored: Mapping[str, Any]) -> Usage:
    """Return the tokens of an entry as they are shown."""
    return cast(Usage, {shown: stored[name] for name, shown in SHOWN_COUNTS.items() if type(stored.get(name)) is int})


def approval_fields(run: Run, approvals: Sequence[PendingApproval]) -> list[Approval]:
    """Return some of the approvals that a completed run asked for."""
    terminal = run.end
    if not isinstance(terminal, Completed):
        return []
    shown: list[Approval] = []
    for approval in approvals:
        end = approval.end(terminal.expires_at)
        item: Approval = {
            "id": approval.id,
            "run_id": run.run_id,
            "kind": approval.kind,
            "tool": approval.tool,
            "arguments": approval.arguments,
            "requested_at": iso(terminal.at),
            "expires_at": None if end is None else iso(end),
        }
        if approval.question is not None:
            item["question"] = approval.question
        if approval.answer_schema is not None:
            item["answer_schema"] = approval.answer_schema
        if approval.arguments_schema is not None:
            item["arguments_schema"] = approval.arguments_schema
        if approval.destructive:
            item["destructive"] = True
        if approval.default is not None:
            item["default"] = json.loads(approval.default)
        if (wanted := approval.authorization) is not None:
            item["authorization"] = wanted.shown()
        shown.append(item)
    return shown


_WAITS: Mapping[PauseKind, str] = {
    "approve": "a person's approval of",
    "ask": "a person's answer to",
    "client_tool": "the caller's result of",
    "authorization": "the user's sign-in for",
}


def text_with_approvals(terminal: Completed) -> str:
    """Return the answer for readers of one text and the approvals next to it: the agent's text, and its waits.

    A model that calls a tool mostly writes no text, and an empty answer would look like a failed one. Beside
    what a person decides nothing is hidden: a terminal obeys what stands in a text.
    """
    if not terminal.approvals:
        return completed_text(terminal)
    tools: dict[PauseKind, dict[str, None]] = {kind: {} for kind in _WAITS}
    for approval in terminal.approvals:
        tools[approval.kind][visible_line(approval.tool)] = None
    waits = [f"Waits for {_WAITS[kind]}: {', '.join(names)}." for kind, names in tools.items() if names]
    return "\n\n".join(part for part in (visible(completed_text(terminal)), *waits) if part)


def completed_text(terminal: Completed) -> str:
    """Return the answer's text, messages joined by a blank line."""
    return response_text(terminal.response) if isinstance(terminal.response, ResponseEntry) else ""


def completed_value(terminal: Completed) -> Any:
    """Return the answer's JSON value, for a run with a requested format."""
    return response_value(terminal.response) if isinstance(terminal.response, ResponseEntry) else None


def open_status(run: Run) -> OpenStatus:
    """Return the status of a run that has not ended."""
    begun: OpenStatus = "running" if run.claim else "accepted"
    return "cancelling" if isinstance(run.state, Cancelling) else run.paused or begun


def ids(accepted: Accepted) -> RunIds:
    """Return the ids of a run under all their names."""
    thread_id, run_id = accepted.thread_id, accepted.run_id
    return {"thread_id": thread_id, "session_id": thread_id, "run_id": run_id, "correlation_id": run_id}


def labelled_ids(accepted: Accepted) -> Mapping[str, Any]:
    """Return the ids of a run, and its metadata if it has any."""
    metadata = accepted.request.metadata
    return {**ids(accepted), "metadata": metadata} if metadata else ids(accepted)
