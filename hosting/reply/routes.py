"""Every HTTP route that the library serves, below the host's prefix (http-api.md section 3). `run` is one per agent.

A route is all that can be said of it without an app: what it takes, what it may answer, what it refuses. Its trigger
and the OpenAPI document are both made from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from hosting import errors
from hosting.parameters import Parameter
from hosting.reply import bodies
from hosting.reply.answers import (
    PENDING_HEADERS,
    PREFERENCE,
    RESUMED_RUN,
    RETRY_AFTER,
    RUN_HEADERS,
    START_HEADERS,
    STREAM_PLACE_HEADERS,
    STREAM_READ_HEADERS,
    THREAD_HEADERS,
    Answer,
)
from hosting.request.pages import AFTER, BEFORE, CURSOR, EVENTS_AFTER, IF_NONE_MATCH, LAST_EVENT_ID, LIMIT, ORDER
from hosting.request.stream_query import LIVE, OFFSET, STREAM_CURSOR

_THREAD = "agents/{name}/threads/{thread_id}"
_RUN = f"{_THREAD}/runs/{{run_id}}"

Refusals = tuple[type[errors.HostingError], ...]


@dataclass(frozen=True)
class Route:
    """A verb on a path, the function that serves it, and its contract."""

    function: str
    method: Literal["GET", "HEAD", "POST", "DELETE"]
    path: str
    says: str
    answers: tuple[Answer, ...] = field(hash=False)
    refusals: Refusals = ()
    query: tuple[Parameter, ...] = ()
    is_anonymous: bool = False

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


_STORES: Refusals = (errors.LogUnavailableError, errors.EngineUnavailableError)
_AGENT: Refusals = (errors.UnknownAgentError,)
_PLACE: Refusals = (*_AGENT, errors.UnknownThreadError)
_CONVERSATION: Refusals = (*_PLACE, errors.UnreadableStateError, *_STORES)
_WHOLE: Refusals = (*_CONVERSATION, errors.ArchiveUnavailableError, errors.ArchiveIncompleteError)
_RESUME: Refusals = (
    errors.InvalidJsonError,
    errors.InvalidEncodingError,
    errors.InvalidBodyError,
    errors.InvalidFieldError,
    errors.UnknownFieldError,
    errors.InvalidWaitError,
    errors.BodyTooLargeError,
    errors.UnsupportedMediaTypeError,
    *_CONVERSATION,
    errors.UnknownApprovalError,
    errors.ApprovalAnsweredError,
    errors.ApprovalExpiredError,
    errors.ThreadDeletedError,
    errors.ThreadDeletingError,
    errors.ShuttingDownError,
    *errors.RUN_ERRORS,
)
_ASKED_RUN: Refusals = (*_PLACE, errors.UnknownRunError, errors.ThreadDeletedError, *_STORES)
_START: Refusals = (
    errors.InvalidJsonError,
    errors.InvalidEncodingError,
    errors.InvalidBodyError,
    errors.InvalidFieldError,
    errors.UnknownFieldError,
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
    *_STORES,
    *errors.RUN_ERRORS,
)


def _done(says: str, body: Any) -> tuple[Answer, ...]:
    return (Answer(200, says, body),)


def _of_thread(says: str, body: Any) -> tuple[Answer, ...]:
    return (Answer(200, says, body, THREAD_HEADERS),)


def _operation(says: str) -> tuple[Answer, ...]:
    waits = "It waits behind the thread's runs, and is still done."
    return (
        Answer(204, says, None, THREAD_HEADERS),
        Answer(202, waits, bodies.QueuedOperation, (*THREAD_HEADERS, RETRY_AFTER)),
    )


HEALTH = Route(
    "health_check",
    "GET",
    "health",
    "Tell that the app runs",
    _done("It runs.", bodies.Health),
    is_anonymous=True,
)
READY = Route(
    "health_ready",
    "GET",
    "health/ready",
    "Tell whether the app reaches its stores",
    _done("It does.", bodies.Readiness),
    _STORES,
    is_anonymous=True,
)
OPENAPI = Route(
    "http_openapi",
    "GET",
    "openapi.json",
    "Describe these routes",
    _done("This document: OpenAPI 3.1.", dict[str, Any]),
)
AGENTS = Route(
    "http_agents",
    "GET",
    "agents",
    "List the agents",
    _done("Each agent and its doors.", bodies.AgentList),
)
RUN = Route(
    "http-<name>",
    "POST",
    "agents/{name}/run",
    "Ask the agent",
    (
        Answer(
            200,
            "The agent's answer, or the run's events as they come.",
            bodies.CompletedRun,
            (*RUN_HEADERS, *START_HEADERS),
            or_text=True,
            or_events=True,
        ),
        Answer(
            202,
            "The run goes on: it was not waited for, or not for long enough.",
            bodies.PendingRun,
            (*RUN_HEADERS, *PENDING_HEADERS, *START_HEADERS),
            or_text=True,
        ),
    ),
    _START,
)
THREADS = Route(
    "http_threads",
    "GET",
    "agents/{name}/threads",
    "List the agent's threads",
    _done("A page of them, in the store's order.", bodies.ThreadPage),
    (errors.InvalidFieldError, *_AGENT, *_STORES),
    (LIMIT, CURSOR),
)
THREAD = Route(
    "http_thread",
    "GET",
    _THREAD,
    "Read what a thread is",
    _of_thread("Its times, size and use.", bodies.Thread),
    _CONVERSATION,
)
DELETE_THREAD = Route(
    "http_thread_delete",
    "DELETE",
    _THREAD,
    "Delete a thread with its runs",
    _operation("It is gone, or was never there."),
    (*_PLACE, *_STORES),
)
RUNS = Route(
    "http_thread_runs",
    "GET",
    f"{_THREAD}/runs",
    "List a thread's newest runs",
    _of_thread("The newest first.", bodies.RunList),
    (errors.InvalidFieldError, *_PLACE, *_STORES),
    (LIMIT,),
)
MESSAGES = Route(
    "http_thread_messages",
    "GET",
    f"{_THREAD}/messages",
    "Read a conversation, page by page",
    _of_thread("Entries with their positions.", bodies.Messages),
    (errors.InvalidFieldError, *_WHOLE),
    (LIMIT, BEFORE, AFTER, ORDER),
)
RESET = Route(
    "http_thread_reset",
    "POST",
    f"{_THREAD}/reset",
    "Forget a conversation and keep its thread",
    _operation("It is forgotten."),
    _CONVERSATION,
)
EXPORT = Route(
    "http_thread_export",
    "GET",
    f"{_THREAD}/export",
    "Export everything that is kept about a thread",
    _of_thread("All of it.", bodies.Export),
    (*_WHOLE, errors.AttachmentsUnavailableError),
)
ERASURE = Route(
    "http_thread_erasure",
    "GET",
    f"{_THREAD}/erasure",
    "Read the receipt of a thread's last deletion",
    _of_thread("What was deleted where, without a word of it.", bodies.Erasure),
    (*_PLACE, errors.ThreadDeletingError, errors.LogUnavailableError),
)
STATUS = Route(
    "http_run_status",
    "GET",
    _RUN,
    "Read a run's outcome",
    (
        Answer(200, "It has ended, well or not.", bodies.CompletedRun | bodies.EndedRun, RUN_HEADERS),
        Answer(202, "It has not ended.", bodies.PendingRun, (*RUN_HEADERS, *PENDING_HEADERS)),
    ),
    _ASKED_RUN,
)
CANCEL = Route(
    "http_run_cancel",
    "POST",
    f"{_RUN}/cancel",
    "Have a run stopped",
    (Answer(202, "How it stands now.", bodies.RunState, RUN_HEADERS),),
    _ASKED_RUN,
)
EVENTS = Route(
    "http_run_events",
    "GET",
    f"{_RUN}/events",
    "Follow a run's events, from the first or from where one left off",
    (
        Answer(
            200,
            "An event stream that ends with the run; with `offset` a list, unless `live` asks for a stream of lists.",
            list[bodies.StreamMessage],
            (*RUN_HEADERS, *STREAM_READ_HEADERS),
            or_events=True,
        ),
        Answer(
            204,
            "Nothing is new: the run has ended, which makes a browser stop asking, or none came for `live=long-poll`.",
            None,
            (*RUN_HEADERS, *STREAM_READ_HEADERS),
        ),
        Answer(304, "The reader has these events.", None, (*RUN_HEADERS, STREAM_READ_HEADERS[-1])),
    ),
    (errors.InvalidFieldError, *_ASKED_RUN),
    (EVENTS_AFTER, LAST_EVENT_ID, OFFSET, LIVE, STREAM_CURSOR, IF_NONE_MATCH),
)
EVENTS_TAIL = Route(
    "http_run_events_tail",
    "HEAD",
    f"{_RUN}/events",
    "Tell where a run's events end, by the Durable Streams protocol",
    (Answer(200, "Where they end, and whether for good.", None, (*RUN_HEADERS, *STREAM_PLACE_HEADERS)),),
    _ASKED_RUN,
)

APPROVALS = Route(
    "http_thread_approvals",
    "GET",
    f"{_THREAD}/approvals",
    "List the tool calls that a thread waits for somebody to approve",
    _of_thread("What nobody has answered, in the order of the model.", bodies.ApprovalList),
    (*_CONVERSATION, errors.ThreadDeletedError, errors.ThreadDeletingError, errors.ShuttingDownError),
)
ANSWER_APPROVAL = Route(
    "http_approval_answer",
    "POST",
    f"{_THREAD}/approvals/{{approval_id}}",
    "Approve or refuse a tool call",
    (
        Answer(
            200,
            "The answer is recorded; when it was the last one, the answer of the run that went on.",
            bodies.AnsweredApproval | bodies.CompletedRun,
            (*THREAD_HEADERS, RESUMED_RUN, PREFERENCE),
            or_text=True,
            or_events=True,
        ),
        Answer(
            202,
            "The run that goes on was not waited for, or not for long enough.",
            bodies.PendingRun,
            (*RUN_HEADERS, *PENDING_HEADERS, PREFERENCE),
            or_text=True,
        ),
    ),
    _RESUME,
)

ROUTES = (
    HEALTH,
    READY,
    OPENAPI,
    AGENTS,
    RUN,
    THREADS,
    THREAD,
    DELETE_THREAD,
    RUNS,
    MESSAGES,
    RESET,
    EXPORT,
    ERASURE,
    STATUS,
    EVENTS,
    EVENTS_TAIL,
    CANCEL,
    APPROVALS,
    ANSWER_APPROVAL,
)
