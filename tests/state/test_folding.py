"""Responses with very many steps, made smaller: older calls go with their results, texts and the last message stay."""

from __future__ import annotations

import json
from typing import Any

import pytest

from state.folding import without_older_steps


def step(number: int, text: str = "") -> list[dict[str, Any]]:
    """Return a call with its result, and what the model said before it."""
    said = [{"$type": "text", "text": text}] if text else []
    call = {"$type": "functionCall", "callId": f"c{number}", "name": "step", "arguments": {"number": number}}
    result = {"$type": "functionResult", "callId": f"c{number}", "result": "x" * 100}
    return [{"role": "assistant", "contents": [*said, call]}, {"role": "tool", "contents": [result]}]


LAST = {"role": "assistant", "contents": [{"$type": "text", "text": "all done"}]}
MESSAGES = [*step(1, "first"), *step(2), *step(3, "third"), LAST]
STEP_BYTES = sum(len(json.dumps(message["contents"][-1])) for message in step(1))


def ids_of(messages: list[dict[str, Any]]) -> list[str]:
    """Return the ids of the calls and results that are left."""
    return [content["callId"] for message in messages for content in message["contents"] if "callId" in content]


def texts_of(messages: list[dict[str, Any]]) -> list[str]:
    """Return the texts that are left."""
    return [content["text"] for message in messages for content in message["contents"] if "text" in content]


@pytest.mark.behaviour("run.folded")
@pytest.mark.parametrize(
    ("bytes_less", "left"),
    [(0, ["c1", "c1", "c2", "c2", "c3", "c3"]), (1, ["c2", "c2", "c3", "c3"]), (STEP_BYTES + 1, ["c3", "c3"])],
)
def test_the_oldest_steps_go_until_it_is_enough_each_with_its_result(bytes_less: int, left: list[str]) -> None:
    folded = without_older_steps(MESSAGES, bytes_less)

    assert ids_of(folded) == left
    assert texts_of(folded) == ["first", "third", "all done"]
