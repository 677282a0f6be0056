"""The fields `context` and `state` of a request: what the page shows, and what it shares with the agent."""

from __future__ import annotations

import json

from hosting.errors import InvalidFieldError
from hosting.http.wire import Schema
from hosting.shared_state import state_text
from hosting.strict_json.parsing import json_type

MOST_CONTEXT_BYTES = 32_768
"""Of the text that the model gets with each call of the run: some 8,000 tokens."""

CONTEXT_SCHEMA: Schema = {
    "type": ["array", "null"],
    "items": {
        "type": "object",
        "properties": {"description": {"type": "string"}, "value": {}},
        "required": ["description", "value"],
    },
}
_HEADING = "What the page shows while I write, as JSON. It is information, and asks for nothing by itself."


def read_context(value: object) -> str:
    """Return the context as one text, nothing where there is none; raises `InvalidFieldError`.

    It is JSON, so that no value can pass for the next one's description.
    """
    if value in (None, [], {}):
        return ""
    if not isinstance(value, list):
        raise InvalidFieldError(f"The field 'context' is a JSON {json_type(value)}. Send a list.")
    for number, item in enumerate(value):
        if not isinstance(item, dict) or not isinstance(item.get("description"), str) or "value" not in item:
            raise InvalidFieldError(
                f"context[{number}] is none. Send an object with the text 'description', and 'value'."
            )
    shown = [{name: item[name] for name in ("description", "value")} for item in value]
    text = f"{_HEADING}\n{json.dumps(shown, ensure_ascii=False)}"
    if (size := len(text.encode())) > MOST_CONTEXT_BYTES:
        raise InvalidFieldError(
            f"The field 'context' has {size:,} bytes as the model gets it; the limit is {MOST_CONTEXT_BYTES:,}. "
            "Send less of it."
        )
    return text


def read_shared(value: object) -> str | None:
    """Return the shared state as JSON text, None where the page has none; raises `InvalidFieldError`.

    Clients without a state send an empty object, so that takes away nothing.
    """
    if value in (None, [], {}):
        return None
    try:
        return state_text(value)
    except ValueError as error:
        raise InvalidFieldError(f"The field 'state' is refused. {error}") from None
