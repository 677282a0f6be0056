"""One rule for each command to a thread, decided on the head alone: here those about its runs.

Theory. `decide(head, command)` has no side effect and reads nothing else, so it is the same in every process and over
every store. The caller appends the result to the very head that was decided on; if another append came first, it
decides again on the new head. Three things always hold: one run at a time is claimed, the first of the open ones; ends
stand in the order in which runs were accepted, but for those of runs that join the one at work; and after a claim was
taken over or released, its token appends nothing.

A run that may not be claimed, because it was cancelled or because the thread waits for approvals, ends when it becomes
the first: with whatever append makes it so (`Draft.end_in_turn`). A claimed run that a later request interrupted is
ended by its holder, or claimed once more for that, because the conversation keeps its text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hosting import errors
from hosting.core.thread import commands, events
from hosting.core.thread.draft import (
    Draft,
    already_ended,
    approvals_pending_error,
    attach,
    end_without_agent,
    needs_signal,
    refuse_reused_key,
    refuse_while_deleting,
    signal_failed,
)
from hosting.core.thread.head import Head
from hosting.core.thread.rows import ApprovalRow, DeletedRow, RowChange
from hosting.core.thread.run import cancellation, instead_of, unanswered
from hosting.core.thread.thread_events import Described
from hosting.core.thread.thread_rules import THREAD_RULES
from hosting.metadata import Value, merged

MOST_LOST = 3
MOST_OPEN_RUNS = 200
MOST_APPROVALS = 40
"""How many processes may be lost to one step of a run; how many runs a head holds, how many approvals one append."""


def decide(head: Head, command: commands.Command) -> commands.Outcome:
    """Return the append for this head, or the reason for none. Raises nothing."""
    outcome: commands.Outcome = _RULES[type(command)](head, command)
    return outcome


def _accept(head: Head, command: commands.AcceptRun) -> commands.Outcome:
    accepted = command.accepted
    is_late = command.epoch is not None and command.epoch != head.epoch
    if is_late or isinstance(command.key, DeletedRow) or isinstance(command.known, DeletedRow):
        return commands.Refused(errors.ThreadDeletedError("The run was deleted with its thread."))
    if command.key is not None and command.key.run_id is not None:
        if command.key.fingerprint != accepted.fingerprint:
            return refuse_reused_key()
        return attach(head, commands.AttachToRun(accepted.at, command.key.run_id))
    if command.known is not None:
        return attach(head, commands.AttachToRun(accepted.at, accepted.run_id))
    refusal = _refusal(head, command)
    if refusal is not None:
        return refusal
    draft = Draft(head).take_over(command.busy, accepted.at)
    if command.continues is not None and command.continues.rewound is not None:
        draft.rewind(command.continues.rewound)
    if head.waiting is not None:
        for decision in accepted.request.decisions:
            draft.answer(head.waiting, decision, accepted.at, accepted.principal, resumed_by=accepted.run_id)
    draft.accept(accepted, command.terms, is_new_key=command.key is None)
    if change := accepted.request.thread_metadata:
        return _described(draft, change, accepted)
    return draft.change(accepted.run_id, signal=True)


def _described(draft: Draft, change: Mapping[str, Value | None], accepted: events.Accepted) -> commands.Outcome:
    """Change the thread's metadata with the append that accepts the run, or refuse both."""
    try:
        metadata = merged(draft.head.metadata, change)
    except errors.InvalidFieldError as error:
        return commands.Refused(error)
    return draft.add(Described(at=accepted.at, metadata=metadata)).change(accepted.run_id, signal=True)


def _refusal(head: Head, command: commands.AcceptRun) -> commands.Refused | None:
    """Return why a new run is not accepted now, or None."""
    accepted, open_runs = command.accepted, len(head.runs)
    if head.state == "deleting":
        return refuse_while_deleting()
    if head.temporary:
        return commands.Refused(errors.ThreadDeletingError("The thread is not stored: it is deleted after its answer."))
    if accepted.request.decisions:
        decided = {decision.id for decision in accepted.request.decisions}
        waiting = head.waiting if head.is_waiting_for_approval(accepted.at) else None
        if waiting is not None and decided == set(waiting.undecided) and waiting.asked == len(waiting.undecided):
            return None  # exactly the decisions that the thread waits for, and none of them is made
        return commands.Refused(
            errors.ApprovalsVoidError("These are not the tool calls that the thread waits for, or it no longer waits.")
        )
    if command.follows is not None and head.continued not in (0, command.follows):
        return commands.Refused(
            errors.RunNotNewestError("A later run already continues this thread. Continue from the newest.")
        )
    rewound = command.continues.rewound if command.continues is not None else None
    if command.continues is not None and not command.continues.fits(head):
        return commands.Refused(
            errors.RunNotNewestError("The thread changed while the request was read. Send the request again.")
        )
    is_taken_back = rewound is not None and head.waiting is not None and head.waiting.first >= rewound.first
    if head.is_waiting_for_approval(accepted.at) and not is_taken_back:
        return commands.Refused(approvals_pending_error())
    if command.busy == "reject" and head.runs:
        return commands.Refused(
            errors.ThreadBusyError(
                f"Run {head.runs[0].id} of this thread has not ended. Send the request again when it has, or with "
                "another value of 'busy'.",
                run_id=head.runs[0].id,
            )
        )
    most = MOST_OPEN_RUNS if command.busy in ("interrupt", "rollback") else command.queue_limit
    if open_runs >= min(most, MOST_OPEN_RUNS):
        return commands.Refused(
            errors.TooManyRunsError(f"{open_runs} runs of this thread have not ended. Try again when one of them has.")
        )
    return None


def _claim(head: Head, command: commands.ClaimRun) -> commands.Outcome:
    run = head.next_run
    if run is None or (command.run_id is not None and command.run_id != run.id):
        return commands.Unchanged(run.id if run else "")
    is_taken_over = False
    if head.claim is not None:
        stood = head.claim.holder == "entity" and head.claim.position <= command.since
        is_taken_over = stood or (command.idle_append is not None and command.idle_append == head.append_id)
        if not is_taken_over:
            return commands.Unchanged(run.id)
    ending = end_without_agent(run)
    if ending is None and run.paused:  # a holder that was lost has its claim no more, and no other has it
        released = events.Released(at=command.at, run_id=run.id, signalled=True)
        return Draft(head).add(released).change(run.id) if is_taken_over else commands.Unchanged(run.id)
    if ending is None and is_taken_over and run.fruitless + 1 >= MOST_LOST:
        crashed = errors.RunCrashedError(f"The run ended its process {run.fruitless + 1} times and is not retried.")
        ending = crashed if run.cancelled is None else cancellation(run.cancelled)
    if ending is None:
        return Draft(head).claim(command.at, command.terms).change(run.id)
    return _end_unanswered(Draft(head), command.at, ending)


def _end_unanswered(draft: Draft, moment: float, error: errors.HostingError) -> commands.Outcome:
    """End the next run with `error`, and those after it that may not be claimed."""
    run = draft.head.runs[0]
    return draft.end(unanswered(run.id, moment, error)).end_in_turn(moment).change(run.id)


def _retry(head: Head, command: commands.RetryRun) -> commands.Outcome:
    claim = head.claim
    if claim is None or claim.token != command.token:
        return commands.Stale()
    ending = end_without_agent(head.runs[0])
    if ending is not None:
        lost, draft = command.unrecorded, Draft(head)
        if lost:
            moment, run_id, worked = command.at, claim.run_id, command.worked
            draft.add(events.Released(at=moment, run_id=run_id, signalled=False, worked=worked, unrecorded=lost))
        return _end_unanswered(draft, command.at, ending)
    terms = commands.ClaimTerms(command.new_token, claim.holder, claim.lease_seconds, claim.deadline, claim.process)
    before = {"failed": command.failed, "worked": command.worked, "unrecorded": command.unrecorded}
    return Draft(head).claim(command.at, terms, **before).change(claim.run_id)


def _record(head: Head, command: commands.RecordSteps) -> commands.Outcome:
    claim = head.claim
    if claim is None or claim.token != command.token:
        return commands.Stale()
    return Draft(head).add(*command.steps).renew(command.worked).change(claim.run_id)


def _join(head: Head, command: commands.JoinRuns) -> commands.Outcome:
    claim = head.claim
    if claim is None or claim.token != command.token:
        return commands.Stale()
    draft, joining = Draft(head), {run.id for run in head.joining}
    for joined in command.joined:
        if joined.run_id in joining:
            draft.join(joined)
    return commands.Unchanged(claim.run_id) if draft.head is head else draft.renew(command.worked).change(claim.run_id)


def _release(head: Head, command: commands.ReleaseRun) -> commands.Outcome:
    claim = head.claim
    if claim is None or claim.token != command.token:
        return commands.Stale()
    released = events.Released(
        at=command.at,
        run_id=claim.run_id,
        signalled=command.signalled,
        worked=command.worked,
        unrecorded=command.unrecorded,
    )
    return Draft(head).add(released).end_in_turn(command.at).change(released.run_id)


def _end(head: Head, command: commands.EndRun) -> commands.Outcome:
    terminal = command.terminal
    if head.claim is None or head.claim.token != command.token:
        return commands.Stale()
    if (wish := head.runs[0].cancelled) == "rollback":
        used = head.run_usage.in_all(terminal)
        taken_back = unanswered(terminal.run_id, terminal.at, cancellation(wish))
        terminal = instead_of(terminal, taken_back, used.stored())
    approvals = terminal.approvals if isinstance(terminal, events.Completed) else ()
    if approvals and wish == "interrupt":
        return commands.Refused(cancellation(wish))
    if len(approvals) > MOST_APPROVALS:
        return commands.Refused(
            errors.UnstorableAnswerError(
                f"The run requests {len(approvals)} approvals at once; {MOST_APPROVALS} may wait."
            )
        )
    first = head.runs[0].first
    draft = Draft(head).add(*command.deltas).end(terminal)
    for approval in approvals:
        row = ApprovalRow(epoch=head.epoch, asked_by=terminal.run_id)
        draft.row(RowChange(ApprovalRow.name_of(approval.id), first, row))
    draft.end_in_turn(terminal.at)
    following = draft.head.next_run
    is_free = following is not None and end_without_agent(following) is None and not following.paused
    if following is not None and is_free and following.id in command.callers:
        draft.claim(terminal.at, command.callers[following.id])
    return draft.change(terminal.run_id)


def _cancel(head: Head, command: commands.CancelRun) -> commands.Outcome:
    """Cancel the run. Its end must reach the document too, so it needs a signal even if it ends at once."""
    run = head.run(command.run_id)
    if run is None:
        return already_ended(head, command.run_id)
    draft = Draft(head)
    is_waiting = head.claim is None or head.claim.run_id != run.id
    if command.reason == "queue_time" and not is_waiting:
        return commands.Unchanged(run.id)
    if run.cancelled is None:
        draft.add(events.CancelRequested(at=command.at, run_id=run.id, reason=command.reason))
    draft.end_in_turn(command.at)
    signal = head.is_paused or needs_signal(head, run, command.at)
    return commands.Unchanged(run.id, signal) if draft.head is head else draft.change(run.id, signal=signal)


def _pause(head: Head, command: commands.PauseRun) -> commands.Outcome:
    """Pause the run. One that is to end is not paused."""
    run = head.run(command.run_id)
    if run is None:
        return already_ended(head, command.run_id)
    if run.paused or run.cancelled is not None:
        return commands.Unchanged(run.id)
    at_work = head.claim is not None and head.claim.run_id == run.id
    return Draft(head).add(events.Paused(at=command.at, run_id=run.id, at_work=at_work)).change(run.id)


def _resume(head: Head, command: commands.ResumeRun) -> commands.Outcome:
    """Resume the run. A repeat has the signal sent that the first one may have died before."""
    run = head.run(command.run_id)
    if run is None or not run.paused:
        return attach(head, commands.AttachToRun(command.at, command.run_id))
    return Draft(head).add(events.Resumed(at=command.at, run_id=run.id)).change(run.id, signal=True)


def _expire(head: Head, command: commands.ExpireRun) -> commands.Outcome:
    claim = head.claim
    if claim is None or claim.run_id != command.run_id or command.idle_append != head.append_id:
        return commands.Unchanged(command.run_id)
    lost = errors.RunLostError("The run did not end within its time limit. Its process or its signal was lost.")
    return _end_unanswered(Draft(head), command.at, end_without_agent(head.runs[0]) or lost)


def _answer(head: Head, command: commands.AnswerApproval) -> commands.Outcome:
    """Record a decision. Each is made once, and the last one and the run that continues are one append."""
    decision, row, waiting = command.decision, command.row, head.waiting
    if row is None:
        return commands.Refused(errors.UnknownApprovalError(f"This thread has no approval {decision.id[:80]!r}."))
    if isinstance(row, DeletedRow):
        return commands.Refused(errors.ThreadDeletedError("The approval was deleted with its thread."))
    if head.state == "deleting":
        return refuse_while_deleting()
    if row.decision is not None:
        if row.decision == decision.receipt():  # a repeat: with several answers the first ones begin no run
            if row.resumed_by is None:
                return commands.Unchanged("")
            return attach(head, commands.AttachToRun(command.at, row.resumed_by))
        went_on = "" if row.resumed_by is None else f" Run {row.resumed_by} continues from there."
        return commands.Refused(
            errors.ApprovalAnsweredError(
                f"Approval {decision.id!r} is answered already; the first answer stands.{went_on}"
            )
        )
    if waiting is None or decision.id not in waiting.undecided or not head.is_waiting_for_approval(command.at):
        return commands.Refused(
            errors.ApprovalExpiredError(
                f"Approval {decision.id!r} is no longer pending: it expired, or the thread was reset or continued. "
                "Send the next message."
            )
        )
    is_last = len(waiting.undecided) == 1
    if is_last and len(command.resumed.request.decisions) != waiting.asked:
        return commands.Stale()  # another caller answered since this one read the decisions
    resumed_by = command.resumed.run_id if is_last else None
    draft = Draft(head).answer(waiting, decision, command.at, command.by, resumed_by)
    if is_last:
        draft.accept(command.resumed, command.terms)
    return draft.change(resumed_by or "", signal=is_last)


_RULES: dict[type[commands.Command], Callable[[Head, Any], commands.Outcome]] = {
    commands.AcceptRun: _accept,
    commands.AttachToRun: attach,
    commands.ClaimRun: _claim,
    commands.RetryRun: _retry,
    commands.RecordSteps: _record,
    commands.JoinRuns: _join,
    commands.ReleaseRun: _release,
    commands.EndRun: _end,
    commands.CancelRun: _cancel,
    commands.PauseRun: _pause,
    commands.ResumeRun: _resume,
    commands.ExpireRun: _expire,
    commands.SignalFailed: signal_failed,
    commands.AnswerApproval: _answer,
    **THREAD_RULES,
}
