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
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from hosting.requests import Decision, RunRequest
from hosting.thread.events import (
    Cancelled,
    Completed,
    Failed,
    ModelResult,
    TimedOut,
    ToolResult,
    ToolStarted,
)


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


class ApprovalAnswered(_Record):
    """Somebody decided on one of the approvals that the run ended with; the only event behind a terminal one.

    `run_id` is the run that goes on, if it brought the decision itself.
    """

    kind: Literal["approval_answered"] = "approval_answered"
    at: float
    decision: Decision
    run_id: str | None = None


Claim = Started | Restarted
Step = ModelResult | ToolStarted | ToolResult
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
