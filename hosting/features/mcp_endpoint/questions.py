"""What a run waits for as a form of the protocol, and the form's content as a decision.

A form of the protocol has texts, numbers and choices, also several at once, and nothing else within another. What does
not fit into one is decided elsewhere, and the result of the call says where.
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
from hosting.http.run_text import asked_in_words
from hosting.names import is_id
from hosting.visible import visible

Form = dict[str, Any]

_ANSWER = "answer"
_PLAIN = ("string", "number", "integer", "boolean")
_OF_ANY = ("type", "title", "description", "default")
_OF_PLAIN = (*_OF_ANY, "enum", "enumNames", "minLength", "maxLength", "minimum", "maximum", "format")
_OF_LIST = (*_OF_ANY, "minItems", "maxItems")
_FORMATS = ("email", "uri", "date", "date-time")
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
    schema = _schema(approval, version)
    if schema is None:
        return None
    asked = asked_in_words(approval)
    words = {
        "approve": f"{run.accepted.agent} wants to call {asked}. Approve it?",
        "ask": asked,
        "client_tool": f"{run.accepted.agent} waits for the result of {asked}.",
    }
    return {"mode": "form", "message": visible(words[approval.kind]), "requestedSchema": schema}


def _schema(approval: PendingApproval, version: str) -> Form | None:
    """Return the form's schema, None if the answer fits into no form."""
    if approval.kind == "approve":
        return _DECISION
    wanted = approval.answer_schema or {"type": "string"}
    if (field := _field(wanted, wanted, version)) is not None:
        return {"type": "object", "properties": {_ANSWER: field}, "required": [_ANSWER]}
    fields = {name: _field(member, wanted, version) for name, member in members(wanted, "properties").items()}
    if wanted.get("type") != "object" or not fields or None in fields.values():
        return None
    required = wanted.get("required")
    return {"type": "object", "properties": fields, "required": required if isinstance(required, list) else []}


def _field(member: object, root: Form, version: str) -> Form | None:
    """Return the schema of one field as a form has it; None for what is no plain value and no list of choices."""
    schema = _resolved(member, root)
    if schema.get("type") == "array":
        choices = _choices(_resolved(schema.get("items"), root))
        if choices is None or version < names.FIRST_WITH_CHOICES:
            return None
        return {**{name: schema[name] for name in _OF_LIST if name in schema}, "items": choices}
    if schema.get("type") not in _PLAIN:
        return None
    field = {name: schema[name] for name in _OF_PLAIN if name in schema}
    if field.get("format") not in _FORMATS:
        field.pop("format", None)
    if (titled := _titled(schema.get("oneOf"))) is None:
        return field
    if version >= names.FIRST_WITH_CHOICES:
        return {**field, "oneOf": titled}
    return {**field, "enum": [each["const"] for each in titled], "enumNames": [each["title"] for each in titled]}


def _resolved(schema: object, root: Form) -> Form:
    """Return a part of a schema, with what it refers to; an empty one for what is no schema."""
    if not isinstance(schema, dict):
        return {}
    kind, _, name = str(schema.get("$ref", "")).rpartition("/")
    return {**members(members(root, "$defs"), name), **schema} if kind == "#/$defs" else schema


def _choices(items: Form) -> Form | None:
    """Return the members of a list of choices as a form has them; None for other members."""
    if (titled := _titled(items.get("anyOf"))) is not None:
        return {"anyOf": titled}
    choices = items.get("enum")
    is_of_texts = isinstance(choices, list) and all(isinstance(choice, str) for choice in choices)
    return {"type": "string", "enum": choices} if is_of_texts else None


def _titled(choices: object) -> list[Form] | None:
    """Return choices that are texts with titles; None for anything else."""
    if not isinstance(choices, list) or not choices:
        return None
    titled = [{name: choice.get(name) for name in ("const", "title")} for choice in choices if isinstance(choice, dict)]
    is_whole = len(titled) == len(choices)
    return titled if is_whole and all(isinstance(text, str) for each in titled for text in each.values()) else None


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
    wanted = approval.answer_schema or {"type": "string"}
    is_one = _field(wanted, wanted, names.NEWEST_VERSION) is not None
    if is_one and _ANSWER not in content:
        raise InvalidFieldError(f"The content has no {_ANSWER!r}. Send what the person answered.")
    return read_decision({"id": approval.id, "value": content[_ANSWER] if is_one else content})
