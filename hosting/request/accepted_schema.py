"""Which JSON Schemas of callers are accepted: those that values can be checked against safely.

Theory. A schema comes from outside, so nothing in it may reach out or run away. References name a schema of the same
document, which makes one walk over its parts see all that can ever be used; the walk refuses by name what is not
served. What is accepted means what `jsonschema` makes of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import re2
from jsonschema import FormatChecker
from jsonschema.exceptions import SchemaError

from hosting.request.schema_parts import BadSchemaError, Schema, compiled_pattern, dialect_of, shown_path, subschemas
from hosting.request.schema_values import UncheckableError, value_fault
from state.json_text import dump, is_deeper_than

MAX_SCHEMA_CHARACTERS: Final = 32_768
MAX_SCHEMA_DEPTH: Final = 32
_TRIAL_SECONDS: Final = 0.05
_TOP_ONLY: Final = ("$schema", "$id")
_NOT_SERVED: Final = {
    "patternProperties": "Name the properties, or use additionalProperties.",
    "$dynamicRef": "Use $ref.",
    "$recursiveRef": "Use $ref.",
}


def check_schema(schema: Schema) -> None:
    """Raise `BadSchemaError` unless values can be checked against the schema. The same schema again costs little."""
    try:
        text = dump(schema)
    except ValueError:
        raise BadSchemaError("holds a number that is out of range. Send a smaller one.") from None
    _check_text(text)


@lru_cache(maxsize=64)
def _check_text(text: str) -> None:
    if len(text) > MAX_SCHEMA_CHARACTERS:
        raise BadSchemaError(
            f"has {len(text):,} characters; the limit is {MAX_SCHEMA_CHARACTERS:,}. Send a smaller schema."
        )
    schema = json.loads(text)
    if is_deeper_than(schema, MAX_SCHEMA_DEPTH):
        raise BadSchemaError(f"is nested deeper than {MAX_SCHEMA_DEPTH} levels. Give parts a name in $defs.")
    _check_parts(schema)
    try:
        value_fault(schema, None, _TRIAL_SECONDS)
    except UncheckableError as error:
        raise BadSchemaError(f"cannot be used: {error}. Send a simpler schema.") from None


def _check_parts(schema: Schema) -> None:
    dialect = dialect_of(schema)
    _check_by_dialect(dialect, schema)
    places = dict(subschemas(schema))
    for place, part in places.items():
        if isinstance(part, dict):
            _check_part(place, part, places)
    referred = {part["$ref"] for part in places.values() if isinstance(part, dict) and "$ref" in part}
    for reference in sorted(referred - {"#"}):
        _check_by_dialect(dialect, places[reference])  # an older dialect does not look into $defs


def _check_by_dialect(dialect: Any, schema: Schema | bool) -> None:
    try:
        dialect.check_schema(schema, format_checker=FormatChecker(formats=()))
    except SchemaError as error:
        place = shown_path(error.absolute_path)
        raise BadSchemaError(
            f"is not a JSON Schema at {place}: {error.instance!r:.60} breaks the rule {error.validator!r}."
        ) from None


def _check_part(place: str, part: Schema, places: Mapping[str, Any]) -> None:
    for keyword, advice in _NOT_SERVED.items():
        if keyword in part:
            raise BadSchemaError(f"has {keyword} at {place:.80}, which is not served. {advice}")
    for keyword in _TOP_ONLY:
        if keyword in part and place != "#":
            raise BadSchemaError(f"has {keyword} at {place:.80}. It may stand at the top only.")
    if part.get("$ref", "#") not in places:
        raise BadSchemaError(
            f"has the reference {part['$ref']!r:.80} at {place:.80}. Refer to a schema of the same document, "
            "like #/$defs/name; nothing is fetched."
        )
    if "pattern" in part:
        _check_pattern(place, part["pattern"])


def _check_pattern(place: str, pattern: str) -> None:
    try:
        compiled_pattern(pattern)
    except re2.error:
        raise BadSchemaError(
            f"has the pattern {pattern!r:.80} at {place:.80}, which RE2 does not read. "
            "Do without look-around, back references and \\u."
        ) from None
