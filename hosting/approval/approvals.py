"""Tool calls that wait for a person: what a run asks for, what was decided of it, and the run that then goes on.

Theory. A run that ends with approvals keeps them in its terminal record, and each decision is appended behind that
record by compare-and-append: of two who answer one approval at once, the second finds it answered. The run that goes
on carries every decision, and its id is made of the approvals' ids: whoever finds all of them answered may start it,
and create-if-absent makes it one run. Source: turn.md, Decisions, Approvals.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from hosting.events import Place
from hosting.identity import place_digest
from hosting.requests import PendingApproval, RunRequest
from hosting.run_record import RunRecord
from hosting.thread.events import Completed

_RUN_ID_REST = 20


def asked_approvals(record: RunRecord) -> tuple[PendingApproval, ...]:
    """Return what the run asked for, decided or not; nothing for a run that has not completed."""
    return record.terminal.approvals if isinstance(record.terminal, Completed) else ()


def undecided(record: RunRecord) -> tuple[PendingApproval, ...]:
    """Return the run's approvals that nobody has answered."""
    decided = {answer.decision.id for answer in record.answers}
    return tuple(approval for approval in asked_approvals(record) if approval.id not in decided)


def resumed_run_id(place: Place, approval_ids: Iterable[str]) -> str:
    """Return the id of the run that goes on once these approvals are answered."""
    digest = hashlib.sha256("/".join(sorted(approval_ids)).encode()).hexdigest()
    return place_digest(place) + digest[:_RUN_ID_REST]


def resuming_run_id(record: RunRecord) -> str:
    """Return the id of the run that goes on from this one: made of its approvals, or the one that brought the answers.

    Requires that every approval of the run is answered.
    """
    brought = next((answer.run_id for answer in record.answers if answer.run_id is not None), None)
    return brought or resumed_run_id(record.accepted.place, (approval.id for approval in asked_approvals(record)))


def resuming_request(record: RunRecord) -> RunRequest:
    """Return the request of the run that goes on: every decision, and the answer's form that this run was asked for."""
    asked = record.accepted.request
    return RunRequest(
        response_format=asked.response_format,
        enable_tool_calls=asked.enable_tool_calls,
        orchestration_id=asked.orchestration_id,
        retry=asked.retry,
        decisions=tuple(answer.decision for answer in record.answers),
    )
