"""Where a conversation may be cut: between turns, and never between a call and what answers it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from state.codec import read
from state.conversation import cuts


def entry(kind: str, run_id: str, *contents: dict[str, Any]) -> dict[str, Any]:
    output = contents or ({"$type": "text", "text": "hi"},)
    message = {"role": "assistant", "contents": list(output)}
    return {"$type": kind, "correlationId": run_id, "createdAt": "2026-01-02T12:00:00Z", "messages": [message]}


def turn(run_id: str, *contents: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry("request", run_id), entry("response", run_id, *contents)]


def cuts_of(*entries: dict[str, Any]) -> list[int]:
    document = {"schemaVersion": "1.1.0", "data": {"conversationHistory": list(entries)}}
    return cuts(read(json.dumps(document, separators=(",", ":"))).data.conversation_history.stored)


CALL = {"$type": "functionCall", "callId": "c1", "name": "book", "arguments": {}}
RESULT = {"$type": "functionResult", "callId": "c1", "result": "booked"}
ASKED = {"$type": "unknown", "content": {"type": "function_approval_request", "function_call": {"call_id": "c1"}}}


@pytest.mark.behaviour("archive.never-splits")
def test_turns_are_whole() -> None:
    """A request without its response, and one that came late, stay with what belongs to them."""
    assert cuts_of(*turn("a"), *turn("b"), *turn("c")) == [2, 4]
    assert cuts_of(entry("request", "a"), *turn("b"), entry("response", "a"), *turn("c")) == [4]
    assert cuts_of() == cuts_of(entry("request", "a")) == []


@pytest.mark.behaviour("archive.never-splits")
def test_a_call_and_its_result_are_not_parted() -> None:
    assert cuts_of(*turn("a", CALL), *turn("b"), *turn("c", RESULT), *turn("d")) == [6]
    assert cuts_of(*turn("a", ASKED), *turn("b", RESULT), *turn("c")) == [4]


def test_entries_of_unknown_kind_and_without_a_run_stand_alone() -> None:
    assert cuts_of({"$type": "note"}, {**entry("request", "a"), "correlationId": None}, {"$type": "note"}) == [1, 2]
