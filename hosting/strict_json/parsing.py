"""Strict JSON from callers and models: one value, no duplicate keys, finite numbers, bounded depth, storable text."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NoReturn

from hosting.errors import InvalidEncodingError, InvalidJsonError
from state.json_values import is_deeper_than

Schema = Mapping[str, Any]
"""A JSON Schema, in Python's values."""

MAX_DEPTH = 64
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


def parse_json(body: bytes) -> Any:
    """Return the JSON value of a body; raise `InvalidJsonError` or `InvalidEncodingError` saying where it is wrong."""
    text = decode_utf8(body)
    value = parse_text(text)
    if "\\u" in text:
        refuse_lone_surrogates(value)
    return value


def parse_text(text: str) -> Any:
    """Return the JSON value of a text as `parse_json` does, halves of characters in it as they are."""
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise InvalidJsonError(
            f"The body is not JSON: {error.msg} at line {error.lineno} column {error.colno}."
        ) from None
    except RecursionError:  # the parser's own bound, far above ours
        raise _too_deep() from None
    except ValueError:
        raise InvalidJsonError("The body has a number of too many digits. Send it as a string.") from None
    # Counting is fast and mostly enough: a value nests no deeper than it has opening brackets, those of its texts too.
    if text.count("[") + text.count("{") > MAX_DEPTH and is_deeper_than(value, MAX_DEPTH):
        raise _too_deep()
    return value


def decode_utf8(body: bytes) -> str:
    """Return the text of a body; raise `InvalidEncodingError` naming the first byte that is not UTF-8."""
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidEncodingError(f"The body is not UTF-8 at byte {error.start}. Send it as UTF-8.") from None


def has_lone_surrogate(text: str) -> bool:
    """Return whether a text holds half of a surrogate pair: no UTF-8 can carry it, so nothing could store it."""
    return not text.isascii() and _LONE_SURROGATE.search(text) is not None


def refuse_lone_surrogates(value: Any, subject: str = "body") -> None:
    """Raise `InvalidEncodingError` when a text anywhere in a JSON value holds half of a surrogate pair."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            if not item.isascii() and _LONE_SURROGATE.search(item) is not None:
                raise InvalidEncodingError(
                    f"The {subject} has half of a surrogate pair (\\ud800 to \\udfff). Send whole characters."
                )
        elif isinstance(item, dict):
            pending += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            pending += item


def json_type(value: object) -> str:
    """Return JSON's name for the type of a parsed value."""
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _too_deep() -> InvalidJsonError:
    return InvalidJsonError(f"The body is nested deeper than {MAX_DEPTH} levels. Flatten it.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise InvalidJsonError(f"The body has the key {twice[:80]!r} twice. Send it once.")
    return value


def _refuse_constant(text: str) -> NoReturn:
    raise InvalidJsonError(f"The body has {text}, which is not JSON. Send a number or null.")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise InvalidJsonError(f"The body has the number {digits[:40]}, which is out of range. Send it as a string.")
    return number
