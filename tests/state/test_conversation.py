"""What can be asked of a conversation, the next one made of it, and where it may be cut or folded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from state.codec import read, write
from state.conversation import (
    LEDGER_SIZE,
    append_turn,
    cuts,
    message_count,
    reset,
    response_of,
    session_state,
)
from state.extension import host_of
from state.folding import without_older_steps
from state.models import Conversation
from tests.support.state_documents import OWN_SCHEMA, a_request, a_response, conversation_of, history_messages


def document_with(extension: str = "{}", version: str = "1.1.0") -> Conversation:
    return read(f'{{"schemaVersion":"{version}","data":{{"conversationHistory":[],"extensionData":{extension}}}}}')


@pytest.mark.behaviour("state.writes-1.1.0")
@pytest.mark.parametrize(
    ("before", "after"), [("1.0.0", "1.1.0"), ("1.1.0", "1.1.0"), ("1.1.7", "1.1.7"), ("1.2.0", "1.2.0")]
)
def test_a_turn_raises_an_older_version_and_keeps_a_newer_one(before: str, after: str) -> None:
    conversation = append_turn(document_with(version=before), a_request("r1"), a_response("r1", "hi"))

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
    conversation = read(write(append_turn(document_with('{"a":1}'), *turn, session=value)))

    assert session_state(append_turn(conversation, *turn)) == value
    assert session_state(append_turn(conversation, *turn, session={})) is None
    assert session_state(reset(conversation, "reset-1")) is None
    assert session_state(document_with('{"agentSession":[1]}')) is None


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


TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.just('},{"$type":"request","x":"\\u0000"}')
OPTIONAL_COUNTS = st.dictionaries(
    st.sampled_from(["inputTokenCount", "outputTokenCount", "totalTokenCount"]), st.integers() | st.none()
)


def exchange(kind: str, **more: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    contents = st.lists(st.fixed_dictionaries({"$type": st.just("text"), "text": TEXTS}), max_size=2)
    message = st.fixed_dictionaries({"role": TEXTS, "contents": contents}, optional={"authorName": TEXTS | st.none()})
    required = {"correlationId": TEXTS, "createdAt": TEXTS, "messages": st.lists(message, max_size=2)}
    return st.fixed_dictionaries({"$type": st.just(kind), **required}, optional=more)


PLAIN_ENTRIES = exchange("request", responseType=TEXTS) | exchange("response", usage=OPTIONAL_COUNTS)
OTHER_ENTRIES = st.sampled_from(
    [
        {"$type": "note", "inside": [{}, {"$type": "request"}]},
        {"x": 1},
        {"$type": "response", "correlationId": "r", "messages": [{"contents": [{"$type": "error"}]}]},
        {"$type": "request", "correlationId": "r", "createdAt": "t", "messages": [], "x": [{"a": 1}, {"$type": "re"}]},
    ]
)


def text_of(history: list[dict[str, Any]]) -> str:
    document = {"schemaVersion": "1.1.0", "data": {"conversationHistory": history}}
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def seen(conversation: Conversation) -> list[Any]:
    messages = [
        dict(vars(message), contents=list(map(vars, message.contents))) for message in history_messages(conversation)
    ]
    return [messages, message_count(conversation), write(conversation)]


@pytest.mark.behaviour("state.plain-is-the-same")
@given(st.lists(PLAIN_ENTRIES | OTHER_ENTRIES, max_size=4))
def test_a_document_of_plain_entries_is_what_it_is_by_its_models(history: list[dict[str, Any]]) -> None:
    """What the model sees, the counts, the text and each entry; a space before the document has it read whole."""
    text = text_of(history)
    lean, whole = read(text), read(" " + text)

    assert seen(lean)[:2] == seen(whole)[:2]
    assert write(lean) == text
    assert lean == whole
    assert lean != read(text_of([*history, {"x": 2}]))
