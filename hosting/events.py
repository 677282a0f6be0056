"""What can happen in one run: the lines of its log, oldest first.

Theory. A run is the list of its events and nothing else; whoever looks at a run folds that list (`run_record`). The
first event is `Accepted` and holds the whole request; a claim (`Started`, from the second attempt on `Restarted`)
precedes the agent; exactly one terminal event ends the run, and it holds the exact response entry that the
conversation gets; only the answers to approvals that it asks for may follow. Backends store an event as one JSON object
whose `kind` names the class, so a log of today is readable by every later version: unknown members are kept out of the
way, never an error. Source: turn.md, Records.

Times are seconds since 1970 (UTC, float).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from typing_extensions import Self

from hosting.requests import Decision, PendingApproval, RunRequest
from state.codec import read_entry
from state.models import Entry
from state.summary import Summary


@dataclass(frozen=True)
class Place:
    """A thread of an agent, as run logs are found by. `agent` is in lower case: names are compared without it."""

    agent: str
    thread_id: str

    @classmethod
    def of(cls, agent: str, thread_id: str) -> Place:
        """Return the place of a thread of the agent of that name, in whichever letter case."""
        return cls(agent.lower(), thread_id)


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Accepted(_Record):
    """The run exists. `fingerprint` identifies the request and the thread that it named.

    `traceparent` is the W3C trace context that the run belongs to, None when nobody traces. A `streamed` run's log
    gets what the agent says as it says it.
    """

    kind: Literal["accepted"] = "accepted"
    at: float
    run_id: str
    agent: str
    thread_id: str
    fingerprint: str
    request: RunRequest
    traceparent: str | None = None
    streamed: bool = False

    @property
    def place(self) -> Place:
        """The thread that the run belongs to."""
        return Place.of(self.agent, self.thread_id)


class Signalled(_Record):
    """Somebody who attached to the run sent its signal again."""

    kind: Literal["signalled"] = "signalled"
    at: float


class CancelRequested(_Record):
    """Somebody asked to cancel the run while an attempt held it; that attempt ends it."""

    kind: Literal["cancel_requested"] = "cancel_requested"
    at: float


class Started(_Record):
    """The first claim: one process, known by its fencing `token`, runs the agent until `deadline`."""

    kind: Literal["started"] = "started"
    at: float
    attempt: int
    token: str
    deadline: float


class Restarted(_Record):
    """A later claim, after the one before was lost with its process, or has `failed` with that code and is retried.

    Deltas behind position `void_after` are void: what was said in a model call that had not ended.
    """

    kind: Literal["restarted"] = "restarted"
    at: float
    attempt: int
    token: str
    deadline: float
    void_after: int = 0
    failed: str | None = None


class Delta(_Record):
    """The agent went on speaking. Joined, all deltas that are not void are the answer's text.

    With `void_after`, deltas between that position and this one are void, and `text` takes their place.
    """

    kind: Literal["delta"] = "delta"
    at: float
    text: str
    void_after: int | None = None


class ModelResult(_Record):
    """The model answered and asks for tool calls.

    `number` counts an agent's model calls from 1: those of the agent that runs, or of one that is the tool of the call
    `within`. `digest` is of what it had said before, `response` is in the framework's own form.
    """

    kind: Literal["model_result"] = "model_result"
    at: float
    number: int
    within: str = ""
    digest: str
    response: dict[str, Any]

    @property
    def place(self) -> str:
        """Where in the run it stands; see `place_of`."""
        return place_of(self.within, self.number)


def place_of(within: str, number: int) -> str:
    """Return where in a run a model call stands: `2`, or `1.call-a/2` in an agent that is the tool of call `1.call-a`.

    The key of a tool call is the place of the model call that asked for it, a dot and the call's id.
    """
    return f"{within}/{number}" if within else str(number)


class ToolStarted(_Record):
    """A tool is about to be called. `key` is the call's within the run, `digest` of its arguments."""

    kind: Literal["tool_started"] = "tool_started"
    at: float
    key: str
    name: str
    digest: str


class ToolResult(_Record):
    """The call `key` ended: with `contents` in the framework's own form, a `text`, or an `error` in the tool's own.

    Not `called`: the error is the framework's, which refused the arguments.
    """

    kind: Literal["tool_result"] = "tool_result"
    at: float
    key: str
    contents: list[dict[str, Any]] | None = None
    text: str | None = None
    error: str | None = None
    called: bool = True


class _Ended(_Record):
    """What every terminal record holds: `entry` is the response entry in stored form."""

    at: float
    entry: dict[str, Any]

    @cached_property
    def response(self) -> Entry:
        """The response entry, parsed at the first use; raises `state.errors.MalformedError` for what is none."""
        return read_entry(self.entry)

    def remembering(self, response: Entry) -> Self:
        """Return this record with the parsed form of its `entry`, for whoever made one from the other."""
        self.__dict__["response"] = response
        return self


class Completed(_Ended):
    """The agent answered; `session` is the framework session's state.

    With a `summary` the model is sent that in place of the conversation's beginning, from the next run on.
    Not `kept`: the answer is too large for the conversation, which holds an error in its place. With `approvals` the
    thread waits for the decision on each of them, until `expires_at` (None: for ever).
    """

    kind: Literal["completed"] = "completed"
    session: dict[str, Any] | None = None
    message_count: int
    kept: bool = True
    approvals: tuple[PendingApproval, ...] = ()
    expires_at: float | None = None
    summary: Summary | None = None


class ApprovalAnswered(_Record):
    """Somebody decided on one of the approvals that the run ended with; the only event behind a terminal one.

    `run_id` is the run that goes on, if it brought the decision itself.
    """

    kind: Literal["approval_answered"] = "approval_answered"
    at: float
    decision: Decision
    run_id: str | None = None


class Failed(_Ended):
    """The run ended without an answer. `code` and `detail` are ours (errors.RUN_ERRORS), never a foreign text."""

    kind: Literal["failed"] = "failed"
    code: str
    detail: str


class TimedOut(_Ended):
    """The run passed its time limit."""

    kind: Literal["timed_out"] = "timed_out"
    code: str = "run_timed_out"
    detail: str


class Cancelled(_Ended):
    """Somebody cancelled the run."""

    kind: Literal["cancelled"] = "cancelled"
    code: str = "run_cancelled"
    detail: str


Claim = Started | Restarted
Step = ModelResult | ToolStarted | ToolResult
Ending = Failed | TimedOut | Cancelled
Terminal = Completed | Failed | TimedOut | Cancelled
Event = Annotated[
    Accepted
    | Signalled
    | CancelRequested
    | Started
    | Restarted
    | Delta
    | ModelResult
    | ToolStarted
    | ToolResult
    | Completed
    | Failed
    | TimedOut
    | Cancelled
    | ApprovalAnswered,
    Field(discriminator="kind"),
]
TERMINAL_KINDS = frozenset({"completed", "failed", "timed_out", "cancelled"})

_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


def encode(event: Event) -> bytes:
    """Return the event as one JSON object in UTF-8."""
    return _EVENT.dump_json(event)


def decode(text: bytes | str) -> Event:
    """Return the event that `encode` wrote; raises `pydantic.ValidationError` for anything else."""
    return _EVENT.validate_json(text)
