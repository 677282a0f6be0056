"""The answer to an approval: its fields, over HTTP as in what an orchestration carries, each read and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hosting.errors import InvalidEncodingError, InvalidFieldError
from hosting.request.strict_json import has_lone_surrogate, json_type
from hosting.requests import Decision

LONGEST_REASON = 2000
DECISION_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "approved": {"type": "boolean", "description": "Whether the tool call is made."},
    "reason": {
        "anyOf": [{"type": "string", "maxLength": LONGEST_REASON}, {"type": "null"}],
        "description": "Why, for the record; the model is told why a call was refused.",
    },
}


def read_decisions(value: object) -> tuple[Decision, ...]:
    """Return the decisions that an orchestration carries; raises `InvalidFieldError`."""
    if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
        raise InvalidFieldError('The field \'decisions\' must be a list of {"id": "...", "approved": true}.')
    return tuple(read_decision(item) for item in value)


def read_decision(fields: Mapping[str, Any]) -> Decision:
    """Return one decision of its checked fields; raises `InvalidFieldError`, `InvalidEncodingError`."""
    return Decision(**{name: read(fields.get(name)) for name, read in _READERS.items()})


def _id(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidFieldError(f"The id of an approval is a JSON {json_type(value)}. Send the string that was told.")
    return value


def _approved(value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidFieldError(f"The field 'approved' is a JSON {json_type(value)}. Send true or false.")
    return value


def _reason(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidFieldError(f"The field 'reason' is a JSON {json_type(value)}. Send a string.")
    if len(value) > LONGEST_REASON:
        raise InvalidFieldError(f"The field 'reason' has {len(value)} characters; send at most {LONGEST_REASON}.")
    if has_lone_surrogate(value):
        raise InvalidEncodingError(
            "The reason has half of a surrogate pair (\\ud800 to \\udfff). Send whole characters."
        )
    return value.strip() or None


_READERS: Mapping[str, Callable[[object], Any]] = {"id": _id, "approved": _approved, "reason": _reason}
