"""The SDK's own converters between the texts on the wire and Python values.

They call `from_json` and `to_json` of the app's own classes, which may raise what they like.
"""

from __future__ import annotations

from typing import Any, Literal

from azure.functions.meta import Datum, _ConverterMeta

from devhost.ports import FunctionFailedError

WireKind = Literal["string", "json"]


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
