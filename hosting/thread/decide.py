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
    ApprovalAnsweredError,
    ApprovalExpiredError,
    ApprovalsVoidError,
    HostingError,
    IdempotencyKeyReusedError,
    RunCrashedError,
    RunLostError,
    ThreadDeletedError,
    ThreadDeletingError,
    TooManyRunsError,
    UnknownApprovalError,
    UnstorableAnswerError,
)
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
    Accepted,
    ApprovalAnswered,
    Attached,
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
    if isinstance(command.key, GoneRow) or isinstance(command.known, GoneRow):
        return Refused(ThreadDeletedError("The run was deleted with its thread."))
    if command.key is not None and command.key.run_id is not None:
        if command.key.fingerprint != accepted.fingerprint:
            return Refused(
                IdempotencyKeyReusedError(
                    "This Idempotency-Key was used for another request. Use a new key for a new request."
                )
            )
        return _attach(head, Attach(accepted.at, command.key.run_id))
    if command.known is not None:
        return _attach(head, Attach(accepted.at, accepted.run_id))
    refusal = _refusal(head, command)
    if refusal is not None:
        return refusal
    draft = Draft(head)
    if accepted.request.decisions:
        _bring_decisions(draft, accepted)
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
        return _being_deleted()
    if accepted.request.decisions:
        return None if _are_awaited(head, accepted) else Refused(_void_decisions())
    if head.waits_for_approval(accepted.at):
        return Refused(pending_approvals())
    if open_runs >= min(command.queue_limit, MOST_OPEN_RUNS):
        return Refused(
            TooManyRunsError(f"{open_runs} runs of this thread have not ended. Try again when one of them has.")
        )
    return None


def _are_awaited(head: Head, accepted: Accepted) -> bool:
    """Tell whether the thread waits for exactly the decisions that a run brings, and nobody has made one of them."""
    waiting = head.waiting
    if waiting is None or not head.waits_for_approval(accepted.at):
        return False
    return {decision.id for decision in accepted.request.decisions} == set(waiting.undecided) and (
        waiting.asked == len(waiting.undecided)
    )


def _bring_decisions(draft: Draft, accepted: Accepted) -> None:
    assert draft.head.waiting is not None
    asked_by, first = draft.head.waiting.run_id, draft.head.waiting.first
    for decision in accepted.request.decisions:
        draft.add(ApprovalAnswered(at=accepted.at, run_id=asked_by, decision=decision))
        row = ApprovalRow(epoch=draft.head.epoch, asked_by=asked_by, decision=decision, resumed_by=accepted.run_id)
        draft.row(RowChange(approval_name(decision.id), first, row, is_new=False))


def _attach(head: Head, command: Attach) -> Outcome:
    """Promise the outcome of a run, with a signal of one's own where the log does not prove that one was taken."""
    run = head.run(command.run_id)
    if run is None:
        return _not_open(head, command.run_id)
    if run.signalled:
        return Unchanged(run.id)
    if run.attached:
        return Unchanged(command.run_id, signal=True)
    return Draft(head).add(Attached(at=command.at, run_id=run.id)).change(run.id, signal=True)


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
        return _not_open(head, command.run_id)
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


def _signal_failed(head: Head, command: SignalFailed) -> Outcome:
    """Cancel the run if nobody else was promised anything of it, and free its key; else let go of its claim."""
    run = head.run(command.run_id)
    if run is None:
        return Unchanged(command.run_id)
    is_own_claim = head.claim is not None and head.claim.token == command.token
    is_untouched = run.attempts == 0 or (run.attempts == 1 and is_own_claim)
    draft = Draft(head)
    if run.attached or run.signalled or not is_untouched:
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


def _answer(head: Head, command: Answer) -> Outcome:
    decision, row, waiting = command.decision, command.row, head.waiting
    if row is None:
        return Refused(UnknownApprovalError(f"This thread has no approval {decision.id[:80]!r}."))
    if isinstance(row, GoneRow):
        return Refused(ThreadDeletedError("The approval was deleted with its thread."))
    if head.state == "deleting":
        return _being_deleted()
    if row.decision is not None:
        if row.resumed_by is not None and row.decision == decision:
            return _attach(head, Attach(command.at, row.resumed_by))
        return Refused(_answered(decision.id, row))
    if waiting is None or decision.id not in waiting.undecided or not head.waits_for_approval(command.at):
        return Refused(
            ApprovalExpiredError(
                f"Approval {decision.id!r} waits no more: its time has passed, or the thread was reset or went on. "
                "Send the thread its next message."
            )
        )
    draft = Draft(head).add(ApprovalAnswered(at=command.at, run_id=waiting.run_id, decision=decision))
    is_last = len(waiting.undecided) == 1
    if is_last and len(command.resumed.request.decisions) != waiting.asked:
        return Stale()  # somebody else answered since the caller read the other decisions
    resumed_by = command.resumed.run_id if is_last else None
    answered = ApprovalRow(epoch=head.epoch, asked_by=row.asked_by, decision=decision, resumed_by=resumed_by)
    draft.row(RowChange(approval_name(decision.id), waiting.first, answered, is_new=False))
    if is_last:
        draft.accept(command.resumed)
        if command.terms is not None and len(draft.head.runs) == 1:
            draft.claim(command.at, command.terms)
    return draft.change(resumed_by or "", signal=is_last)


def _forget(head: Head, command: Forget) -> Outcome:
    if head.state == "deleting":
        return _being_deleted()
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
    Attach: _attach,
    Claim: _claim,
    Retry: _retry,
    Record: _record,
    Release: _release,
    End: _end,
    Cancel: _cancel,
    GiveUp: _give_up,
    SignalFailed: _signal_failed,
    Answer: _answer,
    Forget: _forget,
    Delete: _delete,
    Bury: _bury,
    Trim: _trim,
}


def _being_deleted() -> Refused:
    error = ThreadDeletingError("The thread is being deleted and takes no runs until that is done. Try again then.")
    return Refused(error, signal=True)


def _not_open(head: Head, run_id: str) -> Unchanged:
    """Say that a run has ended; whoever is told so by a thread that is being deleted signals for that."""
    return Unchanged(run_id, signal=head.state == "deleting")


def _void_decisions() -> ApprovalsVoidError:
    return ApprovalsVoidError("These are not the tool calls that the thread waits for, or it waits no more.")


def _answered(approval_id: str, row: ApprovalRow) -> ApprovalAnsweredError:
    """Return the refusal, which leads a caller to the run that goes on."""
    went_on = "" if row.resumed_by is None else f" Run {row.resumed_by} goes on from there."
    return ApprovalAnsweredError(f"Approval {approval_id!r} is answered already; the first answer stands.{went_on}")
