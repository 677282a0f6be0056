"""Metadata: small values of an app's own on a thread or a run, by which lists are filtered.

Theory. There is one bound for all that may set it. OpenAI's metadata of texts fits, and so do the flat ones of A2A and
LangGraph. It is small enough to stand in a thread's head, which a list reads of each thread that it shows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import StrictBool, StrictFloat, StrictInt, StrictStr

from hosting.errors import InvalidFieldError

MOST_MEMBERS = 16
LONGEST_NAME = 64
"""Characters of a name, none of them a control character."""
LONGEST_TEXT = 512
"""Characters of a value that is a text."""
MOST_BYTES = 10_240
"""Of the whole as JSON in UTF-8."""
LARGEST_NUMBER = 2**53 - 1
"""Up to here every reader of JSON has the same whole number."""

LABELS = ("title", "pinned")
"""The members that name a thread and pin it (`POST .../describe`)."""

Value = Annotated[StrictStr | StrictBool | StrictInt | StrictFloat, "a value of metadata"]
Metadata = Mapping[str, Value]

_VALUE: Mapping[str, Any] = {
    "anyOf": [
        {"type": "string", "maxLength": LONGEST_TEXT},
        {"type": "number", "minimum": -LARGEST_NUMBER, "maximum": LARGEST_NUMBER},
        {"type": "boolean"},
        {"type": "null"},
    ]
}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "maxProperties": MOST_MEMBERS,
    "propertyNames": {"minLength": 1, "maxLength": LONGEST_NAME, "pattern": r"^[^\u0000-\u001f\u007f]+$"},
    "additionalProperties": _VALUE,
}
"""Of metadata that a request sends. A member that is null is none, or removes that of the thread."""


def read_metadata(name: str, value: object) -> dict[str, Value | None]:
    """Return the metadata in the field of that name, with its nulls; raises `InvalidFieldError`."""
    if not isinstance(value, dict):
        raise InvalidFieldError(
            f"The field {name!r} is not an object. Send an object of texts, numbers, true or false."
        )
    if len(value) > MOST_MEMBERS:
        raise InvalidFieldError(f"The field {name!r} has {len(value)} members. Send at most {MOST_MEMBERS}.")
    for member, item in value.items():
        if (fault := _fault(member, item)) is not None:
            raise InvalidFieldError(f"The field {name!r}: {fault}")
    _check_size(name, value)
    return value


def read_present(name: str, value: object) -> dict[str, Value]:
    """Return the metadata in the field of that name, without its nulls; raises `InvalidFieldError`."""
    return merged({}, read_metadata(name, value))


def fitting_members(values: Mapping[str, Any]) -> dict[str, Value]:
    """Return the members of another protocol's metadata that fit: none of them where they are too much together."""
    members = {name: value for name, value in values.items() if value is not None and _fault(name, value) is None}
    return members if len(members) <= MOST_MEMBERS and size_of(members) <= MOST_BYTES else {}


def merged(before: Metadata, change: Mapping[str, Value | None]) -> dict[str, Value]:
    """Return the metadata after a change: null removes a member. Raises `InvalidFieldError` where it is too much."""
    after = {name: value for name, value in {**before, **change}.items() if value is not None}
    if len(after) > MOST_MEMBERS:
        raise InvalidFieldError(
            f"The metadata would have {len(after)} members; the limit is {MOST_MEMBERS}. Remove some with null."
        )
    _check_size("metadata", after)
    return after


def texts_of(metadata: Metadata) -> dict[str, str]:
    """Return metadata for a protocol that has texts alone."""
    return {name: shown_value(value) for name, value in metadata.items()}


def shown_value(value: Value) -> str:
    """Return a value as a filter of a list names it: `red`, `3`, `true`."""
    return value if isinstance(value, str) else json.dumps(value)


def size_of(metadata: Mapping[str, Value | None]) -> int:
    """Return the bytes of metadata as JSON in UTF-8."""
    return len(json.dumps(metadata, ensure_ascii=False).encode(errors="surrogatepass"))


def _fault(member: object, value: object) -> str | None:
    if not isinstance(member, str):
        return f"the name {member!r:.80} is no text."
    if not 1 <= len(member) <= LONGEST_NAME or any(ord(sign) < 32 or ord(sign) == 127 for sign in member):
        return f"the name {member[:80]!r} has to have 1 to {LONGEST_NAME} characters, and no control characters."
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            return f"the text {member!r} has {len(value)} characters. Send at most {LONGEST_TEXT}."
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if not -LARGEST_NUMBER <= value <= LARGEST_NUMBER:
            return f"the number {member!r} is out of range. Send it as a text."
    elif value is not None and not isinstance(value, bool):
        return f"the member {member!r} is no single value. Send a text, a number, true, false or null."
    if any(0xD800 <= ord(sign) <= 0xDFFF for text in (member, value) if isinstance(text, str) for sign in text):
        return "it has half a character (a lone surrogate), which cannot be stored. Send whole characters."
    return None


def _check_size(name: str, metadata: Mapping[str, Value | None]) -> None:
    if (size := size_of(metadata)) > MOST_BYTES:
        raise InvalidFieldError(f"The {name} has {size} bytes as JSON; the limit is {MOST_BYTES}. Send less.")
