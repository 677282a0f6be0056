"""Strict JSON: every value that is read can be written back unchanged; other values are refused by name.

Duplicate keys keep the last value, as in every reader of this format. Lone surrogates that another writer escaped
survive as escapes; in what we write they are replaced by U+FFFD, because no other reader takes them.

Python values that JSON has no word for, such as the decimals, bytes and dates of tool arguments and results, are
written as `{"$python": KIND, "value": TEXT}` and come back as what they were. Tuples and sets come back as lists,
dataclasses and pydantic models as objects, and what nothing is known about as its text.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import decimal
import enum
import json
import math
import re
import secrets
import uuid
from collections.abc import Callable, Mapping, Set
from typing import Any, Final, NoReturn

from pydantic import BaseModel

from state.errors import NestedTooDeepError, NotJsonError, NumberOutOfRangeError
from state.portable import portable_text

_BLANK: Final = re.compile(r"[ \t\r\n]*")
MAX_DEPTH: Final = 100  # far below the recursion limits of Python's and pydantic's writers, which differ by version


class WrittenNumber:
    """A number with digits that a float would change, such as 1.10 or twenty digits: written back as read.

    Of no class that pydantic or `json` knows: they would write it in their own way.
    """

    __slots__ = ("digits",)

    def __init__(self, digits: str) -> None:
        self.digits = digits

    def __float__(self) -> float:
        return float(self.digits)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WrittenNumber) and other.digits == self.digits

    def __hash__(self) -> int:
        return hash(self.digits)

    def __repr__(self) -> str:
        return self.digits


def parse(text: str) -> Any:
    """Return the JSON value of `text`; a number that a float would change is a `WrittenNumber`.

    Raises `NotJsonError`, `NumberOutOfRangeError` (1e400, integers of thousands of digits) or `NestedTooDeepError`
    (over `MAX_DEPTH` levels).
    """
    value, end = parse_from(text, _BLANK.match(text).end())  # type: ignore[union-attr]  # matches any text
    if _BLANK.fullmatch(text, end) is None:
        raise NotJsonError(f"The stored document is not JSON: something follows its end at character {end}.")
    return value


def parse_from(text: str, start: int, levels: int = MAX_DEPTH) -> tuple[Any, int]:
    """Return the JSON value that begins at `start`, and where it ends. Raises as `parse` does."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise NotJsonError(f"The stored document is not JSON: {error}.") from error
    except ValueError as error:  # an integer longer than sys.get_int_max_str_digits()
        raise NumberOutOfRangeError("The stored document holds an integer of thousands of digits.") from error
    except RecursionError as error:
        raise _too_deep() from error
    # Counting is fast and nearly always enough: a value nests no deeper than it has opening brackets.
    if text.count("{", start, end) + text.count("[", start, end) > levels and is_deeper_than(value, levels):
        raise _too_deep()
    return value, end


def dump(value: Any) -> str:
    """Return the compact JSON text of `value`, keys in their order, text in UTF-8 where UTF-8 can hold it."""
    text = _ENCODER.encode(value)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        text = _ASCII_ENCODER.encode(value)
    return _STANDS_FOR_NUMBER.sub(r"\1", text) if _SECRET in text else text


def is_deeper_than(value: Any, limit: int) -> bool:
    """Return whether a value nests deeper, level by level, so that no depth can exhaust the stack."""
    level = [value] if type(value) in (dict, list) else []
    for _ in range(limit):
        if not level:
            return False
        level = [
            item
            for container in level
            for item in (container.values() if type(container) is dict else container)
            if type(item) in (dict, list)
        ]
    return bool(level)


def _number(digits: str) -> float | WrittenNumber:
    number = float(digits)
    if math.isinf(number):
        raise NumberOutOfRangeError(f"The number {digits:.40} cannot be held unchanged.")
    return number if repr(number) == digits else WrittenNumber(digits)


def _standing_for(value: object) -> str:
    """Return a placeholder text for a number while the value around it is encoded; it cannot be guessed."""
    if isinstance(value, WrittenNumber):
        return f"{_SECRET}{value.digits}"
    raise TypeError(f"A {type(value).__name__} is not a JSON value.")


def _refuse_constant(name: str) -> NoReturn:
    raise NotJsonError(f"The stored document is not JSON: it holds {name}.")


def _too_deep() -> NestedTooDeepError:
    return NestedTooDeepError(f"The stored document nests deeper than {MAX_DEPTH} levels.")


_SECRET: Final = f"number-{secrets.token_hex(16)}-"
_STANDS_FOR_NUMBER: Final = re.compile(f'"{_SECRET}([0-9.eE+-]+)"')
_DECODER: Final = json.JSONDecoder(parse_float=_number, parse_constant=_refuse_constant)
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_standing_for)
_ASCII_ENCODER: Final = json.JSONEncoder(
    ensure_ascii=True, allow_nan=False, separators=(",", ":"), default=_standing_for
)


_MOST_LEVELS: Final = 200  # each takes three frames of the thousand that a stack may have
_DEEPEST: Final = MAX_DEPTH // 2  # leaves room for what a document puts around a value
_MARK: Final = "$python"


def to_json_value(value: Any) -> Any:
    """Return `value` as a JSON value. Total: nothing is refused, and the result can be read in any document.

    What nests deeper than a document may is kept as JSON text, and as its `repr` what contains itself, or nests more
    than `_MOST_LEVELS` deep.
    """
    try:
        written = _write(value, 0)
    except (_EndlessError, RecursionError):  # the second of a class that writes itself
        return repr(value)
    return _marked("json", dump(written)) if is_deeper_than(written, _DEEPEST) else written


class _EndlessError(Exception):
    """The value has too many levels: the stack would end, for whatever else runs at that depth too."""


def _write(value: Any, level: int) -> Any:
    if type(value) is str:
        return portable_text(value)
    if type(value) in _SCALARS:
        return value
    if level > _MOST_LEVELS:
        raise _EndlessError
    plain = _PLAIN.get(type(value))
    if plain is not None:
        return plain(value, level)
    for kind, write in _WRITERS.items():
        if isinstance(value, kind):
            return write(value, level)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return _write_mapping(fields, level)
    return portable_text(str(value))


def portable_value(value: Any) -> Any:
    """Return a JSON value as we write one: whole characters, in keys too, and numbers as floats."""
    if type(value) is str:
        return portable_text(value)
    if type(value) is list:
        return [portable_value(item) for item in value]
    if type(value) is dict:
        return {portable_text(key): portable_value(item) for key, item in value.items()}
    return float(value) if type(value) is WrittenNumber else value


def from_json_value(value: Any) -> Any:
    """Return the Python value that `to_json_value` was given; unmarked values come back as they are."""
    if type(value) is list:
        return [from_json_value(item) for item in value]
    if type(value) is not dict:
        return float(value) if type(value) is WrittenNumber else value
    if value.keys() == {_MARK, "value"}:
        return _marked_value(value)
    return {key: from_json_value(item) for key, item in value.items()}


def _marked_value(value: dict[str, Any]) -> Any:
    read = _READERS.get(value[_MARK]) if isinstance(value[_MARK], str) else None
    if read is None:
        return value
    try:
        return read(value["value"])
    except (ValueError, TypeError, ArithmeticError, AttributeError, RecursionError):
        return value  # another writer's object in our form


def _write_float(value: float, _: int) -> Any:
    return value if math.isfinite(value) else _marked("float", repr(value))


def _write_mapping(value: Mapping[Any, Any], level: int) -> Any:
    written = {portable_text(str(key)): _write(item, level + 1) for key, item in value.items()}
    return {_MARK: "dict", "value": list(map(list, written.items()))} if _MARK in written else written


def _write_sequence(value: Any, level: int) -> list[Any]:
    return [_write(item, level + 1) for item in value]


def _marked(kind: str, text: str) -> dict[str, str]:
    return {_MARK: kind, "value": text}


_SCALARS: Final = frozenset({int, bool, type(None)})
_PLAIN: Final[dict[type, Callable[[Any, int], Any]]] = {
    float: _write_float,
    dict: _write_mapping,
    list: _write_sequence,
    tuple: _write_sequence,
}


# The order counts: a datetime is a date, an enum may be a str, a subclass of dict is a mapping.
_WRITERS: Final[dict[type, Callable[[Any, int], Any]]] = {
    enum.Enum: lambda value, level: _write(value.value, level),
    bytes: lambda value, _: _marked("bytes", base64.b64encode(value).decode()),
    bytearray: lambda value, _: _marked("bytes", base64.b64encode(value).decode()),
    decimal.Decimal: lambda value, _: _marked("decimal", str(value)),
    dt.datetime: lambda value, _: _marked("datetime", value.isoformat()),
    dt.date: lambda value, _: _marked("date", value.isoformat()),
    dt.time: lambda value, _: _marked("time", value.isoformat()),
    dt.timedelta: lambda value, _: _marked("timedelta", f"{value.days} {value.seconds} {value.microseconds}"),
    uuid.UUID: lambda value, _: _marked("uuid", str(value)),
    WrittenNumber: lambda value, _: value,
    str: lambda value, _: portable_text(str.__str__(value)),
    int: lambda value, _: int.__int__(value),
    float: lambda value, level: _write_float(float(value), level),
    BaseModel: lambda value, level: _write(value.model_dump(), level),
    Mapping: _write_mapping,
    list: _write_sequence,
    tuple: _write_sequence,
    Set: lambda value, level: sorted(_write_sequence(value, level), key=repr),  # sets have no order, documents must
}

_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "bytes": lambda text: base64.b64decode(text, validate=True),
    "decimal": decimal.Decimal,
    "datetime": dt.datetime.fromisoformat,
    "date": dt.date.fromisoformat,
    "time": dt.time.fromisoformat,
    "timedelta": lambda text: dt.timedelta(*map(int, text.split(" "))),
    "uuid": uuid.UUID,
    "float": float,
    "dict": lambda pairs: {key: from_json_value(item) for key, item in pairs},
    "json": lambda text: from_json_value(json.loads(text)),
}

PYTHON_KINDS: Final = frozenset(_READERS)
