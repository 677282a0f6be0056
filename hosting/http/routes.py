"""Every HTTP route that the library serves, below the host's prefix (http-routes.md). `run` is one per agent.

A route is its whole contract without an app: what it takes, which statuses it may answer, each with the type of its
body and its headers, and what it refuses. Its trigger and the OpenAPI document are both made from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import GenericAlias
from typing import Any

from hosting import errors
from hosting.core.outcome import CompletedRun, EndedRun
from hosting.http import bodies
from hosting.http.body_document import RUN_BODY
from hosting.http.parameters import (
    AFTER,
    BEFORE,
    EVENTS_AFTER,
    IF_NONE_MATCH,
    LAST_EVENT_ID,
    LIMIT,
    LIVE,
    OFFSET,
    ORDER,
    STREAM_CURSOR,
    Parameter,
    in_path,
)
from hosting.http.route import FINISH_HEADERS, LOG, RUN_HEADERS, STORES, Header, Refusals, ResponseSpec, Route, ok
from hosting.http.run_call import RUN_PARAMETERS
from hosting.http.timeline import RunTimeline
from hosting.names import MAX_STORED_ID_LENGTH, http_function

NOT_STORED = Header("Cache-Control", "no-store: no cache keeps the response.")
RETRY_AFTER = Header("Retry-After", "Seconds to wait before the next request.", "integer")
PENDING_HEADERS = (Header("Location", "The run's URL."), RETRY_AFTER)
IN_THE_WAY = (Header("Location", "thread_busy: its URL."), Header("x-ms-run-id", "thread_busy: the run in the way."))
COUNTED = frozenset((409, 410, 429, 500, 503))
"""The statuses of refusals that may come when a gate has counted the request, but for those of a run's end."""
PREFERENCE = Header("Preference-Applied", "The preferences that were applied.", always=False)
REPLAYED = Header("Idempotency-Replayed", "true: an earlier request with this key started the run.", always=False)
_STREAM_POSITION = (
    Header("Stream-Next-Offset", "Durable Streams: the offset after the last event of the response.", always=False),
    Header("Stream-Up-To-Date", "Durable Streams: true, there are no more events yet.", always=False),
    Header("Stream-Closed", "Durable Streams: true, the run has ended and this is its last event.", always=False),
)
_ETAG = Header("ETag", "Durable Streams: send it as If-None-Match with the same read.", always=False)
_STREAM_READ = (
    *_STREAM_POSITION,
    Header("Stream-Cursor", "Durable Streams: send it as `cursor` with the next wait.", always=False),
    _ETAG,
)

_CONVERSATION: Refusals = (errors.ThreadDeletingError, errors.UnreadableStateError, *STORES)
WHOLE: Refusals = (*_CONVERSATION, errors.ArchiveUnavailableError, errors.ArchiveIncompleteError)
THREAD_PATH = "agents/{name}/threads/{thread_id}"
THREAD_ID = in_path(
    "thread_id",
    "The thread. Threads stored by another package may have ids with other characters.",
    errors.UnknownThreadError,
    pattern=rf"[^/\\?#\u0000-\u001f\u007f-\u009f]{{1,{MAX_STORED_ID_LENGTH}}}",
)
RUN_ID = in_path("run_id", "The run.", errors.UnknownRunError, errors.ThreadDeletedError, *STORES)
_OF_APPROVALS = (errors.UnknownApprovalError, errors.ApprovalAnsweredError, errors.ApprovalExpiredError)
APPROVAL_ID = in_path("approval_id", "The approval.", *_OF_APPROVALS)
GOING_ON: Refusals = (
    errors.InvalidWaitError,
    *_CONVERSATION,
    errors.ThreadDeletedError,
    errors.ShuttingDownError,
    *errors.RUN_ERRORS,
)
"""Of an answer to an approval, with which the run may go on."""
_INSTANCE_ID = in_path("instance_id", "The orchestration.", errors.UnknownOrchestrationError, pattern=None)
_RUN = f"{THREAD_PATH}/runs/{{run_id}}"
_OF_RUN = (THREAD_ID, RUN_ID)


def read_of_thread(
    function: str,
    rest: str,
    description: str,
    body: Any,
    refusals: Refusals,
    *,
    parameters: tuple[Parameter, ...] = (),
    is_for_shared: bool = True,
) -> Route:
    """Return the route of a GET at `rest` below a thread's path, which answers 200 with this body."""
    path, of_path = f"{THREAD_PATH}{rest}", (THREAD_ID, *parameters)
    return Route(function, "GET", path, description, ok(body), refusals, of_path, is_for_shared=is_for_shared)


def run_route(agent: str) -> Route:
    """Return the route that runs this agent: its own function on its own path."""
    return replace(RUN, function=http_function(agent), path=RUN.path.format(name=agent), agent=agent)


HEALTH = Route(
    "health_check", "GET", "health", "Check that the app runs", ok(bodies.Health), is_anonymous=True, is_for_all=True
)
READY = Route(
    "health_ready",
    "GET",
    "health/ready",
    "Check that the app takes runs and can use its log",
    ok(bodies.Readiness),
    (
        errors.LogUnavailableError,
        errors.ShuttingDownError,
        errors.AgentsBlockedError,
        errors.EngineUnavailableError,
        errors.StoresDifferError,
    ),
    is_anonymous=True,
    is_for_all=True,
)
_DOCUMENT = (ResponseSpec(200, "This document: OpenAPI 3.1.", dict[str, Any]),)
OPENAPI = Route("http_openapi", "GET", "openapi.json", "Read this document", _DOCUMENT, is_for_all=True)


def agents_route(links: Iterable[str]) -> Route:
    """Return the list of agents, each with these members for URLs besides the core's own."""
    agent = bodies.with_members(bodies.ListedAgent, dict.fromkeys(links, str | None))
    body = bodies.with_members(bodies.AgentList, {"agents": GenericAlias(list, (agent,))})
    return Route("http_agents", "GET", "agents", "List the agents", ok(body))


def in_progress(*headers: Header) -> ResponseSpec:
    """Return the answer 202 of a request that began a run."""
    text, sent = "The run is in progress: you did not wait, or the wait ended first.", (*RUN_HEADERS, *PENDING_HEADERS)
    return ResponseSpec(202, text, bodies.PendingRun, (*sent, *headers), or_text=True)


RUN = Route(
    "http-<name>",
    "POST",
    "agents/{name}/run",
    "Ask the agent",
    (
        ResponseSpec(
            200,
            "The agent's answer, or the run's events as they come.",
            CompletedRun,
            (*RUN_HEADERS, *FINISH_HEADERS, REPLAYED, PREFERENCE),
            or_text=True,
            or_events=True,
        ),
        in_progress(REPLAYED, PREFERENCE),
    ),
    (
        errors.UnsupportedContentError,
        errors.MissingMessageError,
        errors.InvalidThreadIdError,
        errors.ConflictingThreadIdsError,
        errors.InvalidWaitError,
        errors.InvalidIdempotencyKeyError,
        errors.IdempotencyKeyReusedError,
        errors.ContentTooLargeError,
        errors.ThreadDeletedError,
        errors.ThreadDeletingError,
        errors.ThreadBusyError,
        errors.TooManyRunsError,
        errors.LimitExceededError,
        errors.ShuttingDownError,
        errors.AgentsBlockedError,
        *STORES,
        *errors.RUN_ERRORS,
    ),
    RUN_PARAMETERS,
    RUN_BODY,
    needs="run",
)
THREAD = read_of_thread("http_thread", "", "Read a thread's times, size and usage", bodies.Thread, _CONVERSATION)
DELETE_THREAD = Route(
    "http_thread_delete",
    "DELETE",
    THREAD_PATH,
    "Delete a thread with its runs",
    (
        ResponseSpec(204, "Deleted, or not found."),
        ResponseSpec(202, "The deletion is in progress and will finish.", bodies.DeletionUnderWay, (RETRY_AFTER,)),
    ),
    STORES,
    (THREAD_ID,),
    needs="own",
)
RUNS = read_of_thread(
    "http_thread_runs",
    "/runs",
    "List a thread's newest runs",
    bodies.RunList,
    (errors.ThreadDeletingError, *STORES),
    parameters=(LIMIT,),
)
MESSAGES = read_of_thread(
    "http_thread_messages",
    "/messages",
    "Read a conversation, page by page",
    bodies.Messages,
    WHOLE,
    parameters=(LIMIT, BEFORE, AFTER, ORDER),
)
RESET = Route(
    "http_thread_reset",
    "POST",
    f"{THREAD_PATH}/reset",
    "Forget a conversation and keep its thread",
    (ResponseSpec(204, "Every run that starts from now on has an empty conversation."),),
    _CONVERSATION,
    (THREAD_ID,),
    needs="own",
)


def export_route(body: Any) -> Route:
    """Return the export of a thread, whose body has members that features add."""
    refusals = (*WHOLE, errors.AttachmentsUnavailableError)
    return read_of_thread("http_thread_export", "/export", "Export everything stored about a thread", body, refusals)


def erasure_route(body: Any) -> Route:
    """Return the receipt of a thread's last deletion, whose body has counts that features add."""
    return read_of_thread(
        "http_thread_erasure",
        "/erasure",
        "Read the receipt of a thread's last deletion",
        body,
        (errors.ThreadDeletingError, *LOG),
    )


STATUS = Route(
    "http_run_status",
    "GET",
    _RUN,
    "Read a run's outcome",
    (
        ResponseSpec(200, "The run has ended, with or without success.", CompletedRun | EndedRun),
        ResponseSpec(202, "The run is queued or running.", bodies.PendingRun, PENDING_HEADERS),
    ),
    parameters=_OF_RUN,
)
TIMELINE = Route(
    "http_run_timeline",
    "GET",
    f"{_RUN}/timeline",
    "Read the steps of a run, with times and tokens",
    ok(RunTimeline),
    parameters=_OF_RUN,
)
_CANCELLED = (ResponseSpec(202, "The run's status now.", bodies.RunState),)
CANCEL = Route("http_run_cancel", "POST", f"{_RUN}/cancel", "Cancel a run", _CANCELLED, parameters=_OF_RUN, needs="run")
EVENTS = Route(
    "http_run_events",
    "GET",
    f"{_RUN}/events",
    "Stream a run's events, from the first or after an event id",
    (
        ResponseSpec(
            200,
            "An event stream that ends with the run; with `offset` a list, unless `live` asks for a stream of lists.",
            list[bodies.StreamMessage],
            _STREAM_READ,
            or_events=True,
        ),
        ResponseSpec(
            204,
            "No new events: the run has ended (a browser then stops asking), or `live=long-poll` timed out.",
            headers=_STREAM_READ,
        ),
        ResponseSpec(304, "Not modified.", headers=(_ETAG,)),
    ),
    (errors.ShuttingDownError,),
    parameters=(*_OF_RUN, EVENTS_AFTER, LAST_EVENT_ID, OFFSET, LIVE, STREAM_CURSOR, IF_NONE_MATCH),
)
EVENTS_TAIL = Route(
    "http_run_events_tail",
    "HEAD",
    f"{_RUN}/events",
    "Read the last offset of a run's events (Durable Streams)",
    (ResponseSpec(200, "The last offset, and whether the run has ended.", headers=_STREAM_POSITION),),
    parameters=_OF_RUN,
)
ORCHESTRATION = Route(
    "http_orchestration",
    "GET",
    "orchestrations/{instance_id}",
    "Read an orchestration's status",
    (
        ResponseSpec(200, "The orchestration has ended, with or without success.", bodies.OrchestrationState),
        ResponseSpec(202, "The orchestration is queued or running.", bodies.OrchestrationState, PENDING_HEADERS),
    ),
    (errors.EngineUnavailableError,),
    (_INSTANCE_ID,),
)
"""Served where the app wants it (`AgentFunctionApp.orchestration_status_route`)."""
