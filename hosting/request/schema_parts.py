"""The parts of a JSON Schema: its dialect, the schemas in it with their places, and its patterns.

Importing this module takes a tenth of a second: import it where a request has a schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import re2
from jsonschema import Draft7Validator, Draft201909Validator, Draft202012Validator

Schema = Mapping[str, Any]

DIALECTS: Final = {
    str(dialect.META_SCHEMA["$schema"]).rstrip("#"): dialect
    for dialect in (Draft7Validator, Draft201909Validator, Draft202012Validator)
}
_LATEST: Final = Draft202012Validator.META_SCHEMA["$schema"]
_ONE: Final = frozenset(
    [
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    ]
)
_MANY: Final = frozenset(["allOf", "anyOf", "items", "oneOf", "prefixItems"])
_MOST_PATTERN_BYTES: Final = 1 << 20
_WORDS: Final = frozenset(["required", "type"])
_NAMED: Final = frozenset(["$defs", "definitions", "dependencies", "dependentSchemas", "properties"])


class BadSchemaError(ValueError):
    """A schema that is not used; `str(error)` says where it is wrong and what to do, without its subject."""


def dialect_of(schema: Schema) -> Any:
    """Return the validator class that `$schema` names, the newest without one; else raise `BadSchemaError`."""
    name = schema.get("$schema", _LATEST)
    dialect = DIALECTS.get(name.rstrip("#")) if isinstance(name, str) else None
    if dialect is None:
        raise BadSchemaError(f"is of the dialect {name!r:.80}. Use one of {', '.join(DIALECTS)}, or leave $schema out.")
    return dialect


def subschemas(schema: Any) -> Iterator[tuple[str, Any]]:
    """Iterate over the schema and all schemas in it, booleans too, each with its place as a reference says it."""
    pending = [("#", schema)]
    while pending:
        place, part = pending.pop()
        yield place, part
        if isinstance(part, dict):
            pending += [
                (f"{place}/{_pointer(keyword)}{inner}", child)
                for keyword, value in part.items()
                for inner, child in _children(keyword, value)
            ]


def alone(part: Any) -> Any:
    """Return a part without the schemas in it, which are parts themselves: what a dialect judges of it alone."""
    if not isinstance(part, dict):
        return part
    kept: dict[str, Any] = {}
    for keyword, value in part.items():
        if keyword in _MANY and isinstance(value, list):
            kept[keyword] = [True] if value else []  # some lists may not be empty, others may not be lists
        elif keyword in _NAMED and isinstance(value, dict):
            kept[keyword] = {name: _words(child) for name, child in value.items() if not isinstance(child, dict | bool)}
        elif keyword not in _ONE:
            kept[keyword] = _words(value) if keyword in _WORDS else value
    return kept


def _words(value: Any) -> Any:
    """Return a list of words as it is, of a list with anything else in it that alone: it is as wrong, and shorter.

    The library looks for equal words first, and compares each with each where not all are words.
    """
    wrong = [item for item in value if not isinstance(item, str)] if isinstance(value, list) else []
    return wrong[:1] or value


def _children(keyword: str, value: Any) -> Iterator[tuple[str, Any]]:
    if keyword in _MANY and isinstance(value, list):
        yield from ((f"/{index}", child) for index, child in enumerate(value))
    elif keyword in _NAMED and isinstance(value, dict):
        yield from ((f"/{_pointer(name)}", child) for name, child in value.items() if isinstance(child, dict | bool))
    elif keyword in _ONE:
        yield "", value


def _pointer(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


@lru_cache(maxsize=256)
def compiled_pattern(pattern: str) -> Any:
    """Return RE2's expression, which matches in linear time.

    Raises `re2.error` for what RE2 does not read, and for what it makes too much of: a dozen characters can ask for
    megabytes and a second.
    """
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MOST_PATTERN_BYTES
    return re2.compile(pattern, options)


def shown_path(path: Any, names: frozenset[str] | None = None) -> str:
    """Return a path as `$.items[0].price`; a name that is not one of `names` is the value's own and shown as `*`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{_or_star(part, names)}" for part in path)
    return f"${''.join(parts):.200}"


def _or_star(name: str, names: frozenset[str] | None) -> str:
    return name if names is None or name in names else "*"
