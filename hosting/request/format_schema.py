"""What `response_format` takes, as a JSON Schema, and what it takes of JSON Schema itself.

Its other keywords are taken too (docs/http-api.md). Parts are not said to be JSON Schemas again: whether a reference or
a pattern in one is right cannot be said in a schema, and generated requests would grow without end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JSON_SCHEMA_NAME = "JsonSchema"
NAME_PATTERN = "[A-Za-z0-9_-]{1,64}"
Schema = Mapping[str, Any]

_PART: Schema = {"type": ["object", "boolean"]}
_PARTS: Schema = {"type": "array", "items": _PART, "minItems": 1}
_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_NUMBER: Schema = {"type": "number"}

JSON_SCHEMA: Schema = {
    "type": "object",
    "description": "A JSON Schema of draft-07, 2019-09 or 2020-12; more keywords than these are taken.",
    "properties": {
        "type": {"enum": ["array", "boolean", "integer", "null", "number", "object", "string"]},
        "description": _TEXT,
        "enum": {"type": "array"},
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


def _of_type(kind: str, **members: Schema) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"type": {"const": kind}, **members},
        "required": ["type", *members],
        "additionalProperties": False,
    }


_ENVELOPE: Schema = {
    "type": "object",
    "properties": {
        "schema": {"$ref": f"#/components/schemas/{JSON_SCHEMA_NAME}"},
        "name": {"type": ["string", "null"], "pattern": f"^{NAME_PATTERN}$"},
        "description": {"type": ["string", "null"]},
        "strict": {"type": ["boolean", "null"]},
    },
    "required": ["schema"],
    "additionalProperties": False,
}
FORMAT_SCHEMA: Schema = {
    "anyOf": [
        {"$ref": f"#/components/schemas/{JSON_SCHEMA_NAME}"},
        _of_type("json_schema", json_schema=_ENVELOPE),
        _of_type("json_object"),
        _of_type("text"),
    ]
}
