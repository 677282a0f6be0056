"""Values checked against a caller's schema, in bounded time.

Theory. References alone can double the work at each step, so every keyword looks at the time. Patterns are RE2's:
Python's own may take for ever, and hold every other thread meanwhile. Nothing is fetched: the registry is empty.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

from jsonschema import validators
from jsonschema.exceptions import ValidationError, best_match
from referencing import Registry

from hosting.request.schema_parts import Schema, compiled_pattern, dialect_of, shown_path, subschemas

Errors = Iterator[ValidationError]
Keyword = Callable[[Any, Any, Any, Any], Errors | None]


class UncheckableError(Exception):
    """A check that has no result; `str(error)` says why."""


class _TooSlowError(Exception):
    """The time of a check is over."""


def value_fault(schema: Schema, value: Any, seconds: float) -> str | None:
    """Return why a value does not fit an accepted schema, or None: the place and the rule, no word of the value.

    Raises `UncheckableError` when that takes longer than `seconds` or does not end.
    """
    error = _first_error(schema, value, seconds)
    if error is None:
        return None
    return f"at {shown_path(error.absolute_path, _named(schema))} the rule {error.validator or 'false'!r} is broken"


def _first_error(schema: Schema, value: Any, seconds: float) -> ValidationError | None:
    try:
        return best_match(_checker(schema, time.monotonic() + seconds).iter_errors(value))
    except _TooSlowError:
        raise UncheckableError(f"checking it takes longer than {seconds:g} s") from None
    except RecursionError:
        raise UncheckableError("checking it does not end") from None
    except ArithmeticError:
        raise UncheckableError("it has a number out of the range of its rule") from None


def _named(schema: Schema) -> frozenset[str]:
    parts = (part for _, part in subschemas(schema) if isinstance(part, dict))
    return frozenset(name for part in parts for name in part.get("properties", ()))


def _checker(schema: Schema, deadline: float) -> Any:
    """Return what checks values, without the top's own names: `$schema` would bring the unguarded dialect back."""
    dialect = dialect_of(schema)
    keywords: dict[str, Keyword] = {**dialect.VALIDATORS, "pattern": _pattern, "uniqueItems": _unique_items}
    guarded = {name: _guarded(keyword, deadline) for name, keyword in keywords.items()}
    nameless = {name: value for name, value in schema.items() if name not in ("$schema", "$id")}
    return validators.extend(dialect, guarded)(nameless, registry=Registry())


def _guarded(keyword: Keyword, deadline: float) -> Keyword:
    def guarded(validator: Any, rule: Any, value: Any, schema: Any) -> Errors | None:
        if time.monotonic() > deadline:
            raise _TooSlowError
        return keyword(validator, rule, value, schema)

    return guarded


def _pattern(validator: Any, rule: str, value: Any, schema: Any) -> Errors:
    if validator.is_type(value, "string") and compiled_pattern(rule).search(value) is None:
        yield ValidationError("no match")


def _unique_items(validator: Any, rule: bool, value: Any, schema: Any) -> Errors:
    """Compare by text: the library's comparison of every pair would take minutes for a long list of objects."""
    if rule and validator.is_type(value, "array"):
        texts = {json.dumps(_comparable(item), sort_keys=True) for item in value}
        if len(texts) < len(value):
            yield ValidationError("not unique")


def _comparable(value: Any) -> Any:
    """Return the value with each number that is whole as an integer: 1.0 and 1 are one number in JSON Schema."""
    if isinstance(value, dict):
        return {name: _comparable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
