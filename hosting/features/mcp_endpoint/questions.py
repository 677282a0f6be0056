"""What a run waits for as a form of the protocol, and the form's content as a decision.

What does not fit into a form is decided elsewhere, and the result of the call says where.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hosting.core.request.fields import read_decision
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import Decision, PendingApproval
from hosting.errors import InvalidFieldError
from hosting.features.mcp_endpoint import names
from hosting.features.mcp_endpoint.requests import members
from hosting.http.mcp_forms import ANSWER, Form, form_schema, plain_field
from hosting.http.run_text import asked_in_words
from hosting.names import is_id
from hosting.visible import visible

_DECISION: Form = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean", "title": "Approve", "description": "Whether the call is made."},
        "reason": {"type": "string", "title": "Reason", "description": "The reason that the agent gets for a refusal."},
    },
    "required": ["approved"],
}


def question_id(run: Run, approval: PendingApproval) -> str:
    """Return the id under which a client answers: whoever sends it reaches threads of their own alone."""
    return f"{approval.id}:{run.accepted.agent}:{run.accepted.thread_id}"


def read_question_id(value: object) -> tuple[str, str, str] | None:
    """Return the approval, the agent and the thread of an id; None for an id of something else."""
    parts = value.split(":", 2) if isinstance(value, str) else []
    return (parts[0], parts[1], parts[2]) if len(parts) == 3 and is_id(parts[0]) else None


def forms_of(run: Run, approvals: Sequence[PendingApproval], version: str) -> dict[str, Form] | None:
    """Return the parameters of a form for each approval by its id, as a version of the protocol has forms.

    None if one of them fits into no form.
    """
    forms = {approval.id: _form(run, approval, version) for approval in approvals}
    return None if None in forms.values() else {name: form for name, form in forms.items() if form is not None}


def _form(run: Run, approval: PendingApproval, version: str) -> Form | None:
    has_choices = version >= names.FIRST_WITH_CHOICES
    schema = _DECISION if approval.kind == "approve" else form_schema(_answer_schema(approval), has_choices=has_choices)
    if schema is None:
        return None
    asked = asked_in_words(approval)
    words = {
        "approve": f"{run.accepted.agent} wants to call {asked}. Approve it?",
        "ask": asked,
        "client_tool": f"{run.accepted.agent} waits for the result of {asked}.",
    }
    return {"mode": "form", "message": visible(words[approval.kind]), "requestedSchema": schema}


def read_form(approval: PendingApproval, result: Mapping[str, Any] | None) -> Decision | None:
    """Return the decision in a form's result, None for a client that could not ask.

    Raises `InvalidFieldError`. A person who declines or closes the form refuses: nothing is done unasked.
    """
    if result is None:
        return None
    action, content = result.get("action"), members(result, "content")
    if action in ("decline", "cancel"):
        return Decision(id=approval.id, approved=False)
    if action != "accept":
        raise InvalidFieldError(f"The action is {str(action)[:80]!r}. Send 'accept', 'decline' or 'cancel'.")
    if approval.kind == "approve":
        approved = content.get("approved")
        reason = {} if approved is True or not content.get("reason") else {"reason": content["reason"]}
        return read_decision({"id": approval.id, "approved": approved, **reason})
    schema = _answer_schema(approval)
    is_one = plain_field(schema, schema, has_choices=True) is not None
    if is_one and ANSWER not in content:
        raise InvalidFieldError(f"The content has no {ANSWER!r}. Send what the person answered.")
    return read_decision({"id": approval.id, "value": content[ANSWER] if is_one else content})


def _answer_schema(approval: PendingApproval) -> Form:
    return approval.answer_schema or {"type": "string"}
