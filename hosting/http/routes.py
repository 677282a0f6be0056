"""Every HTTP route that the library serves, below the host's prefix (http-api.md section 3). `run` is one per agent.

A route is its whole contract without an app: what it takes, which statuses it may answer, each with the type of its
body and its headers, and what it refuses. Its trigger and the OpenAPI document are both made from it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hosting import errors
from hosting.http.route import Header, Refusals, ResponseSpec, Route, ok
from hosting.names import http_function
from hosting.request.pages import (
    AFTER,
    BEFORE,
    CURSOR,
    DAYS,
    EVENTS_AFTER,
    IF_NONE_MATCH,
    LAST_EVENT_ID,
    LIMIT,
    LIVE,
    OFFSET,
    ORDER,
    SEARCH,
    SORT,
    STREAM_CURSOR,
)
from hosting.service import bodies
from hosting.service.figures import Figures
from hosting.service.timeline import RunTimeline

THREAD_HEADERS = (Header("x-ms-thread-id", "The thread."), Header("x-ms-session-id", "The thread."))
RUN_HEADERS = (*THREAD_HEADERS, Header("x-ms-run-id", "The run."))
NOT_KEPT = Header("Cache-Control", "no-store: nobody on the way keeps the answer.")
RETRY_AFTER = Header("Retry-After", "How many seconds to wait before the next request.", "integer")
PENDING_HEADERS = (Header("Location", "Where the run's end will be."), RETRY_AFTER)
PREFERENCE = Header("Preference-Applied", "The preferences that were applied.", always=False)
START_HEADERS = (
    Header("Idempotency-Replayed", "true: the key had begun this run before.", always=False),
    PREFERENCE,
)
RESUMED_RUN = Header("x-ms-run-id", "The run that went on.", always=False)
STREAM_POSITION_HEADERS = (
    Header("Stream-Next-Offset", "Durable Streams: the offset after the last event of the response.", always=False),
    Header("Stream-Up-To-Date", "Durable Streams: true, there are no more events yet.", always=False),
    Header("Stream-Closed", "Durable Streams: true, the run has ended and this is its last event.", always=False),
)
STREAM_READ_HEADERS = (
    *STREAM_POSITION_HEADERS,
    Header("Stream-Cursor", "Durable Streams: to be sent as `cursor` with the next wait.", always=False),
    Header("ETag", "Durable Streams: to be sent as If-None-Match with the same read.", always=False),
)


THREAD_PATH = "agents/{name}/threads/{thread_id}"
_RUN = f"{THREAD_PATH}/runs/{{run_id}}"

LOG: Refusals = (errors.LogUnavailableError, errors.NewerVersionError)
STORES: Refusals = (*LOG, errors.EngineUnavailableError)
_AGENT: Refusals = (errors.UnknownAgentError,)
THREAD_OF_AGENT: Refusals = (*_AGENT, errors.UnknownThreadError)
_CONVERSATION: Refusals = (*THREAD_OF_AGENT, errors.ThreadDeletingError, errors.UnreadableStateError, *STORES)
WHOLE: Refusals = (*_CONVERSATION, errors.ArchiveUnavailableError, errors.ArchiveIncompleteError)
BODY: Refusals = (
    errors.InvalidJsonError,
    errors.InvalidEncodingError,
    errors.InvalidBodyError,
    errors.InvalidFieldError,
    errors.UnknownFieldError,
)
_RESUME: Refusals = (
    *BODY,
    errors.InvalidWaitError,
    errors.BodyTooLargeError,
    errors.UnsupportedMediaTypeError,
    *_CONVERSATION,
    errors.UnknownApprovalError,
    errors.ApprovalAnsweredError,
    errors.ApprovalExpiredError,
    errors.ThreadDeletedError,
    errors.ShuttingDownError,
    *errors.RUN_ERRORS,
)
_ONE_RUN: Refusals = (*THREAD_OF_AGENT, errors.UnknownRunError, errors.ThreadDeletedError, *STORES)
_START: Refusals = (
    *BODY,
    errors.UnsupportedContentError,
    errors.MissingMessageError,
    errors.InvalidThreadIdError,
    errors.ConflictingThreadIdsError,
    errors.InvalidWaitError,
    errors.InvalidIdempotencyKeyError,
    errors.IdempotencyKeyReusedError,
    errors.BodyTooLargeError,
    errors.ContentTooLargeError,
    errors.UnsupportedMediaTypeError,
    errors.ThreadDeletedError,
    errors.ThreadDeletingError,
    errors.TooManyRunsError,
    errors.ShuttingDownError,
    errors.AgentsBlockedError,
    *STORES,
    *errors.RUN_ERRORS,
)


HEALTH = Route(
    "health_check",
    "GET",
    "health",
    "Check that the app runs",
    ok("It runs.", bodies.Health),
    is_anonymous=True,
    is_for_all=True,
)
READY = Route(
    "health_ready",
    "GET",
    "health/ready",
    "Check that the app takes runs and can use its log",
    ok("It does.", bodies.Readiness),
    (errors.LogUnavailableError, errors.ShuttingDownError, errors.AgentsBlockedError),
    is_anonymous=True,
    is_for_all=True,
)
OPENAPI = Route(
    "http_openapi",
    "GET",
    "openapi.json",
    "Describe these routes",
    ok("This document: OpenAPI 3.1.", dict[str, Any]),
    is_for_all=True,
)
AGENTS = Route("http_agents", "GET", "agents", "List the agents", ok("Each agent, with its URLs.", bodies.AgentList))
RUN = Route(
    "http-<name>",
    "POST",
    "agents/{name}/run",
    "Ask the agent",
    (
        ResponseSpec(
            200,
            "The agent's answer, or the run's events as they come.",
            bodies.CompletedRun,
            (*RUN_HEADERS, *START_HEADERS),
            or_text=True,
            or_events=True,
        ),
        ResponseSpec(
            202,
            "The run continues: you did not wait for it, or not for long enough.",
            bodies.PendingRun,
            (*RUN_HEADERS, *PENDING_HEADERS, *START_HEADERS),
            or_text=True,
        ),
    ),
    _START,
    needs="run",
)


def run_route(agent: str) -> Route:
    """Return the route that runs this agent: its own function on its own path."""
    return replace(RUN, function=http_function(agent), path=RUN.path.format(name=agent))


THREADS = Route(
    "http_threads",
    "GET",
    "agents/{name}/threads",
    "List the agent's threads",
    ok("A page of them, in the store's order or by change.", bodies.ThreadPage),
    (errors.InvalidFieldError, *_AGENT, *STORES),
    (LIMIT, CURSOR, SORT, SEARCH),
)
FIGURES = Route(
    "http_figures",
    "GET",
    "agents/{name}/figures",
    "Read how many runs of the agent ended by day, how long they took, and what they used",
    ok("The figures, the oldest day first.", Figures),
    (errors.InvalidFieldError, *_AGENT, *STORES),
    (DAYS,),
)
THREAD = Route(
    "http_thread",
    "GET",
    THREAD_PATH,
    "Read a thread's times, size and usage",
    ok("The thread.", bodies.Thread, THREAD_HEADERS),
    _CONVERSATION,
)
DELETE_THREAD = Route(
    "http_thread_delete",
    "DELETE",
    THREAD_PATH,
    "Delete a thread with its runs",
    (
        ResponseSpec(204, "It is gone, or was never there.", None, THREAD_HEADERS),
        ResponseSpec(202, "It is under way, and will end.", bodies.DeletionUnderWay, (*THREAD_HEADERS, RETRY_AFTER)),
    ),
    (*THREAD_OF_AGENT, *STORES),
    needs="own",
)
RUNS = Route(
    "http_thread_runs",
    "GET",
    f"{THREAD_PATH}/runs",
    "List a thread's newest runs",
    ok("The newest first.", bodies.RunList, THREAD_HEADERS),
    (errors.InvalidFieldError, *THREAD_OF_AGENT, errors.ThreadDeletingError, *STORES),
    (LIMIT,),
)
MESSAGES = Route(
    "http_thread_messages",
    "GET",
    f"{THREAD_PATH}/messages",
    "Read a conversation, page by page",
    ok("Entries with their positions.", bodies.Messages, THREAD_HEADERS),
    (errors.InvalidFieldError, *WHOLE),
    (LIMIT, BEFORE, AFTER, ORDER),
)
RESET = Route(
    "http_thread_reset",
    "POST",
    f"{THREAD_PATH}/reset",
    "Forget a conversation and keep its thread",
    (ResponseSpec(204, "It is forgotten, by every run that begins from now on.", None, THREAD_HEADERS),),
    _CONVERSATION,
    needs="own",
)
EXPORT = Route(
    "http_thread_export",
    "GET",
    f"{THREAD_PATH}/export",
    "Export everything that is kept about a thread",
    ok("All of it.", bodies.Export, THREAD_HEADERS),
    (*WHOLE, errors.AttachmentsUnavailableError),
)
ERASURE = Route(
    "http_thread_erasure",
    "GET",
    f"{THREAD_PATH}/erasure",
    "Read the receipt of a thread's last deletion",
    ok("What was deleted where, without a word of it.", bodies.Erasure, THREAD_HEADERS),
    (*THREAD_OF_AGENT, errors.ThreadDeletingError, *LOG),
)
STATUS = Route(
    "http_run_status",
    "GET",
    _RUN,
    "Read a run's outcome",
    (
        ResponseSpec(200, "It has ended, with or without success.", bodies.CompletedRun | bodies.EndedRun, RUN_HEADERS),
        ResponseSpec(202, "It is queued or running.", bodies.PendingRun, (*RUN_HEADERS, *PENDING_HEADERS)),
    ),
    _ONE_RUN,
)
TIMELINE = Route(
    "http_run_timeline",
    "GET",
    f"{_RUN}/timeline",
    "Read what a run did, step by step, with times and tokens",
    ok("The steps, in the order in which they were recorded.", RunTimeline, RUN_HEADERS),
    _ONE_RUN,
)
CANCEL = Route(
    "http_run_cancel",
    "POST",
    f"{_RUN}/cancel",
    "Cancel a run",
    (ResponseSpec(202, "Its status now.", bodies.RunState, RUN_HEADERS),),
    _ONE_RUN,
    needs="run",
)
EVENTS = Route(
    "http_run_events",
    "GET",
    f"{_RUN}/events",
    "Follow a run's events, from the first or after one that you have",
    (
        ResponseSpec(
            200,
            "An event stream that ends with the run; with `offset` a list, unless `live` asks for a stream of lists.",
            list[bodies.StreamMessage],
            (*RUN_HEADERS, *STREAM_READ_HEADERS),
            or_events=True,
        ),
        ResponseSpec(
            204,
            "Nothing is new: the run has ended, which makes a browser stop asking, or none came for `live=long-poll`.",
            None,
            (*RUN_HEADERS, *STREAM_READ_HEADERS),
        ),
        ResponseSpec(304, "The reader has these events.", None, (*RUN_HEADERS, STREAM_READ_HEADERS[-1])),
    ),
    (errors.InvalidFieldError, *_ONE_RUN),
    (EVENTS_AFTER, LAST_EVENT_ID, OFFSET, LIVE, STREAM_CURSOR, IF_NONE_MATCH),
)
EVENTS_TAIL = Route(
    "http_run_events_tail",
    "HEAD",
    f"{_RUN}/events",
    "Return where a run's events end, by the Durable Streams protocol",
    (ResponseSpec(200, "Where they end, and whether for good.", None, (*RUN_HEADERS, *STREAM_POSITION_HEADERS)),),
    _ONE_RUN,
)

APPROVALS = Route(
    "http_thread_approvals",
    "GET",
    f"{THREAD_PATH}/approvals",
    "List the tool calls that wait for approval",
    ok("The open approvals, in the order of the model's calls.", bodies.ApprovalList, THREAD_HEADERS),
    (*THREAD_OF_AGENT, *LOG),
)
WAITING = Route(
    "http_approvals",
    "GET",
    "approvals",
    "List the tool calls of all threads that wait for approval",
    ok("A page of them, those that wait longest first.", bodies.WaitingApprovals),
    (errors.InvalidFieldError, *STORES),
    (LIMIT, CURSOR),
)
ANSWER_APPROVAL = Route(
    "http_approval_answer",
    "POST",
    f"{THREAD_PATH}/approvals/{{approval_id}}",
    "Approve or refuse a tool call",
    (
        ResponseSpec(
            200,
            "The answer is recorded; when it was the last one, the answer of the run that went on.",
            bodies.AnsweredApproval | bodies.CompletedRun,
            (*THREAD_HEADERS, RESUMED_RUN, PREFERENCE),
            or_text=True,
            or_events=True,
        ),
        ResponseSpec(
            202,
            "The run continues: you did not wait for it, or not for long enough.",
            bodies.PendingRun,
            (*RUN_HEADERS, *PENDING_HEADERS, PREFERENCE),
            or_text=True,
        ),
    ),
    _RESUME,
    needs="run",
)

ORCHESTRATION = Route(
    "http_orchestration",
    "GET",
    "orchestrations/{instance_id}",
    "Read an orchestration's status",
    (
        ResponseSpec(200, "It has ended, with or without success.", bodies.OrchestrationState),
        ResponseSpec(202, "It is queued or running.", bodies.OrchestrationState, PENDING_HEADERS),
    ),
    (errors.UnknownOrchestrationError, errors.EngineUnavailableError),
)
"""Served where the app asks for it (`AgentFunctionApp.orchestration_status_route`)."""

_APP_ROUTES = (HEALTH, READY, OPENAPI, AGENTS)
_THREAD_ROUTES = (THREADS, FIGURES, THREAD, DELETE_THREAD, RUNS, MESSAGES, RESET, EXPORT, ERASURE)
_RUN_ROUTES = (STATUS, TIMELINE, EVENTS, EVENTS_TAIL, CANCEL)
ROUTES = (*_APP_ROUTES, RUN, *_THREAD_ROUTES, *_RUN_ROUTES, APPROVALS, WAITING, ANSWER_APPROVAL)
