"""The commands to a thread, and the four outcomes. `hosting.core.thread.decide` is between the two.

A command brings all that its decision needs besides the head: the time, the rows that its caller has read, and what the
caller knows by its own clock. To decide again on a newer head, the caller reads those rows anew.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from hosting.core.thread.events import Accepted, CancelReason, Event, Holder, Joined, Step, Terminal
from hosting.core.thread.head import Head
from hosting.core.thread.rows import ApprovalRow, DeletedRow, KeyRow, RowChange, RunRow
from hosting.core.thread.run_request import Decision, GrantedAccess, InstanceOutcome
from hosting.core.thread.sources import AssignedSource, ForkSource
from hosting.core.thread.thread_events import DeleteReason, MessagesPut, Rewound
from hosting.core.thread.versions import VERSION
from hosting.errors import HostingError
from hosting.metadata import Metadata, Value
from hosting.names import Busy
from hosting.principal import Principal


class ClaimTerms(Struct, frozen=True):
    """A claim's record of its holder; `deadline` is in seconds since 1970, `process` as in `events.Claimed`.

    The run may take `run_seconds` in all its attempts. Version 12 of a claim is of one that may take several: an older
    code would end it with the first.
    """

    token: str
    holder: Holder
    lease_seconds: float
    deadline: float
    process: str = ""
    run_seconds: float = math.inf
    v: int = VERSION


class Command(Struct, frozen=True):
    """A command for a thread; `hosting.core.thread.decide` has a rule for each kind."""


class Continuation(Struct, frozen=True):
    """The state of the thread that the caller has seen; if it has changed, the run is refused.

    `rewound`: the run goes on from there, and what came after is taken back.
    """

    epoch: int
    newest: int
    reset_at: int
    imported_at: int
    open_runs: tuple[str, ...]
    rewound: Rewound | None = None

    @classmethod
    def of(cls, head: Head, rewound: Rewound | None = None) -> Continuation:
        """Return the seen state of a thread with this head."""
        imported_at = 0 if head.imported is None else head.imported.position
        open_runs = tuple(run.id for run in head.runs)
        return cls(head.epoch, head.continued, head.reset_at, imported_at, open_runs, rewound)

    def fits(self, head: Head) -> bool:
        """Return whether the thread is as it was seen."""
        return Continuation.of(head, self.rewound) == self


class AcceptRun(Command, frozen=True):
    """Accept a run, and claim it with `terms` if it is the next.

    `key` is the row of its idempotency key, `known` that of a run id which another process made. `epoch` is the
    thread's when a caller that may be late began: in another life of the thread nothing is accepted. `follows` is the
    position of the run that must be its newest, `continues` the whole of what its caller has seen. `busy` is what
    becomes of it while another run has not ended.
    """

    accepted: Accepted
    queue_limit: int
    terms: ClaimTerms | None = None
    key: KeyRow | DeletedRow | None = None
    known: RunRow | DeletedRow | None = None
    epoch: int | None = None
    follows: int | None = None
    continues: Continuation | None = None
    busy: Busy = "queue"


class AttachToRun(Command, frozen=True):
    """Answer about a run that exists, and be sure that it will end."""

    at: float
    run_id: str


class ClaimRun(Command, frozen=True):
    """Claim the next run; if a `run_id` is given, only that one.

    `idle_append`: the newest append, if the claimer saw none by the claim's holder (`open_runs.Claim.renewals`) for the
    lease plus 5 s by its own clock, or knows that its process is gone. The holder is then lost. `since`: the head's
    position when an entity's operation began. An entity's claim that is not newer is taken over at once.
    """

    at: float
    terms: ClaimTerms
    run_id: str | None = None
    idle_append: str | None = None
    since: int = 0


class RetryRun(Command, frozen=True):
    """Claim one's own run again as the next attempt, because this one `failed` with that code.

    `worked` is for how many seconds the run was held, by all its holders, and `unrecorded` what its model calls used
    that no event has.
    """

    at: float
    token: str
    new_token: str
    failed: str
    unrecorded: dict[str, int] = field(default_factory=dict)
    worked: int = 0


class RecordSteps(Command, frozen=True):
    """Append steps of the run; without any, renew the lease alone. `worked` as in `RetryRun`."""

    token: str
    steps: tuple[Step, ...] = ()
    worked: int = 0


class JoinRuns(Command, frozen=True):
    """End queued runs, whose messages one's own run takes; those that may not join it any more are left out."""

    token: str
    joined: tuple[Joined, ...]
    worked: int = 0


class ReleaseRun(Command, frozen=True):
    """Give up one's claim, so that the entity continues. `signalled`: its signal was taken.

    `worked` as in `RetryRun`. `unrecorded` is what model calls of this attempt used that no event has.
    """

    at: float
    token: str
    signalled: bool
    unrecorded: dict[str, int] = field(default_factory=dict)
    worked: int = 0


class EndRun(Command, frozen=True):
    """End one's run after its last `deltas`. `callers`: runs with a caller in this process, and their claim terms."""

    token: str
    terminal: Terminal
    deltas: tuple[Step, ...] = ()
    callers: Mapping[str, ClaimTerms] = field(default_factory=dict)


class CancelRun(Command, frozen=True):
    """End a run without an answer: a caller cancelled it, or it was queued for too long."""

    at: float
    run_id: str
    reason: CancelReason = "asked"


class PauseRun(Command, frozen=True):
    """Have the run stop at its next step, and be claimed by nobody until it is resumed."""

    at: float
    run_id: str


class ResumeRun(Command, frozen=True):
    """Have a paused run go on, and be sure that it will end."""

    at: float
    run_id: str


class ExpireRun(Command, frozen=True):
    """End a run with a lost holder; `idle_append` as in `ClaimRun`, for as long as the claim could last.

    Clocks of two machines are never compared: the length of that time is a difference on one of them.
    """

    at: float
    run_id: str
    idle_append: str


class SignalFailed(Command, frozen=True):
    """Withdraw a run after its signal failed. `token` is of the claim made with the run, if any.

    `key` is the idempotency key that this frees, with the `fingerprint` of its request.
    """

    at: float
    run_id: str
    token: str | None = None
    key: str | None = None
    fingerprint: str = ""


class AnswerApproval(Command, frozen=True):
    """Decide on an approval; `row` is the approval's row as the caller has read it.

    `resumed` is the run that continues after the last decision; it brings all decisions. The person who decides is
    `by`, None for a default and without sign-in.
    """

    at: float
    decision: Decision
    row: ApprovalRow | DeletedRow | None
    resumed: Accepted
    terms: ClaimTerms | None = None
    by: Principal | None = None


class WithdrawStanding(Command, frozen=True):
    """Withdraw the standing approval of that id, while no run is under way."""

    at: float
    id: str


class PutMessages(Command, frozen=True):
    """Put messages into the conversation, or begin a thread with them.

    `key` is the idempotency key of the request with that `fingerprint`, `row` its row as the caller has read it.
    `epoch` as in `AcceptRun`.
    """

    put: MessagesPut
    fingerprint: str
    key: str | None = None
    row: KeyRow | DeletedRow | None = None
    epoch: int | None = None


class WriteSession(Command, frozen=True):
    """Give the agent this session, made of that which the thread had at that `position`; None: it has none."""

    at: float
    position: int
    session: dict[str, Any] | None


class ResetThread(Command, frozen=True):
    """Forget the conversation and keep the thread."""

    at: float


class ImportThread(Command, frozen=True):
    """Begin a thread with a conversation from elsewhere, in that epoch; repeatable while nothing came after it."""

    at: float
    text: str
    source: AssignedSource
    epoch: int
    metadata: Metadata = field(default_factory=dict)


class ForkThread(Command, frozen=True):
    """Begin a thread, in that epoch, with a conversation of another one, its title and metadata; again it is found."""

    at: float
    text: str
    source: ForkSource
    title: str
    epoch: int
    metadata: Metadata = field(default_factory=dict)


class ShareThread(Command, frozen=True):
    """Share the thread of that epoch with a principal, by a grant of that id."""

    at: float
    epoch: int
    id: str
    principal: Principal
    access: GrantedAccess


class WithdrawGrant(Command, frozen=True):
    """End a grant."""

    at: float
    id: str


class DescribeThread(Command, frozen=True):
    """Change the metadata of the thread of that epoch; null removes a member, and where it `replaces`, others go too.

    With a position, only that which was `described` there is changed.
    """

    at: float
    epoch: int
    metadata: Mapping[str, Value | None]
    described: int | None = None
    replaces: bool = False


class SetReceiver(Command, frozen=True):
    """Notify receivers of the ends of tasks of that epoch's thread from now on: one task has a receiver."""

    at: float
    epoch: int


class DeleteThread(Command, frozen=True):
    """Delete the thread: a caller requested it, it expired, or it was assigned to an owner.

    With a `position` only while it is there still, and the last two only while it has no open runs.
    """

    at: float
    reason: DeleteReason = "asked"
    position: int | None = None


class FinishDelete(Command, frozen=True):
    """Append the tombstone of a thread that is being deleted, with its receipt."""

    at: float
    receipt: Mapping[str, Any]


class RecordInstances(Command, frozen=True):
    """Record after the tombstone of that epoch the outcome of these instances, which its receipt names.

    With a `position` only while the log ends there: later events may be about them.
    """

    at: float
    epoch: int
    instances: tuple[InstanceOutcome, ...]
    position: int | None = None


class TrimThread(Command, frozen=True):
    """Let the store remove events that a committed document contains, through that position."""

    at: float
    through: int


class Change(Struct, frozen=True):
    """Append these events and rows; `head` is the new head.

    `signal`: the engine must take a signal of the caller's before it answers. `run_id`: the run that the command is
    about.
    """

    head: Head
    events: tuple[Event, ...] = ()
    rows: tuple[RowChange, ...] = ()
    run_id: str = ""
    signal: bool = False


class Unchanged(Struct, frozen=True):
    """Nothing needs to be appended; `signal` and `run_id` as in `Change`."""

    run_id: str = ""
    signal: bool = False


class Refused(Struct, frozen=True):
    """Refused with this error; `signal` as in `Change`, before the refusal is answered."""

    error: HostingError
    signal: bool = False


class Stale(Struct, frozen=True):
    """The token no longer holds the run, or the caller's state is outdated: its work is dropped."""


Outcome = Change | Unchanged | Refused | Stale
