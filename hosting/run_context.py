"""Context of a run: values that a caller gives the code of an agent, and that no model gets.

A tool reads it by `hosting.tools.current().context`, and so do context providers, middleware and executors. It stands
in the request of the run, so each attempt has the same, in whichever process. What the model is to see is a message or,
of a page, the page context (`hosting.page_context`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hosting.errors import InvalidFieldError

MOST_BYTES = 16_384
"""Of the whole as JSON in UTF-8."""
MOST_LEVELS = 32
"""Of objects and arrays within each other; the events of a log are read to a depth not much greater."""
SCHEMA: Mapping[str, Any] = {"type": "object"}


def read_run_context(name: str, value: object) -> dict[str, Any]:
    """Return the context in the field of that name; raises `InvalidFieldError`."""
    if not isinstance(value, dict):
        raise InvalidFieldError(f"The field {name!r} is not an object. Send a JSON object.")
    if _levels(value) > MOST_LEVELS:
        raise InvalidFieldError(f"The field {name!r} has more than {MOST_LEVELS} levels. Send a flatter object.")
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidFieldError(
            f"The field {name!r} has half a character (a lone surrogate), that cannot be stored. Send whole characters."
        ) from None
    except (TypeError, ValueError):
        raise InvalidFieldError(
            f"The field {name!r} is not plain JSON. Send texts, numbers, lists and objects."
        ) from None
    if size > MOST_BYTES:
        raise InvalidFieldError(f"The field {name!r} has {size} bytes as JSON; the limit is {MOST_BYTES}. Send less.")
    read: dict[str, Any] = json.loads(text)  # as a later attempt reads it, also where code of the app gave it
    return read


def _levels(value: object) -> int:
    """Return how many objects and arrays are within each other at most, counted no further than is allowed."""
    levels, parts = 0, [value]
    while levels <= MOST_LEVELS and (parts := [part for part in parts if isinstance(part, dict | list)]):
        levels += 1
        parts = [item for part in parts for item in (part.values() if isinstance(part, dict) else part)]
    return levels
