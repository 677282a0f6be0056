"""The JSON bodies of HTTP responses, as types: replies are built of them, and the OpenAPI document is made from them.

A member that may be missing is `NotRequired`; one that is always there and may be null says so. Clients must take
members that they do not know. The first line of a body describes it in the document. What a run ended in is in
`service.outcome`, for it is not HTTP's alone.
"""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import NotRequired, TypedDict

from hosting.budgets import BudgetState
from hosting.service.outcome import Approval, OpenStatus, RunIds, RunStatus, ThreadIds, Usage
from hosting.workflows import WorkflowGraph


class ApprovalList(ThreadIds):
    """What a thread waits for now."""

    approvals: list[Approval]


class WaitingApproval(Approval, ThreadIds):
    """The same, with its agent and thread; `kind` says whether that is an agent or a workflow."""

    agent: str
    kind: Literal["agent", "workflow"]


class WaitingApprovals(TypedDict):
    """What the caller's threads wait for, with whichever agent; `next_cursor` asks for the next ones."""

    approvals: list[WaitingApproval]
    next_cursor: str | None


class AnsweredApproval(ThreadIds):
    """An answer was recorded; the thread continues when those that are left are answered too."""

    status: Literal["answered"]
    id: str
    approved: bool
    pending_approvals: list[Approval]


class PendingRun(RunIds):
    """A run that has not ended; its end will be at `Location`. `budget` is as in its end."""

    status: OpenStatus
    response: str
    message: str
    budget: NotRequired[BudgetState]


class RunState(RunIds):
    """How a run stands after somebody asked to cancel it."""

    status: RunStatus


class ListedRun(TypedDict):
    """One run of a thread; times are RFC 3339. `code` where it ended without an answer, `cost` where it has any.

    `incomplete` is there, and true, where the answer is no whole one.
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


class RunList(TypedDict):
    """A thread's newest runs, the newest first."""

    runs: list[ListedRun]


class ListedAgent(TypedDict):
    """One agent and its doors; null where it has none. `example` is a message to begin with."""

    name: str
    description: str
    example: str
    run_url: str | None
    threads_url: str | None
    schedules_url: str | None
    memory_url: str | None
    budget_url: str | None
    webhooks_url: str | None
    mcp_tool: str | None


class AgentList(TypedDict):
    """The app's agents. `workflows_url` lists its workflows; null where it has none.

    `operations_url` says what they are at; null for who may not know.
    """

    agents: list[ListedAgent]
    workflows_url: str | None
    operations_url: str | None


class ListedWorkflow(ListedAgent):
    """One workflow and its doors; `input_schema` is the JSON Schema of what it takes as `input`."""

    input_schema: dict[str, Any]
    graph: WorkflowGraph


class WorkflowList(TypedDict):
    """The app's workflows."""

    workflows: list[ListedWorkflow]


class ListedThread(ThreadIds):
    """One thread and the time of its last change (RFC 3339); by change, with its first message's beginning too."""

    updated_at: str
    title: NotRequired[str]
    status: NotRequired[Literal["idle", "running", "waiting"]]


class ThreadPage(TypedDict):
    """A page of threads, in the store's order or by change; `next_cursor` asks for the next one."""

    threads: list[ListedThread]
    next_cursor: str | None


class ForkedFrom(ThreadIds):
    """The thread of which this one has the first `entries`: it was its, and need not be there any more."""

    entries: int


class Fork(ThreadIds):
    """A thread that begins with what another one says."""

    agent: str
    forked_from: ForkedFrom


class Thread(ThreadIds):
    """What one thread is; times are RFC 3339, `usage` is that of all its runs.

    `budget` is how that of the thread stands, or of its owner's day, where its agent has one, and `cost` is of all its
    runs; `forked_from` is of a fork alone.
    """

    agent: str
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


class AgentBudget(TypedDict):
    """How an agent's budget stands: what is left of the caller's day, or what each run or thread may use."""

    agent: str
    budget: BudgetState | None


class ShownEntry(TypedDict):
    """One entry of a conversation; its messages in the form in which they are stored.

    `incomplete` is there, and true, with a `finish_reason` by which an answer is no whole one.
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


class Messages(ThreadIds):
    """A part of a conversation, and whether there is more of it in the direction that was asked for."""

    entries: list[ShownEntry]
    has_more: bool


class ShownTry(TypedDict):
    """One try of a delivery (RFC 3339): the receiver's status, or in a word why there was none."""

    at: str
    status: int | None
    problem: str | None


class ShownDelivery(RunIds):
    """What came of notifying one receiver of one run's end; of the webhook's address only the host.

    `next_try_at`: from then on one that waits is due for its next try, if nobody is at it; null for the others.
    """

    owner: str
    receiver: str
    host: str
    event: str
    state: Literal["waiting", "delivered", "dead"]
    next_try_at: str | None
    tries: list[ShownTry]


class ExportedRun(TypedDict):
    """All that the thread's log holds of one run."""

    accepted: dict[str, Any]
    attempts: int
    steps: list[dict[str, Any]]
    outcome: dict[str, Any] | None
    answers: list[dict[str, Any]]


class ExportedAttachment(TypedDict):
    """A large content of a thread, to which the stored document refers by its hash."""

    sha256: str
    size_bytes: int
    base64: str


class ExportedReceiver(TypedDict):
    """A receiver that a caller named of one of the thread's tasks, without what it knows the sender by."""

    id: str
    url: str


class StoredThread(TypedDict):
    """What is kept about a thread: its metadata, the stored document as it is, what it refers to, its runs, what came
    of their webhooks, and the receivers of its tasks."""

    metadata: dict[str, str]
    conversation: Any
    attachments: list[ExportedAttachment]
    runs: list[ExportedRun]
    webhooks: list[ShownDelivery]
    receivers: list[ExportedReceiver]


class Export(ThreadIds, StoredThread):
    """Everything that is kept about a thread, and when it was read."""

    agent: str
    exported_at: str


class ErasedInstance(TypedDict):
    """A durable instance that carried messages of a deleted thread, and what became of it."""

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
    webhooks: int
    instances: list[ErasedInstance]


class DeletionUnderWay(ThreadIds):
    """A deletion that is not done yet."""

    status: Literal["accepted"]
    operation: Literal["delete"]


class ShownGrant(TypedDict):
    """With whom a thread is shared, and for what; `url` is where they find it, `granted_at` RFC 3339."""

    grant: str
    issuer: str
    id: str
    access: Literal["read", "run"]
    granted_at: str
    url: str


class GrantList(ThreadIds):
    """With whom a thread is shared, the first grant first."""

    grants: list[ShownGrant]


class OrchestrationState(TypedDict):
    """How an orchestration stands. `status` is the engine's word; `output` is there once it has completed."""

    id: str
    status: str
    custom_status: Any
    output: NotRequired[Any]


class StreamMessage(TypedDict):
    """One event of a run, as its stream has it. `id` is null for what is in no log by itself."""

    id: str | None
    event: str
    data: dict[str, Any]


class HealthyAgent(TypedDict):
    """An agent, as `agent-framework-azurefunctions` lists it."""

    name: str
    type: str
    http_endpoint_enabled: bool
    mcp_tool_enabled: bool


class Health(TypedDict):
    """The app runs; its agents are listed where `health_lists_agents` says so."""

    status: Literal["healthy"]
    agents: NotRequired[list[HealthyAgent]]
    agent_count: NotRequired[int]


class Readiness(TypedDict):
    """The app takes runs and can use its log."""

    status: Literal["ready"]
