"""The events of a thread's log, oldest first.

Theory. A thread is the list of its events and nothing else. Decisions are made on the head, which is their fold
(`hosting.core.thread.head`), answers about a run on that of the run's events (`run`), and the stored conversation is a
third fold (`conversation`). Events never change once they are written: `versions` says how later code reads them.
Times are seconds since 1970 (UTC, float) by the clock of the process that appended; they never decide on a holder.
"""

from __future__ import annotations

from functools import cached_property
from operator import not_
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from hosting.amounts import BudgetState
from hosting.core.thread import run_request as parts
from hosting.core.thread.log_event import LogEvent
from hosting.core.thread.thread_events import (
    Deleted,
    Deleting,
    Described,
    Granted,
    Imported,
    InstancesRecorded,
    MessagesPut,
    ReceiverSet,
    Reset,
    Rewound,
    SessionWritten,
    StandingWithdrawn,
    Trimmed,
    Withdrawn,
)
from hosting.core.thread.versions import read_versioned
from hosting.names import model_call_key
from hosting.principal import Principal
from state.codec import read_entry
from state.models import Entry

CancelReason = Literal["asked", "queue_time", "interrupt", "rollback"]
Holder = Literal["caller", "entity"]
"""The holder of a run: the process of its caller, or an operation of the thread's entity."""


class RunEvent(LogEvent):
    """An event of one run."""

    run_id: str


class Accepted(RunEvent):
    """The run exists. `fingerprint` is of the request and the thread that it named; `key` is its idempotency key's row.

    `agent` and `thread_id` are as they were given, `principal` is the caller, None without a sign-in, `grant` the grant
    that let them in where the thread is another's, `traceparent` the W3C trace context, and `wire` what a caller on a
    wire sent besides. The text of a `streamed` run is logged as it comes; a `temporary` thread goes with the answer.
    """

    kind: Literal["accepted"] = "accepted"
    agent: str
    thread_id: str
    request: parts.RunRequest
    fingerprint: str
    key: str | None = None
    principal: Principal | None = None
    grant: str | None = None
    traceparent: str | None = None
    wire: dict[str, Any] | None = None
    streamed: bool = False
    temporary: bool = False
    steers: bool = Field(default=False, exclude_if=not_)  # it may join the run that is at work


class Attached(RunEvent):
    """Another request is about to signal for the run, so a failed signal of the first one does not cancel it."""

    kind: Literal["attached"] = "attached"


class Claimed(RunEvent):
    """One holder, known by its fencing `token`, runs the agent until `deadline`; `attempt` counts from 1.

    It is in `process`. Its lease is renewed by each of its appends. Text after position `void_after` is void: its model
    call had not ended. `failed` is the code of an attempt before that is tried again, and `unrecorded` the usage of its
    model calls that no event has, by the head's names. Processes had the run for `worked` seconds before this claim.
    """

    kind: Literal["claimed"] = "claimed"
    attempt: int
    token: str
    holder: Holder
    lease_seconds: float
    deadline: float
    process: str = Field(default="", exclude_if=not_)
    void_after: int = 0
    failed: str | None = None
    worked: int = Field(default=0, exclude_if=not_)
    unrecorded: dict[str, int] = Field(default_factory=dict, exclude_if=not_)


class Released(RunEvent):
    """The holder released the run for another one. `signalled`: its signal was sent.

    `worked` and `unrecorded` as in `Claimed`, until this moment.
    """

    kind: Literal["released"] = "released"
    signalled: bool
    worked: int = Field(default=0, exclude_if=not_)
    unrecorded: dict[str, int] = Field(default_factory=dict, exclude_if=not_)


class Paused(RunEvent):
    """A person paused the run: no process claims it before it is resumed. `at_work`: a holder is at its step still."""

    v: int = 12
    kind: Literal["paused"] = "paused"
    at_work: bool


class Resumed(RunEvent):
    """A person resumed the run, and it goes on from its recorded steps."""

    v: int = 12
    kind: Literal["resumed"] = "resumed"


class Delta(RunEvent):
    """The agent continued its text: `text` replaces everything after `offset`, in characters of the answer so far."""

    kind: Literal["delta"] = "delta"
    offset: int
    text: str


class Thought(RunEvent):
    """The agent continued its thoughts, which callers may read: as `Delta`, in characters of its thoughts so far."""

    v: int = 11
    kind: Literal["thought"] = "thought"
    offset: int
    text: str


class ModelResult(RunEvent):
    """The model answered with tool calls, or its agent has a budget.

    `number` counts the calls of one agent from 1: of that which runs, or of one that is the tool of call `within`.
    `digest` is of the messages before it, `response` in the framework's form, `cost` in trillionths of a money's unit.
    """

    kind: Literal["model_result"] = "model_result"
    number: int
    within: str = ""
    digest: str
    response: dict[str, Any]
    cost: int = Field(default=0, exclude_if=not_)

    @property
    def key(self) -> str:
        """The model call's key in the run; see `model_call_key`."""
        return model_call_key(self.within, self.number)


class ToolStarted(RunEvent):
    """A tool is about to be called, in each attempt that does. `key` is the call's, `digest` of its arguments."""

    kind: Literal["tool_started"] = "tool_started"
    key: str
    name: str
    digest: str
    arguments: str = Field(default="", exclude_if=not_)  # their JSON text, if no recorded answer of the run has them


class ToolResult(RunEvent):
    """The call `key` ended: with `contents` in the framework's own form, a `text`, or an `error` in the tool's own.

    `raised` is that error's class. Not `called`: the framework refused the arguments. `interrupted`: the process ended
    while the tool ran; what came of it is unknown, and it is not called again. `session` is what the call changed in
    the session's state, by provider.
    """

    kind: Literal["tool_result"] = "tool_result"
    key: str
    contents: list[dict[str, Any]] | None = None
    text: str | None = None
    error: str | None = None
    raised: str = Field(default="", exclude_if=not_)
    called: bool = True
    interrupted: bool = False
    session: dict[str, Any] | None = Field(default=None, exclude_if=lambda session: session is None)


class Checkpointed(RunEvent):
    """A workflow's superstep ended, and a later attempt begins behind it.

    `checkpoint` is the framework's, as JSON text, of its version `framework` and the graph of that digest. `updates`
    and `values` are what the executors yielded since the checkpoint before, `calls` what each did in the superstep.
    """

    v: int = 3
    kind: Literal["checkpointed"] = "checkpointed"
    superstep: int
    framework: str
    graph: str
    checkpoint: str
    updates: list[dict[str, Any]]
    values: list[Any]
    calls: tuple[parts.ExecutorCall, ...] = ()


class Progressed(RunEvent):
    """The run's own code says how far it is: the newest `share`, from 0 to 1, and a `text`. The model gets neither."""

    v: int = 12
    kind: Literal["progressed"] = "progressed"
    share: float
    text: str


class CancelRequested(RunEvent):
    """The run is to end: its holder ends it, or it ends in its turn without another claim.

    A caller cancelled it, or it waited in the queue for longer than it may. Or a later request takes its place (an
    event of version 4): after an `interrupt` the conversation keeps its text, after a `rollback` nothing of it.
    """

    kind: Literal["cancel_requested"] = "cancel_requested"
    reason: CancelReason = "asked"


class Ending(RunEvent):
    """The end of a run: `entry` is the exact response entry, in stored form.

    `usage` is what all its attempts used, by the entry's names, where the entry counts less. With prices: what its
    model calls cost together, and which model answered last. `notifies`: a webhook, or receivers of a task, get it.
    """

    entry: dict[str, Any]
    usage: dict[str, int] = Field(default_factory=dict, exclude_if=not_)
    cost: int = Field(default=0, exclude_if=not_)
    model: str = Field(default="", exclude_if=not_)
    notifies: bool = Field(default=False, exclude_if=not_)

    @cached_property
    def response(self) -> Entry:
        """The response entry, parsed at the first use; raises `state.errors.MalformedError` for an invalid one."""
        return read_entry(self.entry)


class Completed(Ending):
    """The agent answered; `session` is the framework session's state.

    Not `kept`: the answer is too large for the conversation, which holds an error instead. With `approvals` the
    thread waits for the decision on each of them, until `expires_at` (None: for ever).
    """

    kind: Literal["completed"] = "completed"
    session: dict[str, Any] | None = None
    message_count: int
    kept: bool = True
    approvals: tuple[parts.PendingApproval, ...] = ()
    expires_at: float | None = None


class Unanswered(Ending):
    """The run ended without an answer. `code` and `detail` are ours (errors.RUN_ERRORS); `budget` is one used up."""

    code: str
    detail: str
    budget: BudgetState | None = None
    under_way: parts.Superstep | None = None  # what the executors of a workflow were at


class Failed(Unanswered):
    """The agent, a tool or a process failed."""

    kind: Literal["failed"] = "failed"


class TimedOut(Unanswered):
    """The run passed its time limit."""

    kind: Literal["timed_out"] = "timed_out"


class Cancelled(Unanswered):
    """A caller cancelled the run."""

    kind: Literal["cancelled"] = "cancelled"


class Joined(Unanswered):
    """The run's `messages` joined the run `into`, whose holder appends this before it shows them at call `number`."""

    v: int = 10
    kind: Literal["joined"] = "joined"
    into: str
    number: int
    messages: tuple[parts.UserMessage, ...]


class ApprovalAnswered(RunEvent):
    """A person decided on an approval that the run ended with: `principal`, None without sign-in."""

    kind: Literal["approval_answered"] = "approval_answered"
    decision: parts.Decision
    principal: Principal | None = None


Step = Delta | Thought | ModelResult | ToolStarted | ToolResult | Checkpointed | Progressed
"""The events that a holder appends while the agent runs."""

NoAnswer = Failed | TimedOut | Cancelled | Joined
Terminal = Completed | NoAnswer
OfRun = Accepted | Attached | Claimed | Released | Paused | Resumed | CancelRequested | ApprovalAnswered
OfConversation = Reset | Rewound | StandingWithdrawn | Imported | MessagesPut | SessionWritten
OfThread = (
    OfConversation | Granted | Withdrawn | Described | ReceiverSet | Deleting | Deleted | InstancesRecorded | Trimmed
)
Event = OfRun | Step | Terminal | OfThread
TERMINALS = (Completed, Failed, TimedOut, Cancelled, Joined)
WITH_SESSION = (ToolResult, Completed, Rewound, SessionWritten)
_EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="kind")])
_READABLE_LEVELS = 190  # so many every reader of JSON follows; pydantic's writer goes deeper than its reader


def encode(event: Event) -> bytes:
    """Return the event as JSON in UTF-8; raises `ValueError` for one that cannot be read again: nested too deep."""
    return event.derived(_encoded)


def _encoded(event: Event) -> bytes:
    text = _EVENT.dump_json(event)
    if text.count(b"{") + text.count(b"[") > _READABLE_LEVELS:
        decode(text)  # nested that deep is only what has so many brackets
    return text


def decode(text: bytes) -> Event:
    """Return the event that `encode` wrote; raises `NewerVersionError`, and `pydantic.ValidationError` otherwise."""
    return read_versioned(text, _EVENT.validate_json)
