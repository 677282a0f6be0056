"""What may be asked of a thread, and how it may be answered. `hosting.thread.decide` is between the two.

A command brings all that its decision needs besides the head: the time, the rows that its caller has read, and what the
caller knows by its own clock. Whoever decides again on a newer head reads those rows anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hosting.errors import HostingError
from hosting.principal import Principal
from hosting.request.run_call import Access
from hosting.request.run_request import Decision
from hosting.thread.events import (
    Accepted,
    CancelReason,
    DeleteReason,
    Delta,
    Event,
    Holder,
    InstanceOutcome,
    Step,
    Terminal,
)
from hosting.thread.head import Head
from hosting.thread.rows import ApprovalRow, DeletedRow, KeyRow, RowChange, RunRow


@dataclass(frozen=True)
class ClaimTerms:
    """On which terms somebody would run the agent; `deadline` is in seconds since 1970."""

    token: str
    holder: Holder
    lease_seconds: float
    deadline: float


@dataclass(frozen=True)
class AcceptRun:
    """Begin a run, and claim it too on the `terms`, if there are some and it would be its turn.

    `key` is the row of its idempotency key, `known` that of a run id which the caller did not make itself. `epoch` is
    the thread's when the caller began, for one that may be late: in another life of the thread it begins nothing.
    """

    accepted: Accepted
    queue_limit: int
    terms: ClaimTerms | None = None
    key: KeyRow | DeletedRow | None = None
    known: RunRow | DeletedRow | None = None
    epoch: int | None = None


@dataclass(frozen=True)
class AttachToRun:
    """Promise somebody the outcome of a run that is there."""

    at: float
    run_id: str


@dataclass(frozen=True)
class ClaimRun:
    """Run the agent for the run whose turn it is; if a `run_id` is given, only for that one.

    `idle_append`: the newest append, if the claimer saw none by the claim's holder (`head.Claim.renewals`) for the
    lease plus 5 s by its own clock. The holder is then lost. `since`: the head's position when an entity's
    operation began. An entity's claim that is not newer is taken over at once.
    """

    at: float
    terms: ClaimTerms
    run_id: str | None = None
    idle_append: str | None = None
    since: int = 0


@dataclass(frozen=True)
class RetryRun:
    """Go on with one's own run in another attempt, under a new token, because this one `failed` with that code."""

    at: float
    token: str
    new_token: str
    failed: str


@dataclass(frozen=True)
class RecordSteps:
    """Append what the agent's run came to, or nothing, which renews the lease alone."""

    token: str
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class ReleaseRun:
    """Let go of one's run, for the entity to go on with. `signalled`: the signal for it was taken."""

    at: float
    token: str
    signalled: bool


@dataclass(frozen=True)
class EndRun:
    """End one's run, after its last `words`. `callers` are the runs whose callers this process holds."""

    token: str
    terminal: Terminal
    words: tuple[Delta, ...] = ()
    callers: Mapping[str, ClaimTerms] = field(default_factory=dict)


@dataclass(frozen=True)
class CancelRun:
    """Have a run end without an answer: because somebody asked, or because it waited in the queue for too long."""

    at: float
    run_id: str
    reason: CancelReason = "asked"


@dataclass(frozen=True)
class ExpireRun:
    """End a run whose holder is gone; `idle_append` as in `ClaimRun`, for as long as the claim could last at most.

    Wall clocks of two machines are compared by nobody: how long that is, is told by two times of one of them.
    """

    at: float
    run_id: str
    idle_append: str


@dataclass(frozen=True)
class SignalFailed:
    """Take back what a failed signal leaves without a watchman. `token` is of the claim made with the run, if any.

    `key` is the name of the idempotency key's row, and `fingerprint` what it says.
    """

    at: float
    run_id: str
    token: str | None = None
    key: str | None = None
    fingerprint: str = ""


@dataclass(frozen=True)
class AnswerApproval:
    """Decide on an approval, whose row the caller has read. `resumed` goes on if this is the last decision.

    It brings every decision on what its run had asked for.
    """

    at: float
    decision: Decision
    row: ApprovalRow | DeletedRow | None
    resumed: Accepted
    terms: ClaimTerms | None = None


@dataclass(frozen=True)
class ResetThread:
    """Have the conversation forgotten and the thread kept (reset)."""

    at: float


@dataclass(frozen=True)
class ImportThread:
    """Begin a thread with a conversation from elsewhere, in that epoch; again for as long as nothing came after it."""

    at: float
    text: str
    source: str
    epoch: int


@dataclass(frozen=True)
class ShareThread:
    """Share the thread of that epoch with a principal, by a grant of that id."""

    at: float
    epoch: int
    id: str
    principal: Principal
    access: Access


@dataclass(frozen=True)
class WithdrawGrant:
    """End a grant."""

    at: float
    id: str


@dataclass(frozen=True)
class DeleteThread:
    """Have the thread deleted: somebody asked, its time was up, or it was handed to an owner.

    The last two hold for a thread without open runs that stands at `position` still; after that it went on.
    """

    at: float
    reason: DeleteReason = "asked"
    position: int | None = None


@dataclass(frozen=True)
class FinishDelete:
    """Put the tombstone on a thread that is being deleted, with the receipt of what goes."""

    at: float
    receipt: Mapping[str, Any]


@dataclass(frozen=True)
class RecordInstances:
    """Record after the tombstone of that epoch what became of the instances that its receipt names."""

    at: float
    epoch: int
    instances: tuple[InstanceOutcome, ...]


@dataclass(frozen=True)
class TrimThread:
    """Let the store remove what a committed document holds, through that position."""

    at: float
    through: int


Command = (
    AcceptRun
    | AttachToRun
    | ClaimRun
    | RetryRun
    | RecordSteps
    | ReleaseRun
    | EndRun
    | CancelRun
    | ExpireRun
    | SignalFailed
    | AnswerApproval
    | ResetThread
    | ImportThread
    | ShareThread
    | WithdrawGrant
    | DeleteThread
    | FinishDelete
    | RecordInstances
    | TrimThread
)


@dataclass(frozen=True)
class Change:
    """Append these events and rows; `head` is what the head is then.

    `signal`: whoever promised something by this must have a signal of its own taken by the engine before it answers.
    `run_id` is the run that the command was about.
    """

    head: Head
    events: tuple[Event, ...] = ()
    rows: tuple[RowChange, ...] = ()
    run_id: str = ""
    signal: bool = False


@dataclass(frozen=True)
class Unchanged:
    """It is so already, or nothing is to be done now; `signal` and `run_id` as in `Change`."""

    run_id: str = ""
    signal: bool = False


@dataclass(frozen=True)
class Refused:
    """Nothing is done, for this reason; `signal` as in `Change`, before the refusal is answered."""

    error: HostingError
    signal: bool = False


@dataclass(frozen=True)
class Stale:
    """The token holds the run no more, or what the caller has read is no longer so: what it did is dropped."""


Outcome = Change | Unchanged | Refused | Stale
