"""JSON Schemas of callers: which are accepted, and values checked against them in bounded time.

Theory. A schema comes from outside, so nothing in it may reach out or run away. References name a schema of the same
document, which makes one walk over its parts see all that can ever be used; the walk refuses by name every keyword that
is not served. `jsonschema` gives the others their meaning. References alone can double the work at each step, so every
keyword checks the time, or counts. Patterns are RE2's: Python's own may take for ever, and hold every other thread
meanwhile. Nothing is fetched: the registry is empty.

Importing this module takes a tenth of a second: import it where a request has a schema.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import re2
from jsonschema import Draft7Validator, Draft201909Validator, Draft202012Validator, FormatChecker, validators
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from referencing import Registry

from hosting.strict_json.parsing import Schema
from state.json_values import dump, is_deeper_than

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
_NAMED: Final = frozenset(["$defs", "definitions", "dependencies", "dependentSchemas", "properties"])
_STRINGS: Final = frozenset(["required", "type"])
"""The keywords that hold one schema, a list of schemas, schemas by name, and a list of strings."""

_MOST_PATTERN_BYTES: Final = 1 << 20
MAX_SCHEMA_CHARACTERS: Final = 32_768
MAX_SCHEMA_DEPTH: Final = 32
MAX_SCHEMA_PARTS: Final = 1_000
MAX_PATTERN_STEPS: Final = 10_000
"""Of all patterns of a schema as RE2 compiles them, about a microsecond each: an address has 20, `\\\\pL` has 1,200."""
_MAX_TRIAL_STEPS: Final = 10_000
_TOP_ONLY: Final = ("$schema", "$id")
_NOT_SERVED: Final = {
    "patternProperties": "Name the properties, or use additionalProperties.",
    "$dynamicRef": "Use $ref.",
    "$recursiveRef": "Use $ref.",
}


class BadSchemaError(ValueError):
    """A refused schema; `str(error)` says where it is wrong and what to do, without its subject."""


def dialect_of(schema: Schema) -> Any:
    """Return the validator class that `$schema` names, the newest without one; else raise `BadSchemaError`."""
    name = schema.get("$schema", _LATEST)
    dialect = DIALECTS.get(name.rstrip("#")) if isinstance(name, str) else None
    if dialect is None:
        raise BadSchemaError(f"is of the dialect {name!r:.80}. Use one of {', '.join(DIALECTS)}, or leave $schema out.")
    return dialect


def subschemas(schema: Any) -> Iterator[tuple[str, Any]]:
    """Iterate over the schema and all schemas in it, booleans too, each with its path as a reference says it."""
    pending = [("#", schema)]
    while pending:
        path, part = pending.pop()
        yield path, part
        for keyword, value in part.items() if isinstance(part, dict) else ():
            inner = f"{path}/{_pointer(keyword)}"
            if keyword in _MANY and isinstance(value, list):
                pending += [(f"{inner}/{index}", child) for index, child in enumerate(value)]
            elif keyword in _NAMED and isinstance(value, dict):
                children = ((name, child) for name, child in value.items() if isinstance(child, dict | bool))
                pending += [(f"{inner}/{_pointer(name)}", child) for name, child in children]
            elif keyword in _ONE:
                pending.append((inner, value))


def _pointer(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _alone(part: Any) -> Any:
    """Return a part without its subschemas, which are parts themselves: a dialect judges it alone."""
    if not isinstance(part, dict):
        return part
    rest: dict[str, Any] = {}
    for keyword, value in part.items():
        if keyword in _MANY and isinstance(value, list):
            rest[keyword] = [True] if value else []  # some lists may not be empty, others may not be lists
        elif keyword in _NAMED and isinstance(value, dict):
            rest[keyword] = {
                name: _strings(child) for name, child in value.items() if not isinstance(child, dict | bool)
            }
        elif keyword not in _ONE:
            rest[keyword] = _strings(value) if keyword in _STRINGS else value
    return rest


def _strings(value: Any) -> Any:
    """Return a list of strings as it is, of a list with anything else in it that alone: it is as wrong, and shorter.

    The library looks for equal strings first, and compares each with each where not all are strings.
    """
    wrong = [item for item in value if not isinstance(item, str)] if isinstance(value, list) else []
    return wrong[:1] or value


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


Errors = Iterator[ValidationError]
Keyword = Callable[[Any, Any, Any, Any], Errors | None]


class UncheckableError(Exception):
    """A check that has no result; `str(error)` says why."""


class _TooLongError(Exception):
    """The time or the steps of a check are over."""


def value_fault(schema: Schema, value: Any, seconds: float) -> str | None:
    """Return why a value does not fit an accepted schema, or None: the path and the rule, and nothing of the value.

    A name in the path that the schema does not have is the value's own and shown as `*`. Raises `UncheckableError` when
    the check takes longer than `seconds` or does not end.
    """
    deadline = time.thread_time() + seconds
    return _fault(schema, value, lambda _: time.thread_time() > deadline, f"longer than {seconds:g} s")


class _Steps:
    """Counts the keywords that a check meets, one with a long rule as several: the library's errors hold its text."""

    def __init__(self) -> None:
        self._left = _MAX_TRIAL_STEPS

    def __call__(self, rule: Any) -> bool:
        """Return whether this rule is one too many."""
        self._left -= 1 + len(repr(rule)) // 256
        return self._left < 0


def _fault(schema: Schema, value: Any, is_over: Callable[[Any], bool], limit: str) -> str | None:
    try:
        error = best_match(_checker(schema, is_over).iter_errors(value))
    except _TooLongError:
        raise UncheckableError(f"checking it takes {limit}") from None
    except RecursionError:
        raise UncheckableError("checking it does not end") from None
    except ArithmeticError:
        raise UncheckableError("it has a number out of the range of its rule") from None
    except BaseException as panic:
        # The library's Rust part panics where it meets the recursion limit, with a class that is no `Exception`.
        if type(panic).__name__ != "PanicException":
            raise
        raise UncheckableError("checking it does not end") from None
    if error is None:
        return None
    parts = (part for _, part in subschemas(schema) if isinstance(part, dict))
    names = {name for part in parts for name in part.get("properties", ())}
    steps = (
        f"[{step}]" if isinstance(step, int) else f".{step if step in names else '*'}" for step in error.absolute_path
    )
    path = f"${''.join(steps):.200}"
    return f"at {path} the rule {error.validator or 'false'!r} is broken"


def _checker(schema: Schema, is_over: Callable[[Any], bool]) -> Any:
    """Return the schema for checks, without the top's own names: `$schema` would bring the unguarded dialect back."""
    dialect = dialect_of(schema)
    keywords: dict[str, Keyword] = {**dialect.VALIDATORS, "pattern": _pattern, "uniqueItems": _unique_items}
    guarded = {name: _guarded(keyword, is_over) for name, keyword in keywords.items()}
    nameless = {name: value for name, value in schema.items() if name not in _TOP_ONLY}
    return validators.extend(dialect, guarded)(nameless, registry=Registry())


def _guarded(keyword: Keyword, is_over: Callable[[Any], bool]) -> Keyword:
    def guarded(validator: Any, rule: Any, value: Any, schema: Any) -> Errors | None:
        if is_over(rule):
            raise _TooLongError
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


def check_schema(schema: Schema) -> None:
    """Raise `BadSchemaError` unless values can be checked against the schema. The same schema again costs little."""
    try:
        text = dump(schema)
    except ValueError:
        raise BadSchemaError("holds a number that is out of range. Send a smaller one.") from None
    if (fault := _fault_of(text)) is not None:
        raise BadSchemaError(fault)


@lru_cache(maxsize=64)
def _fault_of(text: str) -> str | None:
    try:
        _check_text(text)
    except BadSchemaError as error:
        return str(error)
    return None


def _check_text(text: str) -> None:
    if len(text) > MAX_SCHEMA_CHARACTERS:
        raise BadSchemaError(
            f"has {len(text):,} characters; the limit is {MAX_SCHEMA_CHARACTERS:,}. Send a smaller schema."
        )
    schema = json.loads(text)
    if is_deeper_than(schema, MAX_SCHEMA_DEPTH):
        raise BadSchemaError(f"is nested deeper than {MAX_SCHEMA_DEPTH} levels. Give parts a name in $defs.")
    _check_parts(schema)
    try:  # by steps: a pause of the machine can use up any time, and the same schema would be right or wrong
        _fault(schema, None, _Steps(), f"more than {_MAX_TRIAL_STEPS:,} steps")
    except UncheckableError as error:
        raise BadSchemaError(f"cannot be used: {error}. Send a simpler schema.") from None


def _check_parts(schema: Schema) -> None:
    """Check each part by itself: a part within parts that are referred to is checked once, not once for each."""
    dialect = dialect_of(schema)
    parts = dict(islice(subschemas(schema), MAX_SCHEMA_PARTS + 1))
    if len(parts) > MAX_SCHEMA_PARTS:
        raise BadSchemaError(f"has more than {MAX_SCHEMA_PARTS:,} schemas in it. Send a smaller schema.")
    checked: set[str] = set()
    for path, part in parts.items():
        alone = _alone(part)
        text = dump(alone)
        if text not in checked:
            _check_by_dialect(dialect, path, alone)
            checked.add(text)
        if not isinstance(part, dict):
            continue
        for keyword, advice in _NOT_SERVED.items():
            if keyword in part:
                raise BadSchemaError(f"has {keyword} at {path:.80}, which is not served. {advice}")
        for keyword in _TOP_ONLY:
            if keyword in part and path != "#":
                raise BadSchemaError(f"has {keyword} at {path:.80}. It may stand at the top only.")
        if part.get("$ref", "#") not in parts:
            raise BadSchemaError(
                f"has the reference {part['$ref']!r:.80} at {path:.80}. Refer to a schema of the same document, "
                "like #/$defs/name; nothing is fetched."
            )
    _check_patterns(
        {part["pattern"]: path for path, part in parts.items() if isinstance(part, dict) and "pattern" in part}
    )


def _check_by_dialect(dialect: Any, path: str, part: Any) -> None:
    try:
        dialect.check_schema(part, format_checker=FormatChecker(formats=()))
    except SchemaError as error:
        within = "".join(f"/{step}" for step in error.absolute_path)
        raise BadSchemaError(
            f"is not a JSON Schema at {path + within:.200}: {error.instance!r:.60} breaks the rule {error.validator!r}."
        ) from None


def _check_patterns(paths: Mapping[str, str]) -> None:
    """Check each pattern, which has a path here; compiled ones take time and memory, so there is a bound on them."""
    steps = 0
    for pattern, path in paths.items():
        try:
            steps += compiled_pattern(pattern).programsize
        except re2.error:
            raise BadSchemaError(
                f"has the pattern {pattern!r:.80} at {path:.80}, which RE2 does not read or finds too large. "
                "Do without look-around, back references, \\u and high counts."
            ) from None
        if steps > MAX_PATTERN_STEPS:
            raise BadSchemaError(f"has patterns that are too large together, up to {path:.80}. Use lower counts.")
