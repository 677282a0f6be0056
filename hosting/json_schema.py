"""JSON Schemas that callers send: checked before they are used, and values checked against them, in bounded time.

Theory. A schema comes from outside, so nothing in it may reach out or run away. References name a subschema of the
same document, and nothing is ever fetched. Patterns are RE2's, which match in linear time: Python's own may take for
ever, and hold every other thread meanwhile. References alone can double the work at each step, so every keyword looks
at the time. What these rules refuse is refused by name; all else means what `jsonschema` makes of it.

Importing this module takes a tenth of a second: import it where a request has a schema.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import re2
from jsonschema import Draft7Validator, Draft201909Validator, Draft202012Validator, FormatChecker, validators
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from referencing import Registry

from state.json_text import dump, is_deeper_than

MAX_SCHEMA_BYTES: Final = 32_768
MAX_SCHEMA_DEPTH: Final = 32
_TRIAL_SECONDS: Final = 0.05

Schema = Mapping[str, Any]
Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]

_DIALECTS: Final = {
    str(dialect.META_SCHEMA["$schema"]).rstrip("#"): dialect
    for dialect in (Draft7Validator, Draft201909Validator, Draft202012Validator)
}
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
_NAMED: Final = frozenset(["$defs", "definitions", "dependencies", "dependentSchemas", "properties"])
_TOP_ONLY: Final = ("$schema", "$id")
_NOT_SERVED: Final = {
    "patternProperties": "Name the properties, or use additionalProperties.",
    "$dynamicRef": "Use $ref.",
    "$recursiveRef": "Use $ref.",
}


class BadSchemaError(ValueError):
    """A schema that is not used; `str(error)` says where it is wrong and what to do, without its subject."""


class _TooSlowError(Exception):
    """A check did not end in its time."""


def check_schema(schema: Schema) -> None:
    """Raise `BadSchemaError` unless values can be checked against the schema. The same schema again costs little."""
    try:
        text = dump(schema)
    except ValueError:
        raise BadSchemaError("holds a number that is out of range. Send a smaller one.") from None
    _check_text(text)


@lru_cache(maxsize=64)
def _check_text(text: str) -> None:
    if len(text) > MAX_SCHEMA_BYTES:
        raise BadSchemaError(f"has {len(text):,} characters; the limit is {MAX_SCHEMA_BYTES:,}. Send a smaller schema.")
    schema = json.loads(text)
    if is_deeper_than(schema, MAX_SCHEMA_DEPTH):
        raise BadSchemaError(f"is nested deeper than {MAX_SCHEMA_DEPTH} levels. Give parts a name in $defs.")
    dialect = _dialect(schema)
    _check_dialect(dialect, schema)
    places = dict(_subschemas(schema))
    for place, part in places.items():
        if isinstance(part, dict):
            _check_part(place, part, places)
    for reference in {part["$ref"] for part in places.values() if isinstance(part, dict) and "$ref" in part} - {"#"}:
        _check_dialect(dialect, places[reference])  # an older dialect does not look into $defs
    if fault := value_fault(schema, None, _TRIAL_SECONDS, only_trouble=True):
        raise BadSchemaError(f"cannot be used: {fault}. Send a simpler schema.")


def _check_dialect(dialect: Any, schema: Schema | bool) -> None:
    try:
        dialect.check_schema(schema, format_checker=FormatChecker(formats=()))
    except SchemaError as error:
        place, rule = _shown(error.absolute_path), error.validator
        raise BadSchemaError(
            f"is not a JSON Schema at {place}: {error.instance!r:.60} breaks the rule {rule!r}."
        ) from None


def _dialect(schema: Schema) -> Any:
    name = schema.get("$schema", Draft202012Validator.META_SCHEMA["$schema"])
    dialect = _DIALECTS.get(name.rstrip("#")) if isinstance(name, str) else None
    if dialect is None:
        raise BadSchemaError(
            f"is of the dialect {name!r:.80}. Use one of {', '.join(_DIALECTS)}, or leave $schema out."
        )
    return dialect


def _subschemas(schema: Any) -> Iterator[tuple[str, Any]]:
    """Iterate over the schema and all schemas in it, each with its place as a reference."""
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


def _children(keyword: str, value: Any) -> Iterator[tuple[str, Any]]:
    if keyword in _MANY and isinstance(value, list):
        yield from ((f"/{index}", child) for index, child in enumerate(value))
    elif keyword in _NAMED and isinstance(value, dict):
        yield from ((f"/{_pointer(name)}", child) for name, child in value.items() if isinstance(child, dict | bool))
    elif keyword in _ONE:
        yield "", value


def _pointer(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


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
        _compiled(pattern)
    except re2.error:
        raise BadSchemaError(
            f"has the pattern {pattern!r:.80} at {place:.80}, which RE2 does not read. "
            "Do without look-around, back references and \\u."
        ) from None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def value_fault(schema: Schema, value: Any, seconds: float, *, only_trouble: bool = False) -> str | None:
    """Return why a value does not fit a checked schema, or None: the place and the rule, no word of the value itself.

    A check that takes longer than `seconds`, or does not end, is a fault; with `only_trouble` nothing else is.
    """
    try:
        error = best_match(_checker(schema, time.monotonic() + seconds).iter_errors(value))
    except _TooSlowError:
        return f"checking it takes longer than {seconds:g} s"
    except RecursionError:
        return "checking it does not end"
    except ArithmeticError:
        return "it has a number out of the range of its rule"
    if error is None or only_trouble:
        return None
    return f"at {_shown(error.absolute_path, _named(schema))} the rule {error.validator or 'false'!r} is broken"


def _named(schema: Schema) -> frozenset[str]:
    parts = (part for _, part in _subschemas(schema) if isinstance(part, dict))
    return frozenset(name for part in parts for name in part.get("properties", ()))


def _shown(path: Any, names: frozenset[str] | None = None) -> str:
    """Return a path as `$.items[0].price`; a name that is not one of `names` is the value's own and shown as `*`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{_or_star(part, names)}" for part in path)
    return "$" + "".join(parts)


def _or_star(name: str, names: frozenset[str] | None) -> str:
    return name if names is None or name in names else "*"


def _checker(schema: Schema, deadline: float) -> Any:
    """Return what checks values. The top's own names are left out: `$schema` would bring the unguarded dialect back."""
    dialect = _dialect(schema)
    keywords: dict[str, Keyword] = {**dialect.VALIDATORS, "pattern": _pattern, "uniqueItems": _unique_items}
    guarded = {name: _guarded(keyword, deadline) for name, keyword in keywords.items()}
    plain = {name: value for name, value in schema.items() if name not in _TOP_ONLY}
    return validators.extend(dialect, guarded)(plain, registry=Registry())


def _guarded(keyword: Keyword, deadline: float) -> Keyword:
    def guarded(validator: Any, rule: Any, value: Any, schema: Any) -> Iterator[ValidationError] | None:
        if time.monotonic() > deadline:
            raise _TooSlowError
        return keyword(validator, rule, value, schema)

    return guarded


def _pattern(validator: Any, rule: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(value, "string") and _compiled(rule).search(value) is None:
        yield ValidationError("no match")


def _unique_items(validator: Any, rule: bool, value: Any, schema: Any) -> Iterator[ValidationError]:
    """Compare by text: the library's comparison of every pair would take minutes for a long list of objects."""
    if rule and validator.is_type(value, "array"):
        texts = {json.dumps(_comparable(item), sort_keys=True) for item in value}
        if len(texts) < len(value):
            yield ValidationError("not unique")


def _comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _comparable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
