"""What can be asked of a conversation, and the next one made of it."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from state.codec import read, write
from state.conversation import (
    LEDGER_SIZE,
    append_turn,
    message_count,
    reset,
    response_of,
    session_state,
)
from state.extension import host_of
from state.models import Conversation
from tests.support.state_documents import OWN_SCHEMA, a_request, a_response, conversation_of


def stored(extension: str = "{}", version: str = "1.1.0") -> Conversation:
    return read(f'{{"schemaVersion":"{version}","data":{{"conversationHistory":[],"extensionData":{extension}}}}}')


@pytest.mark.behaviour("state.writes-1.1.0")
@pytest.mark.parametrize(
    ("before", "after"), [("1.0.0", "1.1.0"), ("1.1.0", "1.1.0"), ("1.1.7", "1.1.7"), ("1.2.0", "1.2.0")]
)
def test_a_turn_raises_an_older_version_and_keeps_a_newer_one(before: str, after: str) -> None:
    conversation = append_turn(stored(version=before), a_request("r1"), a_response("r1", "hi"))

    assert conversation.schema_version == after


@pytest.mark.behaviour("state.applied-once")
def test_the_ledger_outlives_a_reset() -> None:
    """A run or a reset that is delivered again is known."""
    conversation = reset(conversation_of((a_request("r1"), a_response("r1", "hi"))), "reset-1")

    assert [id_ in host_of(conversation).applied for id_ in ("r1", "reset-1", "r2")] == [True, True, False]
    assert (host_of(conversation).generation, host_of(reset(conversation, "reset-2")).generation) == (1, 2)
    assert (list(conversation.data.conversation_history), message_count(conversation)) == ([], 0)
    Draft202012Validator(OWN_SCHEMA).validate(json.loads(write(conversation)))


@pytest.mark.behaviour("state.applied-once")
def test_the_ledger_is_bounded() -> None:
    """It holds the last runs; older ones are still known while their entries are there."""
    conversation = read(None)
    for number in range(LEDGER_SIZE + 1):
        conversation = append_turn(conversation, a_request(f"r{number}"), a_response(f"r{number}", "hi"))

    assert response_of(conversation, "r0") is not None
    assert "r1" not in host_of(reset(conversation, "reset-1")).applied
    assert "r2" in host_of(reset(conversation, "reset-1")).applied


@pytest.mark.behaviour("state.keeps-session-state")
def test_session_state_is_kept_between_turns_and_goes_with_a_reset() -> None:
    """Under extension data, which other packages keep; numbers that JSON lacks included."""
    value = {"memory": {"facts": ["likes tea"], "score": float("inf")}}
    turn = a_request("r1"), a_response("r1", "hi")
    conversation = read(write(append_turn(stored('{"a":1}'), *turn, session=value)))

    assert session_state(append_turn(conversation, *turn)) == value
    assert session_state(append_turn(conversation, *turn, session={})) is None
    assert session_state(reset(conversation, "reset-1")) is None
    assert session_state(stored('{"agentSession":[1]}')) is None
