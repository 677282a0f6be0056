"""Every HTTP route that the library serves, below the host's prefix (http-routes.md). `run` is one per agent.

A route is its whole contract without an app: what it takes, which statuses it may answer, each with the type of its
body and its headers, and what it refuses. Its trigger and the OpenAPI document are both made from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import GenericAlias
from typing import Any

from msgspec import structs

from hosting import errors
from hosting.http import bodies, places
from hosting.http.agent_description import AgentDescription, WorkflowDescription
from hosting.http.body_document import RUN_BODY
from hosting.http.model_call import ModelCall
from hosting.http.parameters import (
    AFTER,
    BEFORE,
    EVENTS_AFTER,
    IF_NONE_MATCH,
    LAST_EVENT_ID,
    LIMIT,
    LIVE,
    MODEL_CALL_ID,
    OFFSET,
    ORDER,
    STREAM_CURSOR,
)
from hosting.http.route import (
    FINISH_HEADERS,
    LOG,
    RUN_HEADERS,
    STORES,
    Header,
    Refusals,
    ResponseSpec,
    Route,
    ok,
)
from hosting.http.run_call import RUN_PARAMETERS
from hosting.http.timeline_steps import RunTimeline
from hosting.names import http_function
from hosting.plan import Kind

RETRY_AFTER = Header("Retry-After", "Seconds to wait before the next request.", "integer")
_JOINED = Header("Location", "The URL of the run that it joined, if it did.", always=False)
PENDING_HEADERS = (Header("Location", "The run's URL."), RETRY_AFTER)
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

CONVERSATION: Refusals = (errors.ThreadDeletingError, errors.UnreadableStateError, *STORES)
WHOLE: Refusals = (*CONVERSATION, errors.ArchiveUnavailableError, errors.ArchiveIncompleteError)


def run_route(agent: str, kind: Kind = "agent") -> Route:
    """Return the route that runs this agent or workflow alone: its own function on its own path."""
    place = structs.replace(places.OF_KIND[kind].below(f"{agent}/run"), agent=agent)
    return replace(RUN.at(place), own_function=http_function(agent))


_DOCUMENT = (ResponseSpec(200, "This document: OpenAPI 3.1.", dict[str, Any]),)
OPENAPI = Route("openapi", "GET", places.APP.below("openapi.json"), "Read this document", _DOCUMENT, is_for_all=True)


def agents_route(links: Iterable[str]) -> Route:
    """Return the list of agents, each with these members for URLs besides the core's own."""
    agent = bodies.with_members(bodies.ListedAgent, dict.fromkeys(links, str | None))
    body = bodies.with_members(bodies.AgentList, {"agents": GenericAlias(list, (agent,))})
    return Route("agents", "GET", places.AGENTS, "List the agents", ok(body))


def workflows_route(links: Iterable[str]) -> Route:
    """Return the list of workflows, each with these members for URLs besides the core's own."""
    workflow = bodies.with_members(bodies.ListedWorkflow, dict.fromkeys(links, str | None))
    body = bodies.with_members(bodies.WorkflowList, {"workflows": GenericAlias(list, (workflow,))})
    return Route("workflows", "GET", places.APP.below("workflows"), "List the workflows", ok(body))


def description_route(links: Iterable[str]) -> Route:
    """Return the description of one agent or workflow, with these members for URLs besides the core's own."""
    added = dict.fromkeys(links, str | None)
    agent, workflow = (bodies.with_members(body, added) for body in (AgentDescription, WorkflowDescription))
    return Route(
        "description",
        "GET",
        places.AGENT,
        "Describe the agent",
        ok(agent),
        of_workflows=lambda route: replace(route, description="Describe the workflow", answers=ok(workflow)),
    )


def in_progress(*headers: Header) -> ResponseSpec:
    """Return the answer 202 of a request that began a run."""
    text, sent = "The run is in progress: you did not wait, or the wait ended first.", (*RUN_HEADERS, *PENDING_HEADERS)
    return ResponseSpec(202, text, bodies.SENT_PENDING | bodies.SENT_JOINED, (*sent, *headers), or_text=True)


RUN = Route(
    "run",
    "POST",
    places.AGENT.below("run"),
    "Ask the agent",
    (
        ResponseSpec(
            200,
            "The agent's answer, or the run's events as they come.",
            bodies.SENT_COMPLETED,
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
    of_workflows=lambda route: replace(route, description="Run the workflow"),
)
THREAD = Route("thread", "GET", places.THREAD, "Read a thread's times, size and usage", ok(bodies.Thread), CONVERSATION)
DELETE_THREAD = Route(
    "thread_delete",
    "DELETE",
    places.THREAD,
    "Delete a thread with its runs",
    (
        ResponseSpec(204, "Deleted, or not found."),
        ResponseSpec(202, "The deletion is in progress and will finish.", bodies.DeletionUnderWay, (RETRY_AFTER,)),
    ),
    STORES,
    needs="own",
)
RUNS = Route(
    "thread_runs",
    "GET",
    places.THREAD.below("runs"),
    "List a thread's newest runs",
    ok(bodies.RunList),
    (errors.ThreadDeletingError, *STORES),
    (LIMIT,),
)
MESSAGES = Route(
    "thread_messages",
    "GET",
    places.THREAD.below("messages"),
    "Read a conversation, page by page",
    ok(bodies.Messages),
    WHOLE,
    (LIMIT, BEFORE, AFTER, ORDER),
)
RESET = Route(
    "thread_reset",
    "POST",
    places.THREAD.below("reset"),
    "Forget a conversation and keep its thread",
    (ResponseSpec(204, "Every run that starts from now on has an empty conversation."),),
    CONVERSATION,
    needs="own",
)


def export_route(body: Any) -> Route:
    """Return the export of a thread, whose body has members that features add."""
    refusals = (*WHOLE, errors.AttachmentsUnavailableError)
    place, description = places.THREAD.below("export"), "Export everything stored about a thread"
    return Route("thread_export", "GET", place, description, ok(body), refusals)


def erasure_route(body: Any) -> Route:
    """Return the receipt of a thread's last deletion, whose body has counts that features add."""
    return Route(
        "thread_erasure",
        "GET",
        places.THREAD.below("erasure"),
        "Read the receipt of a thread's last deletion",
        ok(body),
        (errors.ThreadDeletingError, *LOG),
    )


STATUS = Route(
    "run_status",
    "GET",
    places.RUN,
    "Read a run's outcome",
    (
        ResponseSpec(
            200,
            "The run has ended, with or without success.",
            bodies.SENT_COMPLETED | bodies.SENT_ENDED | bodies.SENT_JOINED,
            (_JOINED,),
        ),
        ResponseSpec(202, "The run is queued or running.", bodies.SENT_PENDING, PENDING_HEADERS),
    ),
)
TIMELINE = Route(
    "run_timeline",
    "GET",
    places.RUN.below("timeline"),
    "Read the steps of a run, with times and tokens",
    ok(RunTimeline),
)
STEP = Route(
    "run_step",
    "GET",
    places.RUN.below("step"),
    "Read a model call of a run: what was sent, and what came back",
    ok(ModelCall),
    (errors.UnknownModelCallError, errors.UnreadableStateError),
    (MODEL_CALL_ID,),
)
_CANCELLED = (ResponseSpec(202, "The run's status now.", bodies.RunState),)
CANCEL = Route("run_cancel", "POST", places.RUN.below("cancel"), "Cancel a run", _CANCELLED, needs="run")
EVENTS = Route(
    "run_events",
    "GET",
    places.RUN.below("events"),
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
    parameters=(EVENTS_AFTER, LAST_EVENT_ID, OFFSET, LIVE, STREAM_CURSOR, IF_NONE_MATCH),
)
EVENTS_TAIL = Route(
    "run_events_tail",
    "HEAD",
    places.RUN.below("events"),
    "Read the last offset of a run's events (Durable Streams)",
    (ResponseSpec(200, "The last offset, and whether the run has ended.", headers=_STREAM_POSITION),),
)
