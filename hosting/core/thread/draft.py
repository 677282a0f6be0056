"""An append while it is made, and when an answer about a run needs a signal first.

Theory. A draft holds an append's events and rows, and the head as it would be after them.

Before we answer about a run, the engine must hold a signal for its entity; else no process finishes the run if this one
dies. A live claim is no proof: its holder may die before it signals. A proof holds as long as the signal may still have
an effect: an engine that was lost or moved has none of them.
"""

from __future__ import annotations

from typing import Any

from hosting.core.thread.commands import AttachToRun, Change, ClaimTerms, Outcome, Refused, SignalFailed, Unchanged
from hosting.core.thread.events import (
    Accepted,
    ApprovalAnswered,
    Attached,
    CancelRequested,
    Claimed,
    Completed,
    Event,
    Joined,
    Released,
    Terminal,
)
from hosting.core.thread.head import Head, fold
from hosting.core.thread.open_runs import OpenRun, PendingApprovals
from hosting.core.thread.rows import ApprovalRow, KeyRow, RowChange, RunRow
from hosting.core.thread.run import cancellation, unanswered
from hosting.core.thread.run_request import Decision
from hosting.core.thread.thread_events import Described, Rewound
from hosting.core.thread.usage import UNUSED, counted_in_all
from hosting.errors import ApprovalsPendingError, HostingError, IdempotencyKeyReusedError, ThreadDeletingError
from hosting.names import Busy
from hosting.ports import MOST_ROWS
from hosting.principal import Principal

ROWS_OF_A_RUN = 2
"""The most that `Draft.accept` writes."""


class Draft:
    """The content of one append. Each method adds to it and returns it."""

    def __init__(self, head: Head) -> None:
        self.head = head
        self._events: list[Event] = []
        self._rows: list[RowChange] = []

    def add(self, *events: Event) -> Draft:
        """Append events."""
        versioned = [_versioned(event) for event in events]
        self._events += versioned
        self.head = fold(self.head, versioned)
        return self

    def renew(self, worked: int) -> Draft:
        """Renew the claim's lease: this append is of its holder, when processes had the run for `worked` seconds."""
        if (claim := self.head.claim) is not None:
            renewed: dict[str, Any] = {"claim": claim.model_copy(update={"renewals": claim.renewals + 1})}
            run, *queued = self.head.runs
            if worked > run.worked:
                renewed["runs"] = (run.model_copy(update={"worked": worked}), *queued)
            self.head = self.head.model_copy(update=renewed)
        return self

    def row(self, change: RowChange) -> Draft:
        """Write a row next to them."""
        self._rows.append(change)
        return self

    def accept(self, accepted: Accepted, terms: ClaimTerms | None, *, is_new_key: bool = True) -> Draft:
        """Begin a run, with its row and that of its key, and claim it with `terms` if it is the only one."""
        self.add(accepted)
        epoch, position = self.head.epoch, self.head.position
        self.row(RowChange(RunRow.name_of(accepted.run_id), position, RunRow(epoch=epoch, first=position)))
        if accepted.key is not None:
            row = KeyRow(epoch=epoch, run_id=accepted.run_id, fingerprint=accepted.fingerprint)
            self.row(RowChange(KeyRow.name_of(accepted.key), position, row, is_new_key))
        if terms is not None and len(self.head.runs) == 1:
            self.claim(accepted.at, terms)
        return self

    def answer(
        self, waiting: PendingApprovals, decision: Decision, moment: float, by: Principal | None, resumed_by: str | None
    ) -> Draft:
        """Record a decision on an approval that the thread waits for; `resumed_by` is the run that continues."""
        self.add(ApprovalAnswered(at=moment, run_id=waiting.run_id, decision=decision, principal=by))
        decided = decision.receipt()
        row = ApprovalRow(epoch=self.head.epoch, asked_by=waiting.run_id, decision=decided, resumed_by=resumed_by)
        return self.row(RowChange(ApprovalRow.name_of(decision.id), waiting.first, row, is_new=False))

    def claim(self, moment: float, terms: ClaimTerms, **before: Any) -> Draft:
        """Claim the next run with these terms; the members of `before` are about its attempt before."""
        run = self.head.runs[0]
        return self.add(
            Claimed(
                v=terms.v,
                at=moment,
                run_id=run.id,
                attempt=run.attempts + 1,
                token=terms.token,
                holder=terms.holder,
                lease_seconds=terms.lease_seconds,
                deadline=min(terms.deadline, moment + max(0.0, terms.run_seconds - run.worked)),
                process=terms.process,
                void_after=run.settled,
                **{"worked": run.worked, **before},
            )
        )

    def end(self, terminal: Terminal) -> Draft:
        """End the next run, and note that in its row; the end has the webhook and the usage of all runs."""
        usage = self.head.run_usage
        if usage != UNUSED:
            terminal = counted_in_all(terminal, usage)
        return self._end(self.head.runs[0], terminal)

    def join(self, joined: Joined) -> Draft:
        """End a queued run, whose message the run at work takes."""
        run = self.head.run(joined.run_id)
        assert run is not None
        return self._end(run, joined)

    def _end(self, run: OpenRun, terminal: Terminal) -> Draft:
        if run.notifies == "address" or (run.notifies and self.head.has_receivers):
            terminal = terminal.model_copy(update={"notifies": True})
        self.add(terminal)
        row = RunRow(epoch=self.head.epoch, first=run.first, last=self.head.position)
        return self.row(RowChange(RunRow.name_of(run.id), run.first, row, is_new=False))

    def take_over(self, busy: Busy, moment: float) -> Draft:
        """Ask all runs that have not ended to end, if this policy has the next run take their place."""
        if busy in ("interrupt", "rollback"):
            open_runs = [run for run in self.head.runs if run.cancelled is None]
            self.add(*(CancelRequested(v=4, at=moment, run_id=run.id, reason=busy) for run in open_runs))
            self.end_in_turn(moment, spared=ROWS_OF_A_RUN)
        return self

    def rewind(self, rewound: Rewound) -> Draft:
        """Take back all runs from one on; those that have not ended are asked to end."""
        taken_back = [run for run in self.head.runs if run.first >= rewound.first and run.cancelled is None]
        requests = (CancelRequested(v=4, at=rewound.at, run_id=run.id, reason="rollback") for run in taken_back)
        self.add(*requests, rewound)
        return self.end_in_turn(rewound.at, spared=ROWS_OF_A_RUN)

    def end_in_turn(self, moment: float, *, spared: int = 0) -> Draft:
        """End the first runs that may not be claimed, as many as fit into one append but for so many rows."""
        while self.head.claim is None and (run := self.head.next_run) and (reason := end_without_agent(run)):
            if len(self._rows) == MOST_ROWS - spared:
                break
            self.end(unanswered(run.id, moment, reason))
        return self

    def change(self, run_id: str = "", *, signal: bool = False) -> Change:
        """Return the append."""
        return Change(self.head, tuple(self._events), tuple(self._rows), run_id, signal)


def _versioned(event: Event) -> Event:
    """Return the event in the version that fits its content.

    An older code would take a result or an answer for an approval, run an agent without the caller's tools, options or
    context, end a run without its webhook, and read no metadata but texts.
    """
    match event:
        case Accepted(request=request):
            if request.context or request.thread_metadata:
                return event.model_copy(update={"v": 12})
            is_newer = bool(request.client_tools or request.options) or not all(
                decision.is_plain for decision in request.decisions
            )
        case Completed():
            is_newer = any(approval.kind != "approve" for approval in event.approvals)
        case Described() if not all(isinstance(value, str) for value in event.metadata.values()):
            return event.model_copy(update={"v": 12})
        case ApprovalAnswered():
            is_newer = not event.decision.is_plain
        case _:
            is_newer = False
    if not is_newer and isinstance(event, Accepted) and event.request.notifies == "address":
        return event.model_copy(update={"v": 7})
    return event.model_copy(update={"v": 10}) if is_newer else event


def end_without_agent(run: OpenRun) -> HostingError | None:
    """Return why the next run ends without its agent, or None if it may be claimed.

    An interrupted run is claimed again if it was ever claimed: the log has its text, and the head has not.
    """
    if run.cancelled == "interrupt" and run.attempts:
        return None
    if run.cancelled is not None:
        return cancellation(run.cancelled)
    if run.barred:
        return approvals_pending_error()
    return None


def approvals_pending_error() -> ApprovalsPendingError:
    return ApprovalsPendingError(
        "The thread waits for approvals. Answer all of them first. GET .../approvals lists them; POST "
        ".../approvals/<id> answers one."
    )


SIGNAL_SECONDS = 60.0
"""How long nothing may come of a signal before the caller sends another one.

The times may be of two machines: however their clocks differ, it is one signal more or one a little later.
"""


def attach(head: Head, command: AttachToRun) -> Outcome:
    """Answer about a run, with a signal first if the log does not prove that one was taken."""
    run = head.run(command.run_id)
    if run is None:
        return already_ended(head, command.run_id)
    if not needs_signal(head, run, command.at):
        return Unchanged(run.id)
    if run.attached and not run.signalled:
        return Unchanged(command.run_id, signal=True)
    return Draft(head).add(Attached(at=command.at, run_id=run.id)).change(run.id, signal=True)


def needs_signal(head: Head, run: OpenRun, now: float) -> bool:
    """Return whether the log proves no signal for the run, or its signal had no effect.

    It had none if the claimed run is past its deadline, or none is claimed, and nothing was appended since. A thread
    that stands still needs none: whatever ends the pause signals.
    """
    if head.is_paused:
        return False
    since = head.changed_at if head.claim is None else max(head.changed_at, head.claim.deadline)
    return not run.signalled or now > since + SIGNAL_SECONDS


def already_ended(head: Head, run_id: str) -> Unchanged:
    """Return that the run has ended; a thread that is being deleted needs a signal, so that its deletion ends."""
    return Unchanged(run_id, signal=head.state == "deleting")


def signal_failed(head: Head, command: SignalFailed) -> Outcome:
    """Cancel the run and free its key if no other caller was answered about it; else release its claim.

    A run that brings decisions stays: they are made, and a caller that repeats the last one finds it and signals.
    """
    run = head.run(command.run_id)
    if run is None:
        return Unchanged(command.run_id)
    is_own_claim = head.claim is not None and head.claim.token == command.token
    is_untouched = run.attempts == 0 or (run.attempts == 1 and is_own_claim)
    draft = Draft(head)
    if run.decides or run.attached or run.signalled or not is_untouched:
        if not is_own_claim:
            return Unchanged(run.id)
        released = Released(at=command.at, run_id=run.id, signalled=False, worked=run.worked)
        return draft.add(released).end_in_turn(command.at).change(run.id)
    if run.cancelled is None:
        draft.add(CancelRequested(at=command.at, run_id=run.id))
    if is_own_claim:
        draft.add(Released(at=command.at, run_id=run.id, signalled=False))
    if command.key is not None:
        row = KeyRow(epoch=head.epoch, run_id=None, fingerprint=command.fingerprint)
        draft.row(RowChange(KeyRow.name_of(command.key), run.first, row, is_new=False))
    return draft.end_in_turn(command.at).change(run.id)


def refuse_while_deleting() -> Refused:
    """Refuse, with a signal, so that the deletion comes to its end."""
    error = ThreadDeletingError("The thread is being deleted. Try again when that is done.")
    return Refused(error, signal=True)


def refuse_reused_key() -> Refused:
    """Refuse a request under the key of another one."""
    sentence = "This Idempotency-Key was used for another request. Use a new key for a new request."
    return Refused(IdempotencyKeyReusedError(sentence))
