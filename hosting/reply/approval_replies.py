"""Answers about approvals (http-api.md section 3), free of any web framework."""

from __future__ import annotations

from hosting.approval.approvals import undecided
from hosting.reply.bodies import AnsweredApproval, ApprovalList
from hosting.reply.run_replies import Reply, approval_fields, json_reply, thread_headers, thread_ids
from hosting.request.negotiation import Form
from hosting.requests import Decision
from hosting.run_record import RunRecord


def approvals_reply(thread_id: str, asked: RunRecord | None) -> Reply:
    """Return what the thread waits for now: what nobody has answered yet of the run `asked`."""
    waiting = [] if asked is None else approval_fields(asked, undecided(asked))
    body: ApprovalList = {**thread_ids(thread_id), "approvals": waiting}
    return json_reply(200, body, thread_headers(thread_id))


def answered_reply(asked: RunRecord, decision: Decision, form: Form) -> Reply:
    """Return that an answer was recorded, and what the thread still waits for."""
    thread_id, waiting = asked.accepted.thread_id, undecided(asked)
    if form == "text":
        said = f"Answered. {len(waiting)} more to answer before the thread goes on."
        return Reply(200, said, "text/plain", thread_headers(thread_id))
    body: AnsweredApproval = {
        "status": "answered",
        "id": decision.id,
        "approved": decision.approved,
        **thread_ids(thread_id),
        "pending_approvals": approval_fields(asked, waiting),
    }
    return json_reply(200, body, thread_headers(thread_id))
