"""JSON Schemas of an app's own code as readers get them: the rules, and no values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SCHEMAS = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_LISTS_OF_SCHEMAS = ("anyOf", "allOf", "oneOf", "prefixItems")
_SCHEMAS_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_VALUES = ("default", "examples", "example")
"""Keywords whose values an author may take from the environment."""


def without_values(schema: Any) -> Any:
    """Return a JSON Schema without default values and examples."""
    if not isinstance(schema, Mapping):
        return schema
    shown: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in _VALUES:
            continue
        if keyword in (*_SCHEMAS, "schema", "json_schema"):
            shown[keyword] = without_values(value)
        elif keyword in _LISTS_OF_SCHEMAS and isinstance(value, list):
            shown[keyword] = [without_values(part) for part in value]
        elif keyword in _SCHEMAS_BY_NAME and isinstance(value, Mapping):
            shown[keyword] = {name: without_values(part) for name, part in value.items()}
        else:
            shown[keyword] = value
    return shown
