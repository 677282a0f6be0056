"""The inline constraints of route templates, `{id:int:min(1)}` (host contract 2.1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime

from devhost.errors import RouteError

Constraint = Callable[[str], bool]
_INTEGER = re.compile(r"\s*[+-]?0*\d{1,19}\s*", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?(\d[\d,]*\.?\d*|\.\d+)(e[+-]?\d+)?\s*", re.ASCII | re.IGNORECASE)
_DECIMAL = re.compile(r"\s*[+-]?(\d[\d,]*\.?\d*|\.\d+)\s*", re.ASCII)
_GUID = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_ALPHA = re.compile(r"[a-z]*", re.IGNORECASE | re.ASCII)
_DATE_FORMATS = ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M:%S", "%m/%d/%Y")


def make_constraint(text: str) -> Constraint:
    """Return the check for one constraint as written, `min(3)`; raise `RouteError` for one that ASP.NET lacks."""
    name, _, rest = text.partition("(")
    if rest and not rest.endswith(")"):
        raise RouteError(f"the constraint '{text}' has no closing parenthesis.")
    make = _CONSTRAINTS.get(name.lower())
    if make is None:
        raise RouteError(f"the constraint '{text}' is unknown. Use one of {', '.join(sorted(_CONSTRAINTS))}.")
    try:
        return make(rest[:-1])
    except (ValueError, re.error) as error:
        raise RouteError(f"the constraint '{text}' has unusable arguments: {error}.") from error


def _integer(bits: int) -> Constraint:
    return lambda value: bool(_INTEGER.fullmatch(value)) and -(1 << (bits - 1)) <= int(value) < 1 << (bits - 1)


def _between(low: int | None, high: int | None) -> Constraint:
    is_long = _integer(64)
    return lambda value: is_long(value) and (low is None or int(value) >= low) and (high is None or int(value) <= high)


def _length(low: int, high: int | None) -> Constraint:
    return lambda value: len(value) >= low and (high is None or len(value) <= high)


def _exact_or_range_length(arguments: str) -> Constraint:
    low, _, high = arguments.partition(",")
    return _length(int(low), int(high or low))


def _range(arguments: str) -> Constraint:
    low, _, high = arguments.partition(",")
    return _between(int(low), int(high))


def _matches(pattern: re.Pattern[str]) -> Constraint:
    return lambda value: pattern.fullmatch(value) is not None


def _regex(arguments: str) -> Constraint:
    pattern = re.compile(arguments, re.IGNORECASE)
    return lambda value: pattern.search(value) is not None


def _is_datetime(value: str) -> bool:
    return any(_parses(value, date_format) for date_format in _DATE_FORMATS)


def _parses(value: str, date_format: str) -> bool:
    try:
        datetime.strptime(value, date_format)
    except ValueError:
        return False
    return True


_CONSTRAINTS: Mapping[str, Callable[[str], Constraint]] = {
    "int": lambda _: _integer(32),
    "long": lambda _: _integer(64),
    "bool": lambda _: lambda value: value.lower() in ("true", "false"),
    "datetime": lambda _: _is_datetime,
    "decimal": lambda _: _matches(_DECIMAL),
    "double": lambda _: _matches(_NUMBER),
    "float": lambda _: _matches(_NUMBER),
    "guid": lambda _: _matches(_GUID),
    "alpha": lambda _: _matches(_ALPHA),
    "required": lambda _: lambda value: value != "",
    "regex": _regex,
    "min": lambda low: _between(int(low), None),
    "max": lambda high: _between(None, int(high)),
    "range": _range,
    "minlength": lambda low: _length(int(low), None),
    "maxlength": lambda high: _length(0, int(high)),
    "length": _exact_or_range_length,
}
