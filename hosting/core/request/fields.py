"""The fields of a request and of an answer to an approval, over HTTP and as an orchestration carries them.

The tables have once how each is read and what the OpenAPI document has of it. A field
that is null counts as absent. A refusal raises a `HostingError` that names the field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from hosting.core.request.contents import NOT_BLANK, Limits, contents_schema, read_contents
from hosting.core.request.response_format import FORMAT_SCHEMA, read_response_format
from hosting.core.thread.run_request import (
    ALWAYS,
    Always,
    Decision,
    RunRequest,
    UserMessage,
    json_member,
    read_retry,
)
from hosting.errors import HostingError, InvalidFieldError, MissingMessageError
from hosting.metadata import SCHEMA as METADATA_SCHEMA
from hosting.metadata import read_metadata, read_present
from hosting.model_options import OPTIONS, read_chosen
from hosting.run_context import SCHEMA as CONTEXT_SCHEMA
from hosting.run_context import read_run_context
from hosting.strict_json.parsing import Schema, has_lone_surrogate, json_type, refuse_lone_surrogates
from hosting.workflows import json_text

LONGEST_REASON = 2000
MOST_EARLIER = 100
"""The most messages before the request's own; longer conversations need a thread."""

VALUE, ERROR = "value", "error"
ARGUMENTS = "arguments"
OF_A_DECISION = ("always", ARGUMENTS)
WEBHOOK = "webhook"
METADATA, THREAD_METADATA, CONTEXT = "metadata", "thread_metadata", "context"
DECISION_FIELDS: Mapping[str, Schema] = {
    "approved": {"type": "boolean", "description": "true to make the tool call, false to refuse it."},
    "reason": {
        "anyOf": [{"type": "string", "maxLength": LONGEST_REASON}, {"type": "null"}],
        "description": "The reason. It is stored, and the model sees the reason of a refusal.",
    },
    "always": {
        "anyOf": [{"enum": [*ALWAYS]}, {"type": "null"}],
        "description": (
            "Approves later calls in this thread too: all calls of the `tool`, or only those with the same arguments "
            "(`tool_with_arguments`). Only for an agent with agent-framework's ToolApprovalMiddleware."
        ),
    },
    ARGUMENTS: {
        "anyOf": [{"type": "object"}, {"type": "null"}],
        "description": "All arguments of the call, by its arguments_schema: it is made with these, not the model's.",
    },
}
ANSWER_FIELDS: Mapping[str, Schema] = {
    **DECISION_FIELDS,
    VALUE: {"description": "The answer to a question, or the result of your own tool, by its answer_schema."},
    ERROR: {"type": "string", "maxLength": LONGEST_REASON, "description": "The error of your own tool, for the model."},
}


def read_text(name: str, value: object) -> str:
    """Return a field's text; raises `InvalidFieldError`."""
    if not isinstance(value, str):
        raise InvalidFieldError(f"The field {name!r} is a JSON {json_type(value)}. Send a string.")
    return value


def read_flag(name: str, value: object) -> bool:
    """Return a field's true or false; raises `InvalidFieldError`."""
    if not isinstance(value, bool):
        raise InvalidFieldError(f"The field {name!r} is a JSON {json_type(value)}. Send true or false.")
    return value


_TRUTH = {
    **dict.fromkeys(("true", "1", "yes", "y", "on"), True),
    **dict.fromkeys(("false", "0", "no", "n", "off"), False),
}
TRUTH_WORD: Schema = {"type": "string", "enum": sorted(_TRUTH)}
TRUTH_SCHEMA: Schema = {"anyOf": [{"type": "boolean"}, TRUTH_WORD, {"type": "integer", "enum": [0, 1]}]}


def read_truth(name: str, value: object, refusal: type[HostingError] = InvalidFieldError) -> bool:
    """Return true or false, also where it comes as a word, in whichever letter case; raises `refusal`."""
    text = str(value).strip().lower() if isinstance(value, str | int) else ""
    if text not in _TRUTH:
        raise refusal(f"{name} is {str(value)[:80]!r}. Send true or false, or 1, 0, yes, no, y, n, on, off.")
    return _TRUTH[text]


def read_decisions(value: object) -> tuple[Decision, ...]:
    """Return the decisions that an orchestration carries; raises `InvalidFieldError`."""
    if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
        raise InvalidFieldError('The field \'decisions\' must be a list of {"id": "...", "approved": true}.')
    if any(item.get(ARGUMENTS) is not None for item in value):
        raise InvalidFieldError("The field 'decisions' has 'arguments'. A person changes them, over HTTP or a wire.")
    return tuple(read_decision(item) for item in value)


def read_decision(fields: Mapping[str, Any]) -> Decision:
    """Return one decision of its checked fields; raises `InvalidFieldError`, `InvalidEncodingError`."""
    approval_id, reason = fields.get("id"), fields.get("reason")
    if not isinstance(approval_id, str):
        raise InvalidFieldError(
            f"The id of an approval is a JSON {json_type(approval_id)}. Send the id as the response has it."
        )
    if ("approved" in fields) + (VALUE in fields) + (ERROR in fields) > 1:
        raise InvalidFieldError("Send one of 'approved', 'value' and 'error': a decision, an answer, or its error.")
    if "approved" not in fields and (beside := [name for name in OF_A_DECISION if fields.get(name) is not None]):
        raise InvalidFieldError(f"The field {beside[0]!r} is there without 'approved'. Only an approved call takes it.")
    if reason is not None:
        reason = _read_reason("reason", reason)
    if ERROR in fields:
        return Decision(id=approval_id, approved=False, reason=reason, error=_read_reason(ERROR, fields[ERROR]) or "")
    if VALUE not in fields:
        approved = read_flag("approved", fields.get("approved"))
        always = read_always(fields.get("always"), approved=approved)
        arguments = _read_arguments(fields.get(ARGUMENTS), approved=approved)
        return Decision(id=approval_id, approved=approved, reason=reason, always=always, arguments=arguments)
    refuse_lone_surrogates(fields[VALUE], VALUE)
    return Decision.of_value(approval_id, fields[VALUE], reason)


def _read_reason(name: str, value: object) -> str | None:
    text = read_text(name, value)
    if len(text) > LONGEST_REASON:
        raise InvalidFieldError(f"The field {name!r} has {len(text)} characters; send at most {LONGEST_REASON}.")
    refuse_lone_surrogates(text, name)
    return text.strip() or None


def read_always(value: object, *, approved: bool) -> Always | None:
    """Return for which later calls an approval stands too; raises `InvalidFieldError`."""
    if value is None:
        return None
    if not isinstance(value, str) or value not in ALWAYS:
        raise InvalidFieldError(f"The field 'always' is {value!r:.80}. Send {' or '.join(map(repr, ALWAYS))}.")
    if not approved:
        raise InvalidFieldError("The field 'always' is there with approved false. Only an approval can be standing.")
    return value


def _read_arguments(value: object, *, approved: bool) -> str | None:
    """Return the JSON text of the arguments with which a call is made; raises `InvalidFieldError`."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise InvalidFieldError(f"The field 'arguments' is a JSON {json_type(value)}. Send an object, by name.")
    if not approved:
        raise InvalidFieldError("The field 'arguments' is there with approved false. Only an approved call is made.")
    refuse_lone_surrogates(value, ARGUMENTS)
    return json_member(value)


def check_message(value: object) -> str:
    """Return the message if it is a text that is not blank and can be stored."""
    text = read_text("message", value)
    if not text.strip():
        raise MissingMessageError("The message is blank. Say what to ask the agent.")
    refuse_lone_surrogates(text, "message")
    return text


def _message_schema(limits: Limits) -> Schema:
    values: Schema = {"type": ["number", "boolean", "array", "object"]}
    return {"anyOf": [NOT_BLANK, values]} if limits.takes_values else NOT_BLANK


def _read_webhook(value: object, limits: Limits) -> str:
    if limits.webhooks is None:
        reason = "this app sends no webhooks without AGENT_WEBHOOK_SECRET"
        raise InvalidFieldError(f"The field 'webhook' is refused: {reason}.")
    if not isinstance(value, str):
        raise InvalidFieldError("The field 'webhook' is not a text. Send an https address.")
    if (refusal := limits.webhooks.refusal(value)) is not None:
        raise InvalidFieldError(f"The field 'webhook': {refusal}")
    return value


def _read_role(value: object, limits: Limits) -> str:
    if not isinstance(value, str) or value not in limits.roles:
        allowed = " or ".join(repr(role) for role in limits.roles)
        raise InvalidFieldError(f"The role {str(value)[:80]!r} is not allowed here. Send {allowed}, or leave it out.")
    return value


class Field(Struct, frozen=True):
    """One field of a request: the member that it fills, its parser, and the JSON Schema of its values."""

    member: str
    read: Callable[[object, Limits], Any]
    schema: Callable[[Limits], Schema]
    description: str


_FORMAT = Field(
    "response_format",
    lambda value, _: read_response_format(value),
    lambda _: FORMAT_SCHEMA,
    "The format of the response.",
)
REQUEST_FIELDS: Mapping[str, Field] = {
    "message": Field(
        "message",
        lambda value, limits: check_message(
            json_text(value) if limits.takes_values and not isinstance(value, str) else value
        ),
        _message_schema,
        "Your message.",
    ),
    "contents": Field("contents", read_contents, contents_schema, "Texts, pictures and files after the message."),
    "role": Field("role", _read_role, lambda limits: {"type": "string", "enum": list(limits.roles)}, "The author."),
    "enable_tool_calls": Field(
        "enable_tool_calls",
        lambda value, _: read_truth("enable_tool_calls", value),
        lambda _: TRUTH_SCHEMA,
        "false: the run calls no tools.",
    ),
    WEBHOOK: Field(
        WEBHOOK,
        _read_webhook,
        lambda limits: {"type": "null"} if limits.webhooks is None else limits.webhooks.schema,
        "The https address to notify when the run ends, if the app sends webhooks.",
    ),
    "response_format": _FORMAT,
    "responseFormat": _FORMAT,
    METADATA: Field(
        METADATA,
        lambda value, _: read_present(METADATA, value),
        lambda _: METADATA_SCHEMA,
        "Small values of your own, kept with the run and returned with it.",
    ),
    THREAD_METADATA: Field(
        THREAD_METADATA,
        lambda value, _: read_metadata(THREAD_METADATA, value),
        lambda _: METADATA_SCHEMA,
        "A change of the thread's metadata; null removes a member.",
    ),
    CONTEXT: Field(
        CONTEXT,
        lambda value, _: read_run_context(CONTEXT, value),
        lambda _: CONTEXT_SCHEMA,
        "For the agent's code, as `current().context`; its model does not get it.",
    ),
}


def read_members(fields: Mapping[str, Any], limits: Limits, *, needs_message: bool = True) -> dict[str, Any]:
    """Return the members of a `RunRequest` that the fields fill; raises `HostingError`s of the request."""
    members: dict[str, Any] = {}
    for name, field in REQUEST_FIELDS.items():
        if fields.get(name) is None:
            continue
        value = field.read(fields[name], limits)
        if members.setdefault(field.member, value) != value:
            raise InvalidFieldError(f"The field {field.member!r} is also sent as {name!r}, and differs. Send one.")
    if needs_message and not members.get("message") and not members.get("contents"):
        raise MissingMessageError('There is no message. Send {"message": "..."}, or the message itself as text/plain.')
    return members


def carried_request(order: Mapping[str, Any], limits: Limits) -> RunRequest:
    """Return the request that an orchestration, or another package, carries in its call of the entity.

    How and when that caller wants the answer shown is its own matter (`request_response_format`, `wait_for_response`).
    """
    response_format = order.get("response_format")
    if isinstance(response_format, dict) and "__response_schema_type__" in response_format:
        raise InvalidFieldError(
            "The field 'response_format' names a Python class, and the app imports none. Send its JSON Schema "
            "(model_json_schema())."
        )
    decides = order.get("decisions") is not None
    members = read_members(order, limits, needs_message=not decides)
    if decides:
        if members.get("message") or members.get("contents") or order.get("earlier"):
            raise InvalidFieldError("Answers to approvals and a message need two runs. Send the answers first.")
        members["decisions"] = read_decisions(order["decisions"])
    members |= read_chosen(order.get(OPTIONS), limits.options).members
    members["earlier"] = _earlier_messages(order.get("earlier") or (), limits)
    orchestration_id = order.get("orchestrationId")
    if orchestration_id is not None and (not isinstance(orchestration_id, str) or has_lone_surrogate(orchestration_id)):
        raise InvalidFieldError("The field 'orchestrationId' is not a text that can be stored. Send the instance's id.")
    return RunRequest(**members, orchestration_id=orchestration_id, retry=read_retry(order.get("retry")))


def _earlier_messages(items: object, limits: Limits) -> tuple[UserMessage, ...]:
    if not isinstance(items, list | tuple) or not all(isinstance(item, dict) for item in items):
        raise InvalidFieldError("The field 'earlier' is not an array of objects. Send one for each earlier message.")
    if len(items) > MOST_EARLIER:
        raise InvalidFieldError(f"The field 'earlier' has {len(items)} messages; the limit is {MOST_EARLIER}.")
    messages = [{name: item.get(name) for name in ("message", "contents", "role")} for item in items]
    return tuple(UserMessage(**read_members(message, limits)) for message in messages)
