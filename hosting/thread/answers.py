"""The rules of approvals: each is decided once, and the last decision and the run that goes on are one append."""

from __future__ import annotations

from hosting.errors import (
    ApprovalAnsweredError,
    ApprovalExpiredError,
    ApprovalsVoidError,
    ThreadDeletedError,
    UnknownApprovalError,
)
from hosting.thread.commands import Answer, Attach, Outcome, Refused, Stale
from hosting.thread.draft import Draft
from hosting.thread.events import Accepted, ApprovalAnswered
from hosting.thread.head import Head
from hosting.thread.promises import attach, being_deleted
from hosting.thread.rows import ApprovalRow, GoneRow, RowChange, approval_name


def are_awaited(head: Head, accepted: Accepted) -> bool:
    """Tell whether the thread waits for exactly the decisions that a run brings, and nobody has made one of them."""
    waiting = head.waiting
    if waiting is None or not head.waits_for_approval(accepted.at):
        return False
    return {decision.id for decision in accepted.request.decisions} == set(waiting.undecided) and (
        waiting.asked == len(waiting.undecided)
    )


def bring_decisions(draft: Draft, accepted: Accepted) -> None:
    assert draft.head.waiting is not None
    asked_by, first = draft.head.waiting.run_id, draft.head.waiting.first
    for decision in accepted.request.decisions:
        draft.add(ApprovalAnswered(at=accepted.at, run_id=asked_by, decision=decision))
        row = ApprovalRow(epoch=draft.head.epoch, asked_by=asked_by, decision=decision, resumed_by=accepted.run_id)
        draft.row(RowChange(approval_name(decision.id), first, row, is_new=False))


def answer(head: Head, command: Answer) -> Outcome:
    decision, row, waiting = command.decision, command.row, head.waiting
    if row is None:
        return Refused(UnknownApprovalError(f"This thread has no approval {decision.id[:80]!r}."))
    if isinstance(row, GoneRow):
        return Refused(ThreadDeletedError("The approval was deleted with its thread."))
    if head.state == "deleting":
        return being_deleted()
    if row.decision is not None:
        if row.resumed_by is not None and row.decision == decision:
            return attach(head, Attach(command.at, row.resumed_by))
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


def void_decisions() -> ApprovalsVoidError:
    return ApprovalsVoidError("These are not the tool calls that the thread waits for, or it waits no more.")


def _answered(approval_id: str, row: ApprovalRow) -> ApprovalAnsweredError:
    """Return the refusal, which leads a caller to the run that goes on."""
    went_on = "" if row.resumed_by is None else f" Run {row.resumed_by} goes on from there."
    return ApprovalAnsweredError(f"Approval {approval_id!r} is answered already; the first answer stands.{went_on}")
