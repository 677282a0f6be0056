"""The real `decide` with one rule left out, for each rule: what an explorer that can fail has to find."""

from __future__ import annotations

from msgspec.structs import replace

from hosting.core.thread.commands import (
    AcceptRun,
    Change,
    ClaimRun,
    Command,
    EndRun,
    FinishDelete,
    Outcome,
    RecordSteps,
    ReleaseRun,
    SignalFailed,
    Unchanged,
)
from hosting.core.thread.decide import decide
from hosting.core.thread.head import Head


def without_leases(head: Head, command: Command) -> Outcome:
    if isinstance(command, ClaimRun):
        command = replace(command, idle_append=head.append_id)
    return decide(head, command)


def without_tokens(head: Head, command: Command) -> Outcome:
    """Let whoever held a run once append to it."""
    if isinstance(command, RecordSteps | EndRun | ReleaseRun) and head.claim is not None:
        command = replace(command, token=head.claim.token)
    return decide(head, command)


def without_attached(head: Head, command: Command) -> Outcome:
    """Cancel a run by a failed signal, though somebody else was promised it."""
    if isinstance(command, SignalFailed):
        runs = tuple(run.model_copy(update={"attached": False}) for run in head.runs)
        head = head.model_copy(update={"runs": runs})
    return decide(head, command)


def a_live_claim_is_proof(head: Head, command: Command) -> Outcome:
    """Attach to a run that is held without a signal of one's own."""
    outcome = decide(head, command)
    if not isinstance(outcome, Change) or head.claim is None or outcome.events[0].kind != "attached":
        return outcome
    return Unchanged(outcome.run_id)


def accepted_while_waiting(head: Head, command: Command) -> Outcome:
    """Accept a message while approvals wait."""
    is_message = isinstance(command, AcceptRun) and not command.accepted.request.decisions
    return decide(head.model_copy(update={"waiting": None}) if is_message else head, command)


def tombstones_keep_the_epoch(head: Head, command: Command) -> Outcome:
    """Leave the epoch as it was when a tombstone is put."""
    outcome = decide(head, command)
    if not isinstance(command, FinishDelete) or not isinstance(outcome, Change):
        return outcome
    return replace(outcome, head=outcome.head.model_copy(update={"epoch": head.epoch}))
