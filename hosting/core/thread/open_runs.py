"""The parts of a thread's head: unfinished runs, the holder of the first, their approvals, and grants."""

from __future__ import annotations

from operator import not_

from pydantic import BaseModel, ConfigDict, Field

from hosting.core.thread import events
from hosting.core.thread.run_request import GrantedAccess, Notified
from hosting.principal import Principal


class HeadPart(BaseModel):
    """A part of a head: immutable, and it keeps unknown fields of newer versions.

    So a new member of a run belongs into the run's part, which goes with the run. A deleted thread keeps nothing.
    """

    model_config = ConfigDict(frozen=True, extra="allow")


class OpenRun(HeadPart):
    """A run that has not ended. `first` is the position of its `accepted`, `settled` of its newest model result.

    `decides`: it brings decisions on approvals. `signalled`: the log proves that a signal was taken. `barred`: it was
    queued when an earlier run began to wait for approvals; it ends as `approvals_pending` without its agent. `lost`
    counts the claims that were taken over because their holder was lost, `fruitless` those of them since the newest
    result of a model or a tool, `failures` the attempts after a failure. Processes have had it for `worked`
    seconds. `paused`: since when it is paused, by the clock of the process that paused it; 0 if it is not. `since`
    is the first position of the run that it decides approvals of: a workflow continues from the state of that run;
    0 for any other. `notifies`: the receiver of its end: the address that its request names, or the receivers of
    its task, if any. `steers`: it may join the run that is at work. What few runs have stands in no head that has
    none: 200 of them must fit into one.
    """

    id: str
    first: int
    at: float
    streamed: bool = False
    decides: bool = False
    attached: bool = False
    signalled: bool = False
    cancelled: events.CancelReason | None = None
    paused: float = Field(default=0.0, exclude_if=not_)
    barred: bool = False
    attempts: int = 0
    lost: int = 0
    fruitless: int = Field(default=0, exclude_if=not_)
    worked: int = Field(default=0, exclude_if=not_)
    failures: int = Field(default=0, exclude_if=not_)
    settled: int = 0
    since: int = Field(default=0, exclude_if=not_)
    notifies: Notified = Field(default="", exclude_if=not_)
    steers: bool = Field(default=False, exclude_if=not_)


class Claim(HeadPart):
    """The holder of the first open run. `position` is that of its `claimed`, `process` as there.

    `renewals` counts its holder's appends. An append of another process leaves that number: it is no sign that the
    holder lives. As the `append_id` it is of appends and not of events: an append that renews a lease alone has none.
    """

    run_id: str
    attempt: int
    token: str
    holder: events.Holder
    lease_seconds: float
    deadline: float
    void_after: int
    position: int
    process: str = Field(default="", exclude_if=not_)
    renewals: int = 0


class PendingApprovals(HeadPart):
    """The approvals that the thread waits for: the undecided ones of a run.

    `first` is the position of that run's `accepted`. `of_caller`: all of them are calls that the caller makes.
    """

    run_id: str
    first: int
    asked: int
    undecided: tuple[str, ...]
    expires_at: float | None
    of_caller: bool = Field(default=False, exclude_if=not_)


class Grant(HeadPart):
    """The owner shares the thread with a person since `at`, with that access. The principal has no roles here."""

    id: str
    principal: Principal
    access: GrantedAccess
    at: float
