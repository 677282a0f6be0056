"""The request itself, whatever door it came through: its fields, each read and checked (http-api.md section 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hosting.errors import InvalidEncodingError, InvalidFieldError, MissingMessageError
from hosting.request.contents import read_contents
from hosting.request.contents_schema import contents_schema
from hosting.request.decisions import read_decisions
from hosting.request.format_schema import FORMAT_SCHEMA
from hosting.request.limits import Limits
from hosting.request.response_format import read_response_format
from hosting.request.strict_json import has_lone_surrogate, json_type
from hosting.requests import RunRequest, Spoken
from hosting.retry import read_retry

MOST_EARLIER = 100
"""Messages before the one that is to be answered; longer conversations are what threads are for."""


@dataclass(frozen=True)
class Field:
    """One field of a request: the member that it fills, how it is read, and the JSON Schema of what it takes."""

    member: str
    read: Callable[[object, Limits], Any]
    schema: Callable[[Limits], Mapping[str, Any]]
    says: str


def read_run_request(fields: Mapping[str, Any], limits: Limits) -> RunRequest:
    """Return the request that the fields make; null counts as absent. Raises `HostingError`s of the request."""
    return RunRequest(**_said(_read(fields, limits)))


def _said(values: dict[str, Any]) -> dict[str, Any]:
    if not values.get("message") and not values.get("contents"):
        raise MissingMessageError('There is no message. Send {"message": "..."}, or the message itself as text/plain.')
    return values


def _read(fields: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, field in REQUEST_FIELDS.items():
        if fields.get(name) is None:
            continue
        value = field.read(fields[name], limits)
        if values.setdefault(field.member, value) != value:
            raise InvalidFieldError(f"The field {field.member!r} is given twice, as {name!r} too. Send one.")
    return values


def carried_request(order: Mapping[str, Any], limits: Limits) -> RunRequest:
    """Return the request that an orchestration, or another package, carries in its call of the entity.

    How and when that caller wants the answer shown is its own matter (`request_response_format`, `wait_for_response`).
    """
    if order.get("options"):
        raise InvalidFieldError("The field 'options' is not served. Send response_format and enable_tool_calls.")
    carried = order.get("response_format")
    if isinstance(carried, dict) and "__response_schema_type__" in carried:
        raise InvalidFieldError(
            "The field 'response_format' names a Python class, and none is imported because a message names it. "
            "Send its JSON Schema (model_json_schema())."
        )
    read = read_run_request if order.get("decisions") is None else _deciding
    request = read(order, limits)
    more = {
        "earlier": _earlier(order.get("earlier") or (), limits),
        "orchestration_id": _orchestration_id(order.get("orchestrationId")),
        "retry": read_retry(order.get("retry")),
    }
    return request.model_copy(update=more)


def _earlier(given: object, limits: Limits) -> tuple[Spoken, ...]:
    """Return the messages before the last; each is read as that one is."""
    if not isinstance(given, list | tuple) or not all(isinstance(item, dict) for item in given):
        raise InvalidFieldError("The field 'earlier' is not an array of objects. Send one for each earlier message.")
    if len(given) > MOST_EARLIER:
        raise InvalidFieldError(f"The field 'earlier' has {len(given)} messages; the limit is {MOST_EARLIER}.")
    fields = [{name: item.get(name) for name in ("message", "contents", "role")} for item in given]
    return tuple(Spoken(**_said(_read(message, limits))) for message in fields)


def _deciding(order: Mapping[str, Any], limits: Limits) -> RunRequest:
    """Return the request that brings the answers to approvals; a message has its turn when the calls were made."""
    values = _read(order, limits)
    if values.get("message") or values.get("contents") or order.get("earlier"):
        raise InvalidFieldError("Answers to approvals and a message are two runs. Send the answers first.")
    return RunRequest(**values, decisions=read_decisions(order["decisions"]))


def check_message(value: object) -> str:
    """Return the message when it is a text with something in it, and one that can be stored."""
    if not isinstance(value, str):
        raise InvalidFieldError(f"The field 'message' is a JSON {json_type(value)}. Send a string.")
    if not value.strip():
        raise MissingMessageError('The message is blank. Send {"message": "..."}, or the message itself as text/plain.')
    if has_lone_surrogate(value):
        raise InvalidEncodingError(
            "The message has half of a surrogate pair (\\ud800 to \\udfff). Send whole characters."
        )
    return value


def _role(value: object, limits: Limits) -> str:
    if not isinstance(value, str) or value not in limits.roles:
        allowed = " or ".join(repr(role) for role in limits.roles)
        raise InvalidFieldError(f"The role {str(value)[:80]!r} is not allowed here. Send {allowed}, or leave it out.")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidFieldError(f"The field 'enable_tool_calls' is a JSON {json_type(value)}. Send true or false.")
    return value


def _orchestration_id(value: object) -> str | None:
    if value is not None and (not isinstance(value, str) or has_lone_surrogate(value)):
        raise InvalidFieldError("The field 'orchestrationId' is not a text that can be stored. Send the instance's id.")
    return value


_FORMAT = Field(
    "response_format",
    lambda value, _: read_response_format(value),
    lambda _: FORMAT_SCHEMA,
    "What the answer must be.",
)
REQUEST_FIELDS: Mapping[str, Field] = {
    "message": Field(
        "message",
        lambda value, _: check_message(value),
        lambda _: {"type": "string", "pattern": "\\S"},
        "What the agent is asked.",
    ),
    "contents": Field("contents", read_contents, contents_schema, "Texts, pictures and files behind the message."),
    "role": Field("role", _role, lambda limits: {"enum": list(limits.roles)}, "Who speaks."),
    "enable_tool_calls": Field(
        "enable_tool_calls", lambda value, _: _flag(value), lambda _: {"type": "boolean"}, "false: no tool is run."
    ),
    "response_format": _FORMAT,
    "responseFormat": _FORMAT,
}
