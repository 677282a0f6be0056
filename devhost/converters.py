"""The SDK's own converters between the texts on the wire and Python values.

They call `from_json` and `to_json` of the app's own classes, which may raise what they like.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from azure.functions.meta import Datum, _ConverterMeta

from devhost.ports import FunctionFailedError

WireKind = Literal["string", "json"]


GENERIC = "generic"
"""The converter of plain texts and bytes, which is the worker's own: the SDK has none of that name."""


def converter_of(binding_type: object) -> Any:
    """Return the SDK's converter class for a binding type, None when it has none."""
    return _ConverterMeta.get(binding_type)  # type: ignore[no-untyped-call]


def has_implicit_output(binding_type: object) -> bool:
    """Return whether a function of this trigger type answers without a `$return` binding."""
    return bool(getattr(converter_of(binding_type), "has_implicit_output", lambda: False)())


def decode_text(binding_type: str, text: str, kind: WireKind) -> object:
    """Return the value that a function of this trigger type is called with; raise `FunctionFailedError` if none."""
    try:
        return converter_of(binding_type).decode(Datum(text, kind), trigger_metadata={})
    except BaseException as error:
        raise FunctionFailedError.of(error) from error


def decode_datum(converter: str, datum: Datum, metadata: Mapping[str, Datum]) -> object:
    """Return the value for a parameter, of what a trigger or an input brings; raise `FunctionFailedError` if none."""
    if converter == GENERIC:
        return datum.value
    try:
        return converter_of(converter).decode(datum, trigger_metadata=metadata)
    except BaseException as error:
        raise FunctionFailedError.of(error) from error


def encode_output(converter: str, value: object) -> Datum:
    """Return what a function set or returned, as its output carries it; raise `FunctionFailedError` when it cannot."""
    if value is None:
        return Datum(None, None)
    if converter != GENERIC:
        return encode_result(converter, value)
    match value:
        case str():
            return Datum(value, "string")
        case bytes() | bytearray():
            return Datum(bytes(value), "bytes")
        case dict() | list():
            return Datum(json.dumps(value), "json")
    raise FunctionFailedError(f"TypeError: unable to encode outgoing TypedData: {type(value).__name__!r} in Out[str]")


def encode_result(binding_type: str, result: object) -> Datum:
    """Return what a function answered as its binding carries it; raise `FunctionFailedError` when it cannot."""
    try:
        datum: Datum = converter_of(binding_type).encode(result, expected_type=None)
    except NotImplementedError as error:
        found = f'unsupported type "{binding_type}" for Python type "{type(result).__name__}"'
        raise FunctionFailedError(f"TypeError: unable to encode outgoing TypedData: {found}") from error
    except BaseException as error:
        raise FunctionFailedError.of(error) from error
    return datum
