"""The JSON bodies of HTTP responses, as types for replies and for the OpenAPI document.

A member that may be missing is `NotRequired`; one that is always there and may be null says so. Clients must take
members that they do not know. The first line of a body describes it in the document. What a run ended in is in
`core.outcome`, for it is not HTTP's alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict, get_type_hints

from hosting.amounts import BudgetState
from hosting.core.outcome import (
    CompletedRun,
    EndedRun,
    JoinedRun,
    OpenStatus,
    Problem,
    RunIds,
    RunStatus,
    ThreadIds,
    Usage,
)
from hosting.http.timeline_steps import StepAuthor
from hosting.metadata import Value
from hosting.progress import Progress
from hosting.workflows import WorkflowGraph


class PendingRun(RunIds):
    """A run in progress; `Location` is its URL.

    Its URL says in `takeover_seconds` when another process continues it at the latest, if its own process is lost.
    `joined` is the run's id again, if the message of the request joined it. A run is `pausing` until the process that
    has it is at its next step, and then `paused`. `progress` is there once the run's code has reported one.
    """

    status: OpenStatus
    response: str
    message: str
    takeover_seconds: NotRequired[float]
    progress: NotRequired[Progress]
    joined: NotRequired[str]
    budget: NotRequired[BudgetState]
    metadata: NotRequired[dict[str, Value]]


class RunState(RunIds):
    """The status of a run after a request to cancel, pause or resume it."""

    status: RunStatus


class ListedRun(TypedDict):
    """One run of a thread. Times are RFC 3339; `code` is set if the run has no answer, `cost` if it has a cost.

    `incomplete` is set, and true, if the answer is incomplete. `joined` is the run that it joined.
    """

    run_id: str
    correlation_id: str
    status: RunStatus
    created_at: str
    ended_at: str | None
    attempts: int
    usage: Usage
    code: NotRequired[str]
    cost: NotRequired[str]
    incomplete: NotRequired[Literal[True]]
    joined: NotRequired[str]
    metadata: NotRequired[dict[str, Value]]


class RunList(TypedDict):
    """A thread's runs, newest first. Where messages were put in, `last_put` is another number after each put."""

    runs: list[ListedRun]
    last_put: NotRequired[int]


class ListedAgent(TypedDict):
    """One agent with its URLs, null if it has none; `example` is a first message.

    `caller_options` are the options of its model that a request may set: the JSON Schema of each, by its name.
    """

    name: str
    description: str
    example: str
    run_url: str | None
    threads_url: str | None
    mcp_tool: str | None
    caller_options: dict[str, dict[str, Any]]


class AgentList(TypedDict):
    """The app's agents; `workflows_url` is null if the app has no workflows.

    `operations_url` is null unless the caller is an administrator, `me_url` unless callers sign in.
    """

    agents: list[ListedAgent]
    workflows_url: str | None
    operations_url: str | None
    me_url: str | None


class ListedWorkflow(ListedAgent):
    """One workflow with its URLs; `input_schema` is the JSON Schema of its `input`."""

    input_schema: dict[str, Any]
    graph: WorkflowGraph


class WorkflowList(TypedDict):
    """The app's workflows."""

    workflows: list[ListedWorkflow]


class ForkedFrom(ThreadIds):
    """The thread that this one was forked from, with the first `entries`; it may be deleted."""

    entries: int


class Thread(ThreadIds):
    """One thread. Times are RFC 3339; `usage` is the sum of all its runs.

    `budget` is the state of the thread's budget or of its owner's day, if its agent has one; `cost` is the sum of
    all its runs; only forks have `forked_from`. `title` is the start of the first message, or a name that was given.
    """

    agent: str
    title: str
    pinned: bool
    metadata: dict[str, Value]
    created_at: str | None
    updated_at: str | None
    message_count: int
    usage: Usage
    size_bytes: int
    limit_bytes: int
    expires_at: str | None
    budget: NotRequired[BudgetState]
    cost: NotRequired[str]
    forked_from: NotRequired[ForkedFrom]


class ShownPut(TypedDict):
    """With which messages an entry was put in, and by whom; null where nobody was signed in."""

    id: str
    by: StepAuthor | None


class ShownEntry(TypedDict):
    """One entry of a conversation, with its messages as stored.

    `incomplete` is set, and true, with a `finish_reason` that means an incomplete answer. Of messages that a person put
    in there is `put`, and no run.
    """

    position: int
    type: str
    run_id: str | None
    created_at: str | None
    messages: NotRequired[list[dict[str, Any]]]
    status: NotRequired[str]
    response_type: NotRequired[str]
    response_schema: NotRequired[dict[str, Any]]
    usage: NotRequired[dict[str, Any]]
    finish_reason: NotRequired[str]
    incomplete: NotRequired[Literal[True]]
    put: NotRequired[ShownPut]


class Messages(ThreadIds):
    """A page of a conversation; `has_more` says whether more entries follow in this direction."""

    entries: list[ShownEntry]
    has_more: bool


class ExportedRun(TypedDict):
    """One run with all its events in the thread's log: of its progress the newest. `paused` if it stands still."""

    accepted: dict[str, Any]
    attempts: int
    steps: list[dict[str, Any]]
    outcome: dict[str, Any] | None
    answers: list[dict[str, Any]]
    progress: NotRequired[dict[str, Any]]
    paused: NotRequired[Literal["pausing", "paused"]]


class ExportedAttachment(TypedDict):
    """A large content of a thread; the stored document refers to it by its hash."""

    sha256: str
    size_bytes: int
    base64: str


class Export(ThreadIds):
    """Everything stored about a thread, and when it was read."""

    agent: str
    exported_at: str
    metadata: dict[str, Value]
    conversation: Any
    attachments: list[ExportedAttachment]
    runs: list[ExportedRun]


class ErasedInstance(TypedDict):
    """A durable instance that held messages of a deleted thread, and whether it was deleted."""

    id: str
    outcome: Literal["pending", "deleted", "running", "missing"]


class ErasedDocument(TypedDict):
    """The stored conversation as it was: its size and the SHA-256 of its UTF-8, in hexadecimal."""

    size_bytes: int
    sha256: str


class Erasure(ThreadIds):
    """The receipt of a thread's last deletion: counts and hashes, no content."""

    agent: str
    deleted_at: str
    reason: Literal["asked", "expired", "assigned"]
    document: ErasedDocument
    runs: int
    archived_entries: int
    attachments: list[str]
    instances: list[ErasedInstance]


class DeletionUnderWay(ThreadIds):
    """A deletion in progress."""

    status: Literal["accepted"]
    operation: Literal["delete"]


class StreamMessage(TypedDict):
    """One event of a run, as in its stream. `id` is null for events that are not stored."""

    id: str | None
    event: str
    data: dict[str, Any]


def with_members(body: Any, members: Mapping[str, Any]) -> Any:
    """Return the type of a body with more members, under the same name and with the same description."""
    make: Any = TypedDict
    extended = make(body.__name__, {**get_type_hints(body, include_extras=True), **members})
    extended.__doc__ = body.__doc__
    return extended


CAMEL_CASE: Mapping[str, str] = {
    "sessionId": "session_id",
    "correlationId": "correlation_id",
    "messageCount": "message_count",
    "errorCode": "code",
}
"""The members that upstream's clients read in another spelling, each beside ours, which stays."""


def in_both_spellings(body: Mapping[str, object]) -> dict[str, object]:
    """Return the answer of a run, or a problem, with the members that upstream's clients read; also its `error`."""
    error = body.get("error")
    inner = {"error": in_both_spellings(error)} if isinstance(error, Mapping) else {}
    return {**body, **inner, **{name: body[own] for name, own in CAMEL_CASE.items() if own in body}}


def _spelled(body: Any, **changed: Any) -> Any:
    """Return the type of what `in_both_spellings` makes of a body of that type."""
    members = get_type_hints(body, include_extras=True)
    return with_members(body, {**changed, **{name: members[own] for name, own in CAMEL_CASE.items() if own in members}})


SENT_PROBLEM = _spelled(Problem)
SENT_COMPLETED = _spelled(CompletedRun)
SENT_JOINED = _spelled(JoinedRun)
SENT_PENDING = _spelled(PendingRun)
SENT_ENDED = _spelled(EndedRun, error=SENT_PROBLEM)
