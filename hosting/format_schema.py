"""What `response_format` takes, as a JSON Schema, and what it takes of JSON Schema itself.

References and patterns are taken too (docs/http-api.md): whether one is right cannot be said in a schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JSON_SCHEMA_NAME = "JsonSchema"
NAME_PATTERN = "[A-Za-z0-9_-]{1,64}"
Schema = Mapping[str, Any]

_PART: Schema = {"anyOf": [{"type": "boolean"}, {"$ref": f"#/components/schemas/{JSON_SCHEMA_NAME}"}]}
_PARTS: Schema = {"type": "array", "items": _PART, "minItems": 1}
_NAMED_PARTS: Schema = {"type": "object", "additionalProperties": _PART}
_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_NUMBER: Schema = {"type": "number"}
_TYPE: Schema = {"enum": ["array", "boolean", "integer", "null", "number", "object", "string"]}

JSON_SCHEMA: Schema = {
    "type": "object",
    "description": "A JSON Schema of draft-07, 2019-09 or 2020-12; more keywords than these are taken.",
    "properties": {
        "title": _TEXT,
        "description": _TEXT,
        "type": {"anyOf": [_TYPE, {"type": "array", "items": _TYPE, "minItems": 1, "uniqueItems": True}]},
        "enum": {"type": "array", "minItems": 1},
        "const": True,
        "properties": _NAMED_PARTS,
        "required": {"type": "array", "items": _TEXT, "uniqueItems": True},
        "additionalProperties": _PART,
        "items": _PART,
        "minItems": _COUNT,
        "maxItems": _COUNT,
        "uniqueItems": {"type": "boolean"},
        "minLength": _COUNT,
        "maxLength": _COUNT,
        "minimum": _NUMBER,
        "maximum": _NUMBER,
        "allOf": _PARTS,
        "anyOf": _PARTS,
        "oneOf": _PARTS,
        "$defs": _NAMED_PARTS,
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
