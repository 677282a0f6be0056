"""What a caller wants the answer to be (`response_format`, http-api.md section 2), read and checked at the border."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hosting.errors import InvalidFieldError
from hosting.request.format_schema import NAME_PATTERN
from hosting.request.strict_json import json_type, refuse_lone_surrogates
from hosting.requests import ResponseFormat

_NAME = re.compile(NAME_PATTERN)


def read_response_format(value: object) -> ResponseFormat | None:
    """Return the format, or None for plain text; raise `InvalidFieldError` for what is none.

    An object whose `type` is one of OpenAI's three is OpenAI's form, any other is itself the JSON Schema.
    """
    if not isinstance(value, dict):
        raise InvalidFieldError(
            f"The field 'response_format' is a JSON {json_type(value)}. Send a JSON Schema object, "
            'or {"type": "json_object"}.'
        )
    kind = value.get("type")
    read = _FORMS.get(kind) if isinstance(kind, str) else None
    return read(value) if read else _of_schema(value)


def _text(value: dict[str, Any]) -> None:
    _refuse_unknown("response_format", value, ("type",))


def _any_object(value: dict[str, Any]) -> ResponseFormat:
    _refuse_unknown("response_format", value, ("type",))
    return ResponseFormat()


def _enveloped(value: dict[str, Any]) -> ResponseFormat:
    _refuse_unknown("response_format", value, ("type", "json_schema"))
    inner = value.get("json_schema")
    if not isinstance(inner, dict) or not isinstance(inner.get("schema"), dict):
        raise InvalidFieldError(
            "The field 'response_format' has no object json_schema.schema. "
            'Send {"type": "json_schema", "json_schema": {"name": "...", "schema": {...}}}.'
        )
    given = {name: member for name, member in inner.items() if member is not None}
    _refuse_unknown("response_format.json_schema", given, ("schema", *_MEMBERS))
    for name, (is_right, wanted) in _MEMBERS.items():
        if name in given and not is_right(given[name]):
            raise InvalidFieldError(f"response_format.json_schema.{name} is {given[name]!r:.80}. Send {wanted}.")
    return _of_schema(**given)


def _of_schema(schema: dict[str, Any], **members: Any) -> ResponseFormat:
    from hosting.request.accepted_schema import check_schema
    from hosting.request.schema_parts import BadSchemaError

    refuse_lone_surrogates([schema, members])
    try:
        check_schema(schema)
    except BadSchemaError as error:
        raise InvalidFieldError(f"The schema in 'response_format' {error}") from None
    return ResponseFormat(json_schema=schema, **members)


def _refuse_unknown(place: str, value: dict[str, Any], known: tuple[str, ...]) -> None:
    for name in value:
        if name not in known:
            raise InvalidFieldError(f"{place} has {name!r:.80}, which is not known here. Known: {', '.join(known)}.")


_FORMS: dict[str, Callable[[dict[str, Any]], ResponseFormat | None]] = {
    "text": _text,
    "json_object": _any_object,
    "json_schema": _enveloped,
}
_MEMBERS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "name": (lambda value: isinstance(value, str) and bool(_NAME.fullmatch(value)), "1 to 64 of A-Z a-z 0-9 _ -"),
    "description": (lambda value: isinstance(value, str), "a string"),
    "strict": (lambda value: isinstance(value, bool), "true or false"),
}
