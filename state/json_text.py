"""Strict JSON: every value that is read can be written back as the same value; what could not be is refused by name.

Duplicate keys keep the last value, as in every reader of this format. Lone surrogates survive as escapes.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, NoReturn

from state.errors import NestedTooDeepError, NotJsonError, NumberOutOfRangeError

_BLANK: Final = re.compile(r"[ \t\r\n]*")
MAX_DEPTH: Final = 100  # far below the recursion limits of Python's and pydantic's writers, which differ by version


def parse(text: str) -> Any:
    """Return the JSON value of `text`.

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
    return text if _is_unicode(text) else _ASCII_ENCODER.encode(value)


def is_deeper_than(value: Any, limit: int) -> bool:
    """Tell by walking level by level, so that no depth can exhaust the stack."""
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


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise NumberOutOfRangeError(f"The number {digits:.40} cannot be held unchanged.")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise NotJsonError(f"The stored document is not JSON: it holds {name}.")


def _too_deep() -> NestedTooDeepError:
    return NestedTooDeepError(f"The stored document nests deeper than {MAX_DEPTH} levels.")


_DECODER: Final = json.JSONDecoder(parse_float=_finite, parse_constant=_refuse_constant)
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ASCII_ENCODER: Final = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))
