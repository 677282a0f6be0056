"""A response with very many steps, made smaller: its older tool calls go, with their results, and its texts stay."""

from __future__ import annotations

import json
from typing import Any, Final

_OF_STEPS: Final = frozenset({"functionCall", "functionResult", "reasoning"})


def without_older_steps(messages: list[dict[str, Any]], bytes_less: int) -> list[dict[str, Any]]:
    """Return a response's messages, in stored form, with so many bytes less where their older steps have as many.

    A call goes with its results, which stand in the messages right behind it. The last message stays as it is: it may
    ask for something.
    """
    left, kept = bytes_less, list[dict[str, Any]]()
    for number, message in enumerate(messages[:-1]):
        if left <= 0 and message["role"] != "tool":
            return [*kept, *messages[number:]]
        contents = [content for content in message["contents"] if content["$type"] not in _OF_STEPS]
        steps = [content for content in message["contents"] if content["$type"] in _OF_STEPS]
        left -= sum(len(json.dumps(content, ensure_ascii=False).encode()) for content in steps)
        if contents:
            kept.append({**message, "contents": contents} if steps else message)
    return [*kept, *messages[-1:]]
