"""The head of a thread: the fold of its events, small, and all that a decision needs.

Theory. `fold(head, event)` is the only way from one head to the next, so the head in a store is always what its events
make, and a copy of it in a process is as good as the store's until the next append. Each kind of event has one
row in `_FOLDS`: that table is what the events mean. What grows with a thread is not here: requests, answers and steps
stand in the events, keys and ended runs in rows next to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import not_
from typing import Any, Literal, TypeVar

from pydantic import Field

from hosting.amounts import Used
from hosting.core.thread import events, thread_events
from hosting.core.thread.open_runs import Claim, Grant, HeadPart, OpenRun, PendingApprovals
from hosting.core.thread.usage import NOTHING, RunUsage, TokenTotals
from hosting.core.thread.versions import VERSION, read_versioned
from hosting.metadata import Value

TITLE_CHARACTERS = 80


class Import(HeadPart):
    """Where the thread's conversation came from, and the position of the event that holds it."""

    source: str
    position: int


class Head(HeadPart):
    """A thread as it stands. `position` is that of its newest event, counted from 1, and so are all other positions.

    `v` is the version of the code that appended last: an older one, which reads the head first, decides nothing then.
    `newest` is the position of the newest `accepted`, `titled` that of the run with the message that is the title, and
    `described` that of the newest `described`; 0 where there is none, or an older version of the code appended it.
    `put` is that of the newest messages that no run made; they may have the title too.
    `name` and `pinned` are from its `metadata`: a title that was given stands in place of the first message.
    `epoch` rises by one when the thread is deleted and when a run begins it again: it is even while the thread lives
    and odd under a tombstone. `usage` is of the runs that have ended; `spent` is what the recorded model calls of the
    first of the open runs used so far, `spent_within` those of agents that are its tools, and `unrecorded` what its
    attempts that failed or were released used besides. `append_id` is of the append that wrote it. `temporary`: the
    thread takes one request, and is to go once that is answered. `has_receivers`: one of its tasks has had a receiver.
    `reset_at` and `rewound_at` are the positions of the last `reset` and the last `rewound`, 0 where there is none.
    """

    v: int = VERSION
    append_id: str = ""
    epoch: int = 0
    position: int = 0
    trimmed: int = 0
    state: Literal["open", "deleting", "deleted"] = "open"
    runs: tuple[OpenRun, ...] = ()
    claim: Claim | None = None
    waiting: PendingApprovals | None = None
    resets: int = 0
    reset_at: int = 0
    usage: TokenTotals = NOTHING
    spent: TokenTotals = NOTHING
    spent_within: TokenTotals = NOTHING
    unrecorded: TokenTotals | None = Field(default=None, exclude_if=not_)
    changed_at: float = 0.0
    title: str = ""
    newest: int = 0
    titled: int = 0
    grants: tuple[Grant, ...] = ()
    imported: Import | None = None
    temporary: bool = False
    described: int = 0
    metadata: dict[str, Value] = Field(default_factory=dict, exclude_if=not_)
    has_receivers: bool = Field(default=False, exclude_if=not_)
    put: int = Field(default=0, exclude_if=not_)
    name: str = Field(default="", exclude_if=not_)
    pinned: bool = Field(default=False, exclude_if=not_)
    rewound_at: int = Field(default=0, exclude_if=not_)

    @property
    def run_usage(self) -> RunUsage:
        """The usage of the first of the open runs so far."""
        return RunUsage(self.spent, self.spent_within, self.unrecorded or NOTHING)

    @property
    def counted(self) -> TokenTotals:
        """The tokens of all runs of the thread, with the recorded ones of an unfinished run."""
        return self.usage.with_all(self.run_usage.recorded.model_dump())

    @property
    def used(self) -> Used:
        """The same as a budget counts it."""
        used = self.usage.used
        for part in self.run_usage:
            used = used.plus(part.used)
        return used

    @property
    def continued(self) -> int:
        """The position at which the conversation was last continued: by a run, or by messages that were put in."""
        return max(self.newest, self.put)

    @property
    def next_run(self) -> OpenRun | None:
        """The run that is next: the first of the open ones."""
        return self.runs[0] if self.runs else None

    @property
    def is_paused(self) -> bool:
        """Whether the thread stands still: the run that is next is paused, and no process holds it."""
        return self.claim is None and bool(self.runs) and self.runs[0].paused > 0

    @property
    def queued(self) -> tuple[OpenRun, ...]:
        """The open runs without a holder."""
        return self.runs if self.claim is None else self.runs[1:]

    @property
    def joining(self) -> tuple[OpenRun, ...]:
        """The queued runs that may join the run at work, in the order in which they were accepted.

        None may join a run that is to end, or one that began before a reset and so leaves nothing.
        """
        if self.claim is None or self.runs[0].cancelled is not None or self.runs[0].first < self.reset_at:
            return ()
        may_join = (run for run in self.runs[1:] if run.steers and run.cancelled is None and not run.paused)
        return tuple(run for run in may_join if not run.barred)

    def run(self, run_id: str) -> OpenRun | None:
        """Return the open run of that id, or None."""
        return next((run for run in self.runs if run.id == run_id), None)

    def is_held_by(self, token: str) -> bool:
        """Return whether the holder of `token` may still append."""
        return self.claim is not None and self.claim.token == token

    def is_waiting_for_approval(self, now: float) -> bool:
        """Return whether the thread takes no message before approvals are decided, or their time has passed."""
        return self.waiting is not None and (self.waiting.expires_at is None or now < self.waiting.expires_at)

    def is_answered(self, now: float) -> bool:
        """Return whether a temporary thread has its last answer: it waits for no result of its caller's tools."""
        waits = self.waiting is not None and self.waiting.of_caller and self.is_waiting_for_approval(now)
        return self.temporary and not self.runs and not waits


NEW = Head()
"""The head of a thread without events."""


def fold(head: Head, following: Iterable[events.Event]) -> Head:
    """Return the head after these events."""
    for event in following:
        head = _FOLDS[type(event)](
            _with(head, v=max(head.v, event.v), position=head.position + 1, changed_at=event.at), event
        )
    return head


def encode(head: Head) -> bytes:
    """Return the head as one JSON object in UTF-8."""
    return head.model_dump_json().encode()


def decode(text: bytes) -> Head:
    """Return the head that `encode` wrote; raises as `events.decode` does."""
    return read_versioned(text, Head.model_validate_json)


def _accepted(head: Head, event: events.Accepted) -> Head:
    """Accept a run: with the decisions on waiting approvals, or if no approval waits."""
    run = OpenRun(
        id=event.run_id,
        first=head.position,
        at=event.at,
        streamed=event.streamed,
        decides=bool(event.request.decisions),
        since=head.waiting.first if event.request.decisions and head.waiting is not None else 0,
        notifies=event.request.notifies,
        steers=event.steers,
    )
    base = _begun(head)
    is_temporary = head.temporary or event.temporary
    changed = _with(base, runs=(*head.runs, run), waiting=None, newest=head.position, temporary=is_temporary)
    return _titled(changed, event.request.message)


def _begun(head: Head) -> Head:
    """Return the head of a thread that lives: another life begins where it was deleted."""
    return _with(head, state="open", epoch=head.epoch + 1) if head.state == "deleted" else head


def _titled(head: Head, message: str) -> Head:
    if head.title:
        return head
    return _with(head, title=message.strip()[:TITLE_CHARACTERS], titled=head.position)


def _messages_put(head: Head, event: thread_events.MessagesPut) -> Head:
    message = next((message.message for message in event.messages if message.role == "user" and message.message), "")
    return _titled(_with(_begun(head), waiting=None, put=head.position), message)


def _claimed(head: Head, event: events.Claimed) -> Head:
    run = head.runs[0]
    claim = Claim(
        run_id=event.run_id,
        attempt=event.attempt,
        token=event.token,
        holder=event.holder,
        lease_seconds=event.lease_seconds,
        deadline=event.deadline,
        process=event.process,
        void_after=event.void_after,
        position=head.position,
    )
    is_taken_over = head.claim is not None and event.failed is None
    changed = _with_run(
        head,
        event.run_id,
        attempts=event.attempt,
        lost=run.lost + is_taken_over,
        fruitless=run.fruitless + is_taken_over,
        worked=event.worked,
        failures=run.failures + (event.failed is not None),
        signalled=run.signalled or event.holder == "entity",
    )
    return _with(_with_usage(changed, event) if event.unrecorded else changed, claim=claim)


def _released(head: Head, event: events.Released) -> Head:
    run = head.runs[0]
    is_signalled, worked = run.signalled or event.signalled, max(run.worked, event.worked)
    changed = _with_run(head, event.run_id, signalled=is_signalled, worked=worked)
    return _with(_with_usage(changed, event) if event.unrecorded else changed, claim=None)


def _with_usage(head: Head, event: events.Event) -> Head:
    own, within, unrecorded = head.run_usage.after(event)
    return _with(head, spent=own, spent_within=within, unrecorded=None if unrecorded == NOTHING else unrecorded)


def _step(head: Head, event: events.Step) -> Head:
    """A holder does nothing that costs before its signal was taken, so each step proves that one was."""
    return head if head.runs[0].signalled else _with_run(head, event.run_id, signalled=True)


def _model_result(head: Head, event: events.ModelResult | events.Checkpointed) -> Head:
    return _with_run(_with_usage(_step(head, event), event), event.run_id, settled=head.position, fruitless=0)


def _ended(head: Head, event: events.Terminal) -> Head:
    """End the first open run: no other run can have a holder."""
    runs = tuple(run for run in head.runs if run.id != event.run_id)
    used = head.usage.with_all(head.run_usage.in_all(event).model_dump())
    return _with(head, runs=runs, claim=None, usage=used, spent=NOTHING, spent_within=NOTHING, unrecorded=None)


def _joined(head: Head, event: events.Joined) -> Head:
    """End a queued run; the thread's newest run is then the newest of the others, whose turn has its message."""
    runs = tuple(run for run in head.runs if run.id != event.run_id)
    return _with(head, runs=runs, newest=max(run.first for run in runs))


def _completed(head: Head, event: events.Completed) -> Head:
    waiting, first = None, head.runs[0].first
    if event.approvals and head.reset_at < first:
        undecided = tuple(approval.id for approval in event.approvals)
        waiting = PendingApprovals(
            run_id=event.run_id, first=first, asked=len(undecided), undecided=undecided, expires_at=event.expires_at
        )
        waiting = _with(waiting, of_caller=all(approval.kind == "client_tool" for approval in event.approvals))
    changed = _with(_ended(head, event), waiting=waiting)
    if not changed.is_waiting_for_approval(event.at):
        return changed
    return _with(changed, runs=tuple(_with(run, barred=True) for run in changed.runs))


def _cancel_requested(head: Head, event: events.CancelRequested) -> Head:
    run = next(run for run in head.runs if run.id == event.run_id)
    changed = _with_run(head, event.run_id, cancelled=run.cancelled or event.reason, paused=0.0)
    is_forgotten = event.reason == "rollback" and run.first == head.titled
    return _with(changed, title="", titled=0) if is_forgotten else changed


def _approval_answered(head: Head, event: events.ApprovalAnswered) -> Head:
    if head.waiting is None:
        return head
    undecided = tuple(waiting for waiting in head.waiting.undecided if waiting != event.decision.id)
    return _with(head, waiting=_with(head.waiting, undecided=undecided))


def _imported(head: Head, event: thread_events.Imported) -> Head:
    base = _begun(head)
    return _with(base, imported=Import(source=event.source, position=head.position), title=event.title)


def _rewound(head: Head, event: thread_events.Rewound) -> Head:
    """A replaced run does not count, whatever it ends with: neither its text nor its approvals."""
    runs = tuple(_with(run, cancelled="rollback") if run.first >= event.first else run for run in head.runs)
    changed = _with(head, runs=runs, rewound_at=head.position)
    return _with(changed, title="", titled=0) if head.titled >= event.first else changed


def _granted(head: Head, event: thread_events.Granted) -> Head:
    grant = Grant(id=event.id, principal=event.principal, access=event.access, at=event.at)
    return _with(head, grants=(*head.grants, grant))


def _described(head: Head, event: thread_events.Described) -> Head:
    title, pin = event.metadata.get("title"), event.metadata.get("pinned")
    name = title.strip()[:TITLE_CHARACTERS] if isinstance(title, str) else ""
    is_pinned = pin is True or pin == "true"
    return _with(head, described=head.position, metadata=event.metadata, name=name, pinned=is_pinned)


def _deleted(head: Head, event: thread_events.Deleted) -> Head:
    position = head.position
    return Head(epoch=head.epoch + 1, position=position, trimmed=position - 1, state="deleted", changed_at=event.at)


_FOLDS: dict[type[Any], Callable[[Head, Any], Head]] = {
    events.Accepted: _accepted,
    events.Attached: lambda head, event: _with_run(head, event.run_id, attached=True),
    events.Claimed: _claimed,
    events.Released: _released,
    events.Delta: _step,
    events.Thought: _step,
    events.ModelResult: _model_result,
    events.Checkpointed: _model_result,
    events.ToolStarted: _step,
    events.ToolResult: lambda head, event: _with_run(_step(head, event), event.run_id, fruitless=0),
    events.Progressed: _step,
    events.Completed: _completed,
    events.Failed: _ended,
    events.TimedOut: _ended,
    events.Cancelled: _ended,
    events.Joined: _joined,
    events.Paused: lambda head, event: _with_run(head, event.run_id, paused=event.at),
    events.Resumed: lambda head, event: _with_run(head, event.run_id, paused=0.0, signalled=False),
    events.CancelRequested: _cancel_requested,
    events.ApprovalAnswered: _approval_answered,
    thread_events.Reset: lambda head, _: _with(
        head, resets=head.resets + 1, reset_at=head.position, waiting=None, title=""
    ),
    thread_events.Rewound: _rewound,
    thread_events.StandingWithdrawn: lambda head, _: head,
    thread_events.Imported: _imported,
    thread_events.MessagesPut: _messages_put,
    thread_events.SessionWritten: lambda head, _: head,
    thread_events.Granted: _granted,
    thread_events.Withdrawn: lambda head, event: _with(
        head, grants=tuple(grant for grant in head.grants if grant.id != event.id)
    ),
    thread_events.Described: _described,
    thread_events.ReceiverSet: lambda head, _: _with(head, has_receivers=True),
    thread_events.Deleting: lambda head, _: _with(
        head, state="deleting", runs=(), claim=None, waiting=None, spent=NOTHING, spent_within=NOTHING, unrecorded=None
    ),
    thread_events.Deleted: _deleted,
    thread_events.InstancesRecorded: lambda head, _: head,
    thread_events.Trimmed: lambda head, event: _with(head, trimmed=event.through),
}

_PartT = TypeVar("_PartT", bound=HeadPart)


def _with(part: _PartT, **changes: Any) -> _PartT:
    return part.model_copy(update=changes)


def _with_run(head: Head, run_id: str, **changes: Any) -> Head:
    return _with(head, runs=tuple(_with(run, **changes) if run.id == run_id else run for run in head.runs))
