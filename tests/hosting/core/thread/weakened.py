"""The real `decide` with one rule left out, for each rule: what an explorer that can fail has to find."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from hosting.core.thread.commands import (
    AcceptRun,
    AttachToRun,
    CancelRun,
    Change,
    ClaimRun,
    Command,
    DeleteThread,
    EndRun,
    FinishDelete,
    Outcome,
    RecordSteps,
    ReleaseRun,
    ResetThread,
    ResumeRun,
    SignalFailed,
    Stale,
    Unchanged,
)
from hosting.core.thread.decide import decide
from hosting.core.thread.head import Head, fold
from hosting.core.thread.run import unanswered
from hosting.errors import RunCancelledError


def without_leases(head: Head, command: Command) -> Outcome:
    """Take over any claim at once."""
    if isinstance(command, ClaimRun):
        command = replace(command, idle_append=head.append_id)
    return decide(head, command)


def without_beginnings(head: Head, command: Command) -> Outcome:
    """Take over any claim of the entity's, though it was made after one's own operation began."""
    if isinstance(command, ClaimRun):
        command = replace(command, since=head.position)
    return decide(head, command)


def without_tokens(head: Head, command: Command) -> Outcome:
    """Let whoever held a run once append to it."""
    if isinstance(command, RecordSteps | EndRun | ReleaseRun) and head.claim is not None:
        command = replace(command, token=head.claim.token)
    return decide(head, command)


def a_lost_holder_counts_twice(head: Head, command: Command) -> Outcome:
    """Give up a run when its second holder is lost."""
    was_lost = isinstance(command, ClaimRun) and head.next_run is not None and head.next_run.fruitless
    return decide(_with_runs(head, fruitless=2) if was_lost else head, command)


def results_are_no_progress(head: Head, command: Command) -> Outcome:
    """Count the holders that were lost before a result as if they were lost behind it."""
    outcome = decide(head, command)
    if not isinstance(command, RecordSteps) or not isinstance(outcome, Change) or head.next_run is None:
        return outcome
    return replace(outcome, head=_with_runs(outcome.head, fruitless=head.next_run.fruitless))


def without_attached(head: Head, command: Command) -> Outcome:
    """Cancel a run by a failed signal, though somebody else was promised it."""
    return decide(_with_runs(head, attached=False) if isinstance(command, SignalFailed) else head, command)


def a_live_claim_is_proof(head: Head, command: Command) -> Outcome:
    """Attach to a run that is held without a signal of one's own."""
    outcome = decide(head, command)
    if not isinstance(outcome, Change) or head.claim is None or outcome.events[0].kind != "attached":
        return outcome
    return Unchanged(outcome.run_id)


def without_signals(head: Head, command: Command) -> Outcome:
    """Promise a cancel, a reset or a deletion without a signal."""
    outcome = decide(head, command)
    is_promise = isinstance(command, AttachToRun | CancelRun | ResumeRun | ResetThread | DeleteThread)
    return outcome if isinstance(outcome, Stale) or not is_promise else replace(outcome, signal=False)


def cancelled_at_once(head: Head, command: Command) -> Outcome:
    """End a queued run that is cancelled before those that were accepted earlier."""
    run = head.run(command.run_id) if isinstance(command, CancelRun) else None
    if run is None or run == head.next_run:
        return decide(head, command)
    ended = unanswered(run.id, 0.0, RunCancelledError(""))
    return Change(fold(head, [ended]), (ended,), run_id=run.id, signal=True)


def paused_is_claimed(head: Head, command: Command) -> Outcome:
    """Claim a run that is paused."""
    return decide(_with_runs(head, paused=0.0) if isinstance(command, ClaimRun) else head, command)


def interrupted_is_cancelled(head: Head, command: Command) -> Outcome:
    """End a run that was interrupted wherever a cancelled one ends, though it was begun."""
    return decide(_with_runs(head, cancelled="asked") if isinstance(command, ReleaseRun) else head, command)


def accepted_while_deleting(head: Head, command: Command) -> Outcome:
    """Accept a run in a thread that is being deleted."""
    is_closed = isinstance(command, AcceptRun) and head.state == "deleting"
    return decide(head.model_copy(update={"state": "open"}) if is_closed else head, command)


def accepted_while_waiting(head: Head, command: Command) -> Outcome:
    """Accept a message while approvals wait."""
    is_message = isinstance(command, AcceptRun) and not command.accepted.request.decisions
    return decide(head.model_copy(update={"waiting": None}) if is_message else head, command)


def keys_are_not_looked_at(head: Head, command: Command) -> Outcome:
    """Begin a run whatever its key began before."""
    return decide(head, replace(command, key=None) if isinstance(command, AcceptRun) else command)


def tombstones_keep_the_epoch(head: Head, command: Command) -> Outcome:
    """Leave the epoch as it was when a tombstone is put."""
    return _behind(FinishDelete, head, command, epoch=head.epoch)


def approvals_outlive_a_reset(head: Head, command: Command) -> Outcome:
    """Leave approvals waiting behind a reset."""
    return _behind(ResetThread, head, command, waiting=head.waiting)


def _behind(kind: type[Any], head: Head, command: Command, **changes: Any) -> Outcome:
    """Decide, and change the head behind a command of that kind."""
    outcome = decide(head, command)
    if not isinstance(command, kind) or not isinstance(outcome, Change):
        return outcome
    return replace(outcome, head=outcome.head.model_copy(update=changes))


def _with_runs(head: Head, **changes: Any) -> Head:
    """Return the head with its open runs changed so."""
    return head.model_copy(update={"runs": tuple(run.model_copy(update=changes) for run in head.runs)})
