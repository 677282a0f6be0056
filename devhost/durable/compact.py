"""JSON as the host writes it: compact, key order kept (host contract 1.5).

An entity's envelope carries its whole state as one string in each direction; msgspec passes those three times faster
than `json`, and is asked first.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

_HALF_A_PAIR = re.compile("[\ud800-\udfff]")


def well_formed(text: str) -> str:
    """Return the text with U+FFFD in place of halves of surrogate pairs: UTF-8 has none, and the real host does so."""
    if text.isascii() or not _HALF_A_PAIR.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def well_formed_json(value: Any) -> Any:
    """Return parsed JSON with every text in it well formed."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return [well_formed_json(item) for item in value]
    if isinstance(value, dict):
        return {well_formed(key): well_formed_json(item) for key, item in value.items()}
    return value


def compact(value: object) -> str:
    """Return the value as well-formed JSON text without spaces; letters beyond ASCII stay as they are."""
    return well_formed(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def envelope(value: object) -> str:
    """Return the value as JSON text; for values that hold a long text."""
    return msgspec.json.encode(value).decode()


def parse_envelope(text: str) -> object:
    """Return what the JSON text says; raises ValueError when it is none.

    What Python's json writes and JSON does not know (NaN, halves of surrogate pairs) is read as `json` reads it.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return json.loads(text)


def recompact(text: str) -> str:
    """Return JSON text re-serialised without spaces; raises ValueError when it is no JSON."""
    return compact(json.loads(text))


def parse_or_text(text: str | None) -> object:
    """Return what the JSON text says, or the text itself when it is no JSON; None stays None."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text
