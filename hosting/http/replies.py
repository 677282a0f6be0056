"""Replies, free of any web framework, and the replies about a run, which are projections of it.

The types of the bodies are those from which the OpenAPI document is made.
"""

from __future__ import annotations

import json
import string
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import TypeVar
from urllib.parse import quote

from msgspec import Struct, field

from hosting.amounts import BudgetState, cost_text
from hosting.core.archiving import PAGE_BYTES
from hosting.core.outcome import (
    ThreadIds,
    completed_fields,
    ids,
    open_status,
    outcome_fields,
    problem,
    run_error,
    usage_of,
)
from hosting.core.thread.events import Completed, Event, Joined
from hosting.core.thread.finish import finish_reason, is_incomplete
from hosting.core.thread.head import Head
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import Superstep
from hosting.errors import HostingError
from hosting.http.answer_form import Form
from hosting.http.bodies import (
    ListedRun,
    PendingRun,
    RunList,
    RunState,
    in_both_spellings,
)
from hosting.http.refusals import RETRY_AFTER_SECONDS
from hosting.http.run_text import progress_of, status_of, text_with_decisions
from hosting.http.timeline import timeline_fields
from hosting.ports import iso

T = TypeVar("T")
EVENT_STREAM = "text/event-stream"
_LONGEST_WORD = 64
"""The longest reason of a provider in a header."""


class Reply(Struct, frozen=True):
    """One HTTP answer."""

    status: int
    body: str | bytes
    media_type: str | None
    headers: Mapping[str, str] = field(default_factory=dict)


class Streamed(Struct, frozen=True):
    """An answer that is sent as it is made: frames of an event stream, or pieces of another text or a file."""

    frames: AsyncGenerator[bytes, None]
    headers: Mapping[str, str]
    media_type: str = EVENT_STREAM
    status: int = 200

    @property
    def is_event_stream(self) -> bool:
        """Whether comments may stand between the frames."""
        return self.media_type == EVENT_STREAM


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


def finish_headers(end: Completed) -> dict[str, str]:
    """Return the headers of an answer that say why the model ended it, and whether it is no whole one."""
    reason = finish_reason(end) or ""
    is_word = 0 < len(reason) <= _LONGEST_WORD and all("!" <= character <= "~" for character in reason)
    named = {"x-ms-finish-reason": reason} if is_word else {}
    return {**named, **({"x-ms-incomplete": "true"} if is_incomplete(end) else {})}


def run_url(run_id: str, thread_url: str) -> str:
    """Return where the run's status is read, on the thread that is found there."""
    return f"{thread_url}/runs/{run_id}"


def json_reply(status: int, fields: Mapping[str, object], headers: Mapping[str, str] | None = None) -> Reply:
    """Return an answer in JSON."""
    return Reply(status, json.dumps(fields, ensure_ascii=False), "application/json", headers or {})


def _sent(status: int, body: Mapping[str, object], headers: Mapping[str, str]) -> Reply:
    """Return the answer of a run in JSON, as all clients read it."""
    return json_reply(status, in_both_spellings(body), headers)


def first_page(items: Sequence[T]) -> Sequence[T]:
    """Return as many of the first of these JSON values as a page takes (`PAGE_BYTES`), one at least."""
    size = 0
    for count, item in enumerate(items):
        size += len(json.dumps(item))
        if count and size > PAGE_BYTES:
            return items[:count]
    return items


def problem_reply(
    error: HostingError, form: Form, headers: Mapping[str, str] | None = None, known: ThreadIds | None = None
) -> Reply:
    """Return the refusal of a request, as problem+json (RFC 9457) or as its sentence, with the run that is in the way.

    Who reads text mostly reads no headers.
    """
    if form == "text":
        text = error.detail if error.run_url is None else f"{error.detail}\n\nThat run: GET {error.run_url}"
        return Reply(error.status, text, "text/plain", headers or {})
    body = json.dumps(in_both_spellings(problem(error, known)), ensure_ascii=False)
    return Reply(error.status, body, "application/problem+json", headers or {})


def run_reply(
    run: Run,
    form: Form,
    thread_url: str,
    extra: Mapping[str, str] | None = None,
    budget: BudgetState | None = None,
    *,
    is_joined: bool = False,
) -> Reply:
    """Return the answer to the request that started the run, or `is_joined` it: 200, 202, or the problem of its end.

    In JSON it says how the `budget` stands.
    """
    headers = {**run_headers(run), **(extra or {})}
    match run.end:
        case Completed() as end if form == "text":
            headers |= finish_headers(end)
            text = text_with_decisions(run, end, f"{thread_url}/approvals/<id>")
            return Reply(200, text, "text/plain", headers)
        case Completed() as end:
            headers |= finish_headers(end)
            body = completed_fields(run, end)
            if budget is not None:
                body["budget"] = budget
            if is_joined:
                body["joined"] = run.run_id
            return _sent(200, body, headers)
        case None:
            return _pending_reply(run, form, thread_url, headers, budget, is_joined=is_joined)
        case Joined() as end:
            return _joined_reply(run, end, form, thread_url, headers)
        case end:
            error = run_error(end)
            if error.budget is None and budget is not None:
                error.budget = dict(budget)
            return problem_reply(error, form, headers, ids(run.accepted))


def _pending_reply(
    run: Run,
    form: Form,
    thread_url: str,
    headers: Mapping[str, str],
    budget: BudgetState | None = None,
    *,
    takeover_seconds: float | None = None,
    is_joined: bool = False,
) -> Reply:
    url, response = run_url(run.run_id, thread_url), "Agent request accepted"
    sent = {**headers, "location": url, "retry-after": str(RETRY_AFTER_SECONDS)}
    if form == "text":
        how = f"The run is in progress. GET {url} until it answers 200; its `response` is the answer."
        if run.paused:
            how = f"The run is paused. POST {url}/resume to have it go on; then GET {url} has the answer."
        return Reply(202, f"{response}. {how}", "text/plain", sent)
    body: PendingRun = {
        "status": open_status(run),
        "response": response,
        "message": run.accepted.request.message,
        "thread_id": run.accepted.thread_id,
        "session_id": run.accepted.thread_id,
        "run_id": run.run_id,
        "correlation_id": run.run_id,
    }
    if is_joined:
        body["joined"] = run.run_id
    if takeover_seconds is not None:
        body["takeover_seconds"] = takeover_seconds
    if metadata := run.accepted.request.metadata:
        body["metadata"] = metadata
    if budget is not None:
        body["budget"] = budget
    return _sent(202, {**body, **progress_of(run)}, sent)


def _joined_reply(run: Run, end: Joined, form: Form, thread_url: str, headers: Mapping[str, str]) -> Reply:
    """Return where the run is that the run joined: for who does not wait, or began the run before."""
    url = run_url(end.into, thread_url)
    sent = {**headers, "location": url, "retry-after": str(RETRY_AFTER_SECONDS)}
    if form == "text":
        return Reply(202, f"{end.detail} GET {url} has the answer.", "text/plain", sent)
    return _sent(202, outcome_fields(run, end), sent)


def status_reply(run: Run, thread_url: str, budget: BudgetState | None, takeover_seconds: float | None = None) -> Reply:
    """Return the answer of the run's status route: 202 while it is open, else 200 whatever the run ended in."""
    if (end := run.end) is None:
        return _pending_reply(run, "json", thread_url, run_headers(run), budget, takeover_seconds=takeover_seconds)
    body = outcome_fields(run, end)
    if budget is not None:
        body["budget"] = budget
    joined = {"location": run_url(end.into, thread_url)} if isinstance(end, Joined) else {}
    return _sent(200, body, {**run_headers(run), **joined})


def cancel_reply(run: Run) -> Reply:
    """Return how the run stands after a request to cancel, pause or resume it."""
    body: RunState = {"status": status_of(run), **ids(run.accepted)}
    return json_reply(202, body, run_headers(run))


def runs_reply(thread_id: str, head: Head, runs: Sequence[Run]) -> Reply:
    """Return runs, the newest first, each with its status; `head` is the thread's."""
    body: RunList = {"runs": [_listed_run(run) for run in runs]}
    if head.put:
        body["last_put"] = head.put
    return json_reply(200, body, thread_headers(thread_id))


def _listed_run(run: Run) -> ListedRun:
    end = run.end
    listed: ListedRun = {
        "run_id": run.run_id,
        "correlation_id": run.run_id,
        "status": status_of(run),
        "created_at": iso(run.accepted.at),
        "ended_at": None if end is None else iso(end.at),
        "attempts": run.attempts,
        "usage": usage_of(end),
    }
    if isinstance(end, Joined):
        listed["joined"] = end.into
    elif end is not None and not isinstance(end, Completed):
        listed["code"] = end.code
    if is_incomplete(end):
        listed["incomplete"] = True
    if end is not None and end.cost:
        listed["cost"] = cost_text(end.cost)
    if metadata := run.accepted.request.metadata:
        listed["metadata"] = metadata
    return listed


def timeline_reply(
    run: Run,
    events: Iterable[tuple[int, Event]],
    superstep: Superstep | None,
    *,
    continues: str | None,
    notifies: bool,
    names_causes: bool,
) -> Reply:
    """Return the steps of the run, also the current one; see `timeline_fields`."""
    body = timeline_fields(run, events, superstep, continues=continues, notifies=notifies, names_causes=names_causes)
    return json_reply(200, body, run_headers(run))
