"""An append while it is made, and the rules of who is promised the outcome of a run.

Theory. A draft holds an append's events and rows, and the head as it would be after them.

A promise is kept by the thread's entity, which a signal calls. So whoever promises something has a signal of
its own taken first, unless the log proves that one was: a live holder proves nothing, it may die before its signal. A
proof is good for as long as something may come of the signal: an engine that was lost or moved has none of them.
"""

from __future__ import annotations

from hosting.errors import ApprovalsPendingError, HostingError, ThreadDeletingError
from hosting.thread.commands import AttachToRun, Change, ClaimTerms, Outcome, Refused, SignalFailed, Unchanged
from hosting.thread.events import Accepted, Attached, CancelRequested, Claimed, Event, Released, Terminal
from hosting.thread.head import Head, OpenRun, fold
from hosting.thread.rows import MOST_ROWS, KeyRow, RowChange, RunRow, key_name, run_name
from hosting.thread.run import cancellation, unanswered


class Draft:
    """What one append will write. Each method adds to it and returns it."""

    def __init__(self, head: Head) -> None:
        self.head = head
        self._events: list[Event] = []
        self._rows: list[RowChange] = []

    def add(self, *events: Event) -> Draft:
        """Append events."""
        self._events += events
        self.head = fold(self.head, events)
        return self

    def renew(self) -> Draft:
        """Renew the lease: this append is of the claim's holder."""
        self.head = self.head.renewed()
        return self

    def row(self, change: RowChange) -> Draft:
        """Write a row next to them."""
        self._rows.append(change)
        return self

    def accept(self, accepted: Accepted) -> Draft:
        """Begin a run, with its row."""
        self.add(accepted)
        row = RunRow(epoch=self.head.epoch, first=self.head.position)
        return self.row(RowChange(run_name(accepted.run_id), self.head.position, row))

    def claim(self, at: float, terms: ClaimTerms) -> Draft:
        """Have the run whose turn it is claimed on these terms."""
        run = self.head.runs[0]
        return self.add(
            Claimed(
                at=at,
                run_id=run.id,
                attempt=run.attempts + 1,
                token=terms.token,
                holder=terms.holder,
                lease_seconds=terms.lease_seconds,
                deadline=terms.deadline,
                void_after=run.settled,
            )
        )

    def end(self, terminal: Terminal) -> Draft:
        """End the run whose turn it is, and say so in its row."""
        run = self.head.runs[0]
        self.add(terminal)
        row = RunRow(epoch=self.head.epoch, first=run.first, last=self.head.position)
        return self.row(RowChange(run_name(run.id), run.first, row, is_new=False))

    def end_in_turn(self, at: float) -> Draft:
        """End the runs that come first now and may not be claimed, as many of them as one append takes."""
        while self.head.claim is None and (run := self.head.next_run) and (reason := end_without_agent(run)):
            if len(self._rows) == MOST_ROWS:
                break
            self.end(unanswered(run.id, at, reason))
        return self

    def change(self, run_id: str = "", *, signal: bool = False) -> Change:
        """Return the append."""
        return Change(self.head, tuple(self._events), tuple(self._rows), run_id, signal)


def end_without_agent(run: OpenRun) -> HostingError | None:
    """Return why a run whose turn it is ends without its agent, or None when it may be claimed."""
    if run.cancelled is not None:
        return cancellation(run.cancelled)
    if run.barred:
        return pending_approvals()
    return None


def pending_approvals() -> ApprovalsPendingError:
    return ApprovalsPendingError(
        "The thread waits for approvals and takes messages again when all are answered. "
        "GET .../approvals lists them; POST .../approvals/<id> answers one."
    )


SIGNAL_SECONDS = 60.0
"""How long nothing may come of a signal before the caller sends another one.

The times may be of two machines: whatever their clocks say, it is one signal more or one a little later.
"""


def attach(head: Head, command: AttachToRun) -> Outcome:
    """Promise the outcome of a run, with a signal of one's own where the log does not prove that one was taken."""
    run = head.run(command.run_id)
    if run is None:
        return already_ended(head, command.run_id)
    if not needs_signal(head, run, command.at):
        return Unchanged(run.id)
    if run.attached and not run.signalled:
        return Unchanged(command.run_id, signal=True)
    return Draft(head).add(Attached(at=command.at, run_id=run.id)).change(run.id, signal=True)


def needs_signal(head: Head, run: OpenRun, at: float) -> bool:
    """Return whether the log does not prove that a signal for the run was taken, or shows that nothing came of it.

    The thread's run is past its deadline, or none is held, and nothing was appended since.
    """
    since = head.changed_at if head.claim is None else max(head.changed_at, head.claim.deadline)
    return not run.signalled or at > since + SIGNAL_SECONDS


def already_ended(head: Head, run_id: str) -> Unchanged:
    """Answer that a run has ended; a thread that is being deleted needs a signal, so that its deletion ends."""
    return Unchanged(run_id, signal=head.state == "deleting")


def signal_failed(head: Head, command: SignalFailed) -> Outcome:
    """Cancel the run if nobody else was promised anything of it, and free its key; else let go of its claim.

    A run that brings decisions stays: they are made, and whoever repeats the last of them finds it and signals.
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
        released = Released(at=command.at, run_id=run.id, signalled=False)
        return draft.add(released).end_in_turn(command.at).change(run.id)
    if run.cancelled is None:
        draft.add(CancelRequested(at=command.at, run_id=run.id))
    if is_own_claim:
        draft.add(Released(at=command.at, run_id=run.id, signalled=False))
    if command.key is not None:
        row = KeyRow(epoch=head.epoch, run_id=None, fingerprint=command.fingerprint)
        draft.row(RowChange(key_name(command.key), run.first, row, is_new=False))
    return draft.end_in_turn(command.at).change(run.id)


def refuse_while_deleting() -> Refused:
    """Refuse a run; whoever meets this signals, so that the deletion comes to its end."""
    error = ThreadDeletingError("The thread is being deleted and takes no runs until that is done. Try again then.")
    return Refused(error, signal=True)
