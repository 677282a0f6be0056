"""What is done when somebody asks something of a thread: one rule for each command, decided on the head alone.

Theory. `decide(head, command)` has no side effect and asks nobody, so it is the same in every process and over every
store. A caller appends what comes of it to the very head that was decided on; where another append came first it
decides again on the new head. Three things always hold: one run at a time is claimed, the first of the open ones; ends
stand in the order in which runs were accepted; and after a claim was taken over or released, its token appends nothing.

A run that is not claimed and may not be, because it was cancelled or because the thread waits for approvals, gets its
end in its turn: with whatever append makes it the first (`Draft.end_in_turn`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hosting.errors import (
    HostingError,
    IdempotencyKeyReusedError,
    RunCrashedError,
    RunLostError,
    ThreadDeletedError,
    TooManyRunsError,
    UnstorableAnswerError,
)
from hosting.thread.answers import answer, are_awaited, bring_decisions, void_decisions
from hosting.thread.commands import (
    Accept,
    Answer,
    Attach,
    Bury,
    Cancel,
    Claim,
    Command,
    Delete,
    End,
    Forget,
    GiveUp,
    Outcome,
    Record,
    Refused,
    Release,
    Retry,
    SignalFailed,
    Stale,
    Trim,
    Unchanged,
)
from hosting.thread.draft import Draft, never_claimed, pending_approvals
from hosting.thread.endings import unanswered
from hosting.thread.events import (
    CancelRequested,
    Claimed,
    Completed,
    Deleted,
    Deleting,
    Released,
    Reset,
    Trimmed,
)
from hosting.thread.head import Head
from hosting.thread.promises import attach, being_deleted, not_open, signal_failed
from hosting.thread.rows import (
    ApprovalRow,
    GoneRow,
    KeyRow,
    RowChange,
    approval_name,
    key_name,
)

MOST_LOST = 3
MOST_OPEN_RUNS = 200
MOST_APPROVALS = 40
"""How many processes may be lost to a run; how many runs a head holds, and how many approvals one append can."""


def decide(head: Head, command: Command) -> Outcome:
    """Return what is to be appended to this head, or why nothing is. Raises nothing."""
    outcome: Outcome = _RULES[type(command)](head, command)
    return outcome


def _accept(head: Head, command: Accept) -> Outcome:
    accepted = command.accepted
    is_late = command.epoch is not None and command.epoch != head.epoch
    if is_late or isinstance(command.key, GoneRow) or isinstance(command.known, GoneRow):
        return Refused(ThreadDeletedError("The run was deleted with its thread."))
    if command.key is not None and command.key.run_id is not None:
        if command.key.fingerprint != accepted.fingerprint:
            return Refused(
                IdempotencyKeyReusedError(
                    "This Idempotency-Key was used for another request. Use a new key for a new request."
                )
            )
        return attach(head, Attach(accepted.at, command.key.run_id))
    if command.known is not None:
        return attach(head, Attach(accepted.at, accepted.run_id))
    refusal = _refusal(head, command)
    if refusal is not None:
        return refusal
    draft = Draft(head)
    if accepted.request.decisions:
        bring_decisions(draft, accepted)
    draft.accept(accepted)
    if accepted.key is not None:
        row = KeyRow(epoch=draft.head.epoch, run_id=accepted.run_id, fingerprint=accepted.fingerprint)
        draft.row(RowChange(key_name(accepted.key), draft.head.position, row, is_new=command.key is None))
    if command.terms is not None and len(draft.head.runs) == 1:
        draft.claim(accepted.at, command.terms)
    return draft.change(accepted.run_id, signal=True)


def _refusal(head: Head, command: Accept) -> Refused | None:
    """Return why a new run is not accepted now, or None."""
    accepted, open_runs = command.accepted, len(head.runs)
    if head.state == "deleting":
        return being_deleted()
    if accepted.request.decisions:
        return None if are_awaited(head, accepted) else Refused(void_decisions())
    if head.waits_for_approval(accepted.at):
        return Refused(pending_approvals())
    if open_runs >= min(command.queue_limit, MOST_OPEN_RUNS):
        return Refused(
            TooManyRunsError(f"{open_runs} runs of this thread have not ended. Try again when one of them has.")
        )
    return None


def _claim(head: Head, command: Claim) -> Outcome:
    run = head.turn
    if run is None or (command.run_id is not None and command.run_id != run.id):
        return Unchanged(run.id if run else "")
    is_taken_over = _is_gone(head, command)
    if head.claim is not None and not is_taken_over:
        return Unchanged(run.id)
    ending = never_claimed(run)
    if ending is None and is_taken_over and run.lost + 1 >= MOST_LOST:
        ending = RunCrashedError(f"The run ended its process {run.lost + 1} times and is not tried again.")
    if ending is None:
        return Draft(head).claim(command.at, command.terms).change(run.id)
    return _end_unanswered(head, command.at, ending)


def _end_unanswered(head: Head, at: float, error: HostingError) -> Outcome:
    """End the run whose turn it is for the reason of `error`, and those behind it that may not be claimed."""
    run = head.runs[0]
    return Draft(head).end(unanswered(run.id, at, error)).end_in_turn(at).change(run.id)


def _is_gone(head: Head, command: Claim) -> bool:
    """Tell whether the holder of the claim is known to be gone."""
    if head.claim is None:
        return False
    stood = head.claim.holder == "entity" and head.claim.position <= command.began
    return stood or (command.silent is not None and command.silent == head.append_id)


def _retry(head: Head, command: Retry) -> Outcome:
    claim = head.claim
    if claim is None or not head.is_held_by(command.token):
        return Stale()
    ending = never_claimed(head.runs[0])
    if ending is not None:
        return _end_unanswered(head, command.at, ending)
    claimed = Claimed(
        at=command.at,
        run_id=claim.run_id,
        attempt=claim.attempt + 1,
        token=command.new_token,
        holder=claim.holder,
        lease_seconds=claim.lease_seconds,
        deadline=claim.deadline,
        void_after=head.runs[0].settled,
        failed=command.failed,
    )
    return Draft(head).add(claimed).change(claim.run_id)


def _record(head: Head, command: Record) -> Outcome:
    if head.claim is None or not head.is_held_by(command.token):
        return Stale()
    return Draft(head).add(*command.steps).change(head.claim.run_id)


def _release(head: Head, command: Release) -> Outcome:
    if head.claim is None or not head.is_held_by(command.token):
        return Stale()
    released = Released(at=command.at, run_id=head.claim.run_id, signalled=command.signalled)
    return Draft(head).add(released).end_in_turn(command.at).change(released.run_id)


def _end(head: Head, command: End) -> Outcome:
    terminal = command.terminal
    if not head.is_held_by(command.token):
        return Stale()
    approvals = terminal.approvals if isinstance(terminal, Completed) else ()
    if len(approvals) > MOST_APPROVALS:
        return Refused(
            UnstorableAnswerError(f"The run asks for {len(approvals)} approvals at once; {MOST_APPROVALS} may wait.")
        )
    first = head.runs[0].first
    draft = Draft(head).add(*command.words).end(terminal)
    for approval in approvals:
        row = ApprovalRow(epoch=head.epoch, asked_by=terminal.run_id)
        draft.row(RowChange(approval_name(approval.id), first, row))
    draft.end_in_turn(terminal.at)
    following = draft.head.turn
    if following is not None and never_claimed(following) is None and following.id in command.callers:
        draft.claim(terminal.at, command.callers[following.id])
    return draft.change(terminal.run_id)


def _cancel(head: Head, command: Cancel) -> Outcome:
    """Have the run end; its end is to reach the document too, so a run that ends at once needs a signal as any does."""
    run = head.run(command.run_id)
    if run is None:
        return not_open(head, command.run_id)
    draft = Draft(head)
    is_waiting = head.claim is None or head.claim.run_id != run.id
    if command.reason == "queue_time" and not is_waiting:
        return Unchanged(run.id)
    if run.cancelled is None:
        draft.add(CancelRequested(at=command.at, run_id=run.id, reason=command.reason))
    draft.end_in_turn(command.at)
    signal = not run.signalled
    return Unchanged(run.id, signal) if draft.head is head else draft.change(run.id, signal=signal)


def _give_up(head: Head, command: GiveUp) -> Outcome:
    claim = head.claim
    if claim is None or claim.run_id != command.run_id:
        return Unchanged(command.run_id)
    if command.silent != head.append_id or command.at <= claim.deadline:
        return Unchanged(command.run_id)
    lost = RunLostError("The run was not ended within its time; its process or its signal was lost.")
    return _end_unanswered(head, command.at, never_claimed(head.runs[0]) or lost)


def _forget(head: Head, command: Forget) -> Outcome:
    if head.state == "deleting":
        return being_deleted()
    if head.state == "deleted":
        return Unchanged()
    return Draft(head).add(Reset(at=command.at)).change(signal=True)


def _delete(head: Head, command: Delete) -> Outcome:
    if head.state != "open":
        return Unchanged(signal=head.state == "deleting")
    if command.reason == "expired" and head.runs:
        return Unchanged()
    return Draft(head).add(Deleting(at=command.at, reason=command.reason)).change(signal=True)


def _bury(head: Head, command: Bury) -> Outcome:
    if head.state != "deleting":
        return Unchanged()
    return Draft(head).add(Deleted(at=command.at, receipt=dict(command.receipt))).change()


def _trim(head: Head, command: Trim) -> Outcome:
    """Trim nothing that an open run, or one whose approvals wait, is answered from."""
    needed = [run.first for run in head.runs[:1]] + ([head.waiting.first] if head.waiting else [])
    through = min([command.through, head.position, *(first - 1 for first in needed)])
    if through <= head.trimmed or head.state != "open":
        return Unchanged()
    return Draft(head).add(Trimmed(at=command.at, through=through)).change()


_RULES: dict[type[Any], Callable[[Head, Any], Outcome]] = {
    Accept: _accept,
    Attach: attach,
    Claim: _claim,
    Retry: _retry,
    Record: _record,
    Release: _release,
    End: _end,
    Cancel: _cancel,
    GiveUp: _give_up,
    SignalFailed: signal_failed,
    Answer: answer,
    Forget: _forget,
    Delete: _delete,
    Bury: _bury,
    Trim: _trim,
}
