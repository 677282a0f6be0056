"""Python values inside JSON: what JSON has no word for is written as `{"$python": KIND, "value": TEXT}`.

Tool arguments and results may hold decimals, bytes and dates; they come back as what they were. Tuples and sets come
back as lists, dataclasses and pydantic models as objects, and what nothing is known about as its text.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import decimal
import enum
import json
import math
import uuid
from collections.abc import Callable, Mapping, Set
from typing import Any, Final

from pydantic import BaseModel

from state.json_text import MAX_DEPTH, dump, is_deeper_than

_DEEPEST: Final = MAX_DEPTH // 2  # leaves room for what a document puts around a value
_MARK: Final = "$python"


def to_json_value(value: Any) -> Any:
    """Return `value` as a JSON value. Total: nothing is refused, and the result can be read in any document.

    What nests deeper than a document may is kept as JSON text, what contains itself as its `repr`.
    """
    try:
        written = _write(value)
        return _marked("json", dump(written)) if is_deeper_than(written, _DEEPEST) else written
    except RecursionError:
        return repr(value)


def _write(value: Any) -> Any:
    plain = _PLAIN.get(type(value))
    if plain is not None:
        return plain(value)
    for kind, write in _WRITERS.items():
        if isinstance(value, kind):
            return write(value)
    return _write_dataclass(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else str(value)


def from_json_value(value: Any) -> Any:
    """Return the Python value that `to_json_value` was given; what is not marked comes back as it is."""
    if type(value) is list:
        return [from_json_value(item) for item in value]
    if type(value) is not dict:
        return value
    if value.keys() == {_MARK, "value"}:
        return _marked_value(value)
    return {key: from_json_value(item) for key, item in value.items()}


def _marked_value(value: dict[str, Any]) -> Any:
    read = _READERS.get(value[_MARK]) if isinstance(value[_MARK], str) else None
    if read is None:
        return value
    try:
        return read(value["value"])
    except (
        ValueError,
        TypeError,
        ArithmeticError,
        AttributeError,
        RecursionError,
    ):  # another writer's object that looks like ours
        return value


def _same(value: Any) -> Any:
    return value


def _write_float(value: float) -> Any:
    return value if math.isfinite(value) else _marked("float", repr(value))


def _write_mapping(value: Mapping[Any, Any]) -> Any:
    written = {str(key): _write(item) for key, item in value.items()}
    return {_MARK: "dict", "value": list(map(list, written.items()))} if _MARK in written else written


def _write_sequence(value: Any) -> list[Any]:
    return [_write(item) for item in value]


def _write_set(value: Set[Any]) -> list[Any]:
    return sorted(_write_sequence(value), key=repr)  # sets have no order, documents must


def _write_dataclass(value: Any) -> Any:
    return {field.name: _write(getattr(value, field.name)) for field in dataclasses.fields(value)}


def _marked(kind: str, text: str) -> dict[str, str]:
    return {_MARK: kind, "value": text}


def _read_dict(pairs: list[Any]) -> dict[str, Any]:
    return {key: from_json_value(item) for key, item in pairs}


_PLAIN: Final[dict[type, Callable[[Any], Any]]] = {
    str: _same,
    int: _same,
    bool: _same,
    type(None): _same,
    float: _write_float,
    dict: _write_mapping,
    list: _write_sequence,
    tuple: _write_sequence,
}


# In the order of asking: a datetime is a date, an enum may be a str, a subclass of dict is a mapping.
_WRITERS: Final[dict[type, Callable[[Any], Any]]] = {
    enum.Enum: lambda value: _write(value.value),
    bytes: lambda value: _marked("bytes", base64.b64encode(value).decode()),
    bytearray: lambda value: _marked("bytes", base64.b64encode(value).decode()),
    decimal.Decimal: lambda value: _marked("decimal", str(value)),
    dt.datetime: lambda value: _marked("datetime", value.isoformat()),
    dt.date: lambda value: _marked("date", value.isoformat()),
    dt.time: lambda value: _marked("time", value.isoformat()),
    dt.timedelta: lambda value: _marked("timedelta", f"{value.days} {value.seconds} {value.microseconds}"),
    uuid.UUID: lambda value: _marked("uuid", str(value)),
    str: str.__str__,
    int: int.__int__,
    float: lambda value: _write_float(float(value)),
    BaseModel: lambda value: _write(value.model_dump()),
    Mapping: _write_mapping,
    list: _write_sequence,
    tuple: _write_sequence,
    Set: _write_set,
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
    "dict": _read_dict,
    "json": lambda text: from_json_value(json.loads(text)),
}

KINDS: Final = frozenset(_READERS)
