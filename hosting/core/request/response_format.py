"""The requested format of the answer (`response_format`), and its check.

`FORMAT_COMPONENTS` say what the field takes; of JSON Schema, other keywords are taken too (http-runs.md). Parts are
not described as JSON Schemas again: no schema can express whether a reference or a pattern in one is right, and
generated requests would grow without end.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any

from hosting.core.thread.run_request import ResponseFormat
from hosting.errors import HostingError, InvalidFieldError, InvalidOutputError
from hosting.strict_json.parsing import Schema, json_type, parse_text, refuse_lone_surrogates
from hosting.strict_json.slow_reads import takes_long
from state.json_values import portable_value

logger = logging.getLogger(__name__)

CHECK_SECONDS = 5.0
NAME_PATTERN = "[A-Za-z0-9_-]{1,64}"
_NAME = re.compile(NAME_PATTERN)

_PART: Schema = {"type": ["object", "boolean"]}
_PARTS: Schema = {"type": "array", "items": _PART, "minItems": 1}
_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_NUMBER: Schema = {"type": "number"}

_JSON_SCHEMA: Schema = {
    "type": "object",
    "description": "A JSON Schema of draft-07, 2019-09 or 2020-12; other keywords are allowed too.",
    "properties": {
        "type": {"type": "string", "enum": ["array", "boolean", "integer", "null", "number", "object", "string"]},
        "description": _TEXT,
        "enum": {"type": "array", "items": {}},
        "properties": {"type": "object", "additionalProperties": _PART},
        "required": {"type": "array", "items": _TEXT, "uniqueItems": True},
        "additionalProperties": _PART,
        "items": _PART,
        "maxItems": _COUNT,
        "maxLength": _COUNT,
        "minimum": _NUMBER,
        "maximum": _NUMBER,
        "anyOf": _PARTS,
    },
}


def _named(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _of_type(kind: str, **members: Schema) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"type": {"const": kind}, **members},
        "required": ["type", *members],
        "additionalProperties": False,
    }


_MEMBERS: dict[str, tuple[Schema, Callable[[Any], bool], str]] = {
    "name": (
        {"type": ["string", "null"], "pattern": f"^{NAME_PATTERN}$"},
        lambda value: isinstance(value, str) and bool(_NAME.fullmatch(value)),
        "1 to 64 of A-Z a-z 0-9 _ -",
    ),
    "description": ({"type": ["string", "null"]}, lambda value: isinstance(value, str), "a string"),
    "strict": ({"type": ["boolean", "null"]}, lambda value: isinstance(value, bool), "true or false"),
}
"""The members beside the schema in OpenAI's form: JSON Schema, check, and advice."""

_ENVELOPE: Schema = {
    "type": "object",
    "properties": {"schema": _named("JsonSchema"), **{name: schema for name, (schema, _, _) in _MEMBERS.items()}},
    "required": ["schema"],
    "additionalProperties": False,
}
_FORMS = ("JsonSchema", "JsonSchemaFormat", "JsonObjectFormat", "TextFormat")
FORMAT_SCHEMA = _named("ResponseFormat")
FORMAT_COMPONENTS: Mapping[str, Schema] = {
    "ResponseFormat": {"anyOf": [_named(name) for name in _FORMS]},
    "JsonSchema": _JSON_SCHEMA,
    "JsonSchemaFormat": _of_type("json_schema", json_schema=_named("NamedSchema")),
    "NamedSchema": _ENVELOPE,
    "JsonObjectFormat": _of_type("json_object"),
    "TextFormat": _of_type("text"),
}
"""The schema of a format, each part under a name of its own: generators of clients make a class of each."""


def read_response_format(value: object) -> ResponseFormat | None:
    """Return the format, or None for plain text; raise `InvalidFieldError` for an invalid one.

    An object whose `type` is one of OpenAI's three is OpenAI's form, any other is itself the JSON Schema.
    """
    if not isinstance(value, dict):
        raise InvalidFieldError(
            f"The field 'response_format' is a JSON {json_type(value)}. Send a JSON Schema object, "
            'or {"type": "json_object"}.'
        )
    form = value.get("type")
    if form in ("text", "json_object"):
        _refuse_unknown("response_format", value, ("type",))
        return ResponseFormat() if form == "json_object" else None
    members = _envelope_members(value) if form == "json_schema" else {"schema": value}
    refuse_lone_surrogates(members)
    schema = members.pop("schema")
    takes_long()
    from hosting.strict_json.json_schema import BadSchemaError, check_schema

    try:
        check_schema(schema)
    except BadSchemaError as error:
        raise InvalidFieldError(f"The schema in 'response_format' {error}") from None
    return ResponseFormat(json_schema=schema, **members)


def agents_own_format(agent: object) -> ResponseFormat | None:
    """Return an agent's own format (`default_options`), None for a format that cannot be checked too.

    The framework takes a pydantic model or a mapping.
    """
    default = (getattr(agent, "default_options", None) or {}).get("response_format")
    schema = getattr(default, "model_json_schema", None)
    try:
        value = default if schema is None else schema()
        return None if value is None else read_response_format(dict(value) if isinstance(value, Mapping) else value)
    except (HostingError, ValueError, TypeError) as error:
        logger.warning("The response_format of agent %s is not checked: %s", getattr(agent, "name", "?"), error)
        return None


def _envelope_members(value: dict[str, Any]) -> dict[str, Any]:
    """Return the schema and the other members of OpenAI's form, those that are null left out."""
    _refuse_unknown("response_format", value, ("type", "json_schema"))
    inner = value.get("json_schema")
    if not isinstance(inner, dict) or not isinstance(inner.get("schema"), dict):
        raise InvalidFieldError(
            "The field 'response_format' has no object json_schema.schema. "
            'Send {"type": "json_schema", "json_schema": {"name": "...", "schema": {...}}}.'
        )
    members = {name: member for name, member in inner.items() if member is not None}
    _refuse_unknown("response_format.json_schema", members, ("schema", *_MEMBERS))
    for name, (_, is_right, expectation) in _MEMBERS.items():
        if name in members and not is_right(members[name]):
            raise InvalidFieldError(f"response_format.json_schema.{name} is {members[name]!r:.80}. Send {expectation}.")
    return members


def _refuse_unknown(path: str, value: dict[str, Any], names: tuple[str, ...]) -> None:
    for name in value:
        if name not in names:
            raise InvalidFieldError(f"{path} has {name!r:.80}, which is not known here. Known: {', '.join(names)}.")


def structured_value(response_format: ResponseFormat, text: str) -> Any:
    """Return the JSON value of an answer's text if it fits the format.

    Raises `InvalidOutputError`, which names the path and the rule and quotes nothing of the answer. May take up to
    `CHECK_SECONDS` and more for a large answer: call it in a thread.
    """
    try:
        value = portable_value(parse_text(text.removeprefix("\ufeff")))
    except HostingError:  # its sentence speaks of a request, and quotes
        raise InvalidOutputError("The answer is not one strict JSON value, as response_format wants it.") from None
    if response_format.json_schema is None:
        fault = None if isinstance(value, dict) else f"it is a JSON {json_type(value)} and not an object"
    else:
        from hosting.strict_json.json_schema import UncheckableError, value_fault

        try:
            fault = value_fault(response_format.json_schema, value, CHECK_SECONDS)
        except UncheckableError as error:
            fault = str(error)
    if fault is not None:
        raise InvalidOutputError(f"The answer does not fit response_format: {fault}.")
    return value
