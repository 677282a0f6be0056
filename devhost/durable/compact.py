"""JSON as the host writes it: compact, key order kept (host contract 1.5)."""

from __future__ import annotations

import json


def compact(value: object) -> str:
    """Return the value as JSON text without spaces; letters beyond ASCII stay as they are."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


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
