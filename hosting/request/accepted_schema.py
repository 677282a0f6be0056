"""Which JSON Schemas of callers are accepted: those that values can be checked against safely.

Theory. A schema comes from outside, so nothing in it may reach out or run away. References name a schema of the same
document, which makes one walk over its parts see all that can ever be used; the walk refuses by name what is not
served. What is accepted means what `jsonschema` makes of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import re2
from jsonschema import FormatChecker
from jsonschema.exceptions import SchemaError

from hosting.request.schema_parts import BadSchemaError, Schema, alone, compiled_pattern, dialect_of, subschemas
from hosting.request.schema_values import UncheckableError, value_fault
from state.json_text import dump, is_deeper_than

MAX_SCHEMA_CHARACTERS: Final = 32_768
MAX_SCHEMA_DEPTH: Final = 32
MAX_SCHEMA_PARTS: Final = 1_000
MAX_PATTERN_STEPS: Final = 10_000
"""Of all patterns of a schema as RE2 compiles them, about a microsecond each: an address has 20, `\\\\pL` has 1,200."""
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
    """Check each part by itself: a part within parts that are referred to is looked at once, not once for each."""
    dialect = dialect_of(schema)
    places = dict(islice(subschemas(schema), MAX_SCHEMA_PARTS + 1))
    if len(places) > MAX_SCHEMA_PARTS:
        raise BadSchemaError(f"has more than {MAX_SCHEMA_PARTS:,} schemas in it. Send a smaller schema.")
    checked: set[str] = set()
    for place, part in places.items():
        by_itself = alone(part)
        text = dump(by_itself)
        if text not in checked:
            _check_by_dialect(dialect, place, by_itself)
            checked.add(text)
        if isinstance(part, dict):
            _check_part(place, part, places)
    _check_patterns(places)


def _check_by_dialect(dialect: Any, place: str, part: Any) -> None:
    try:
        dialect.check_schema(part, format_checker=FormatChecker(formats=()))
    except SchemaError as error:
        within = "".join(f"/{step}" for step in error.absolute_path)
        raise BadSchemaError(
            f"is not a JSON Schema at {place + within:.200}: {error.instance!r:.60} breaks the rule "
            f"{error.validator!r}."
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


def _check_patterns(places: Mapping[str, Any]) -> None:
    """Check all patterns, each once; what they are compiled to takes time and memory, so there is a bound on it."""
    patterns = {
        part["pattern"]: place for place, part in places.items() if isinstance(part, dict) and "pattern" in part
    }
    steps = 0
    for pattern, place in patterns.items():
        try:
            steps += compiled_pattern(pattern).programsize
        except re2.error:
            raise BadSchemaError(
                f"has the pattern {pattern!r:.80} at {place:.80}, which RE2 does not read or finds too large. "
                "Do without look-around, back references, \\u and high counts."
            ) from None
        if steps > MAX_PATTERN_STEPS:
            raise BadSchemaError(f"has patterns that are too large together, up to {place:.80}. Use lower counts.")
