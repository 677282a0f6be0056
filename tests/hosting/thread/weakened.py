"""The real `decide` with one rule left out, for each rule: what an explorer that can fail has to find."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hosting.errors import RunCancelledError
from hosting.thread.commands import (
    Accept,
    Answer,
    Bury,
    Cancel,
    Change,
    Claim,
    Command,
    End,
    Forget,
    Outcome,
    Record,
    Release,
    Retry,
    SignalFailed,
    Unchanged,
)
from hosting.thread.decide import decide
from hosting.thread.endings import unanswered
from hosting.thread.head import Head, OpenRun, fold


def without_leases(head: Head, command: Command) -> Outcome:
    """Take over any claim at once."""
    return decide(head, replace(command, silent=head.append_id) if isinstance(command, Claim) else command)


def without_looking_again(head: Head, command: Command) -> Outcome:
    """Take over a claim whose lease was waited out, though something was appended since."""
    is_past = isinstance(command, Claim) and command.silent is not None
    return decide(head, replace(command, silent=head.append_id) if is_past else command)  # type: ignore[call-arg]


def without_beginnings(head: Head, command: Command) -> Outcome:
    """Take over any claim of the entity's, though it was made after one's own operation began."""
    return decide(head, replace(command, began=head.position) if isinstance(command, Claim) else command)


def without_tokens(head: Head, command: Command) -> Outcome:
    """Let whoever held a run once append to it."""
    is_fenced = isinstance(command, Record | End | Release) and head.claim is not None
    return decide(head, replace(command, token=head.claim.token) if is_fenced else command)  # type: ignore


def without_patience(head: Head, command: Command) -> Outcome:
    """Count each lost holder twice."""
    was_lost = isinstance(command, Claim) and head.turn is not None and head.turn.lost
    return decide(_with_runs(head, lost=2) if was_lost else head, command)


def released_is_lost(head: Head, command: Command) -> Outcome:
    """Count a holder that let go as one that was lost."""
    outcome = decide(head, command)
    if not isinstance(command, Release) or not isinstance(outcome, Change) or not outcome.head.runs:
        return outcome
    first, *others = outcome.head.runs
    counted = first.model_copy(update={"lost": first.lost + 1})
    return replace(outcome, head=outcome.head.model_copy(update={"runs": (counted, *others)}))


def without_attached(head: Head, command: Command) -> Outcome:
    """Cancel a run by a failed signal, though somebody else was promised it."""
    return decide(_with_runs(head, attached=False) if isinstance(command, SignalFailed) else head, command)


def a_live_claim_is_proof(head: Head, command: Command) -> Outcome:
    """Attach to a run that is held without a signal of one's own."""
    outcome = decide(head, command)
    is_attaching = isinstance(outcome, Change) and [event.kind for event in outcome.events] == ["attached"]
    return Unchanged(outcome.run_id) if is_attaching and head.claim is not None else outcome  # type: ignore


def without_signals_for(*kinds: type[Any]) -> Any:
    """Promise what these commands promise without a signal."""

    def weakened(head: Head, command: Command) -> Outcome:
        outcome = decide(head, command)
        return replace(outcome, signal=False) if isinstance(command, kinds) and hasattr(outcome, "signal") else outcome

    return weakened


def cancelled_at_once(head: Head, command: Command) -> Outcome:
    """End a queued run that is cancelled before those that were accepted earlier."""
    run = head.run(command.run_id) if isinstance(command, Cancel) else None
    if run is None or run == head.turn:
        return decide(head, command)
    ended = unanswered(run.id, 0.0, RunCancelledError(""))
    return Change(fold(head, [ended]), (ended,), run_id=run.id, signal=True)


def cancelled_is_claimed(head: Head, command: Command) -> Outcome:
    """Claim a run that is to be cancelled."""
    return decide(_with_runs(head, cancelled=None) if isinstance(command, Claim | Retry) else head, command)


def accepted_while_deleting(head: Head, command: Command) -> Outcome:
    """Accept a run in a thread that is being deleted."""
    is_open = isinstance(command, Accept) and head.state == "deleting"
    return decide(head.model_copy(update={"state": "open"}) if is_open else head, command)


def without_epochs(head: Head, command: Command) -> Outcome:
    """Leave the epoch as it was when a tombstone is put."""
    outcome = decide(head, command)
    if not isinstance(command, Bury) or not isinstance(outcome, Change):
        return outcome
    return replace(outcome, head=outcome.head.model_copy(update={"epoch": head.epoch}))


def accepted_while_waiting(head: Head, command: Command) -> Outcome:
    """Accept a message while approvals wait."""
    is_message = isinstance(command, Accept) and not command.accepted.request.decisions
    return decide(head.model_copy(update={"waiting": None}) if is_message else head, command)


def approvals_outlive_a_reset(head: Head, command: Command) -> Outcome:
    """Leave approvals waiting behind a reset."""
    outcome = decide(head, command)
    if not isinstance(command, Forget) or not isinstance(outcome, Change):
        return outcome
    return replace(outcome, head=outcome.head.model_copy(update={"waiting": head.waiting}))


def answers_are_not_kept(head: Head, command: Command) -> Outcome:
    """Forget that an approval was decided."""
    outcome = decide(head, command)
    if not isinstance(command, Answer) or not isinstance(outcome, Change):
        return outcome
    rows = tuple(row for row in outcome.rows if row.is_new)
    return replace(outcome, rows=rows, head=outcome.head.model_copy(update={"waiting": head.waiting}))


def keys_are_not_looked_at(head: Head, command: Command) -> Outcome:
    """Begin a run whatever its key began before."""
    return decide(head, replace(command, key=None) if isinstance(command, Accept) else command)


def _with_runs(head: Head, **changes: Any) -> Head:
    """Return the head with its open runs changed so."""
    runs: tuple[OpenRun, ...] = tuple(run.model_copy(update=changes) for run in head.runs)
    return head.model_copy(update={"runs": runs})
