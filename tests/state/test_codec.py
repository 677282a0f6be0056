"""Text to conversation and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agent_framework import Content

from state import errors
from state.codec import parse_entry, read, write
from state.contents import checked_content
from state.conversation import append_turn
from state.convert import content_values_to_framework
from state.errors import BadContentError
from state.models import entry_text
from tests.support.state_documents import a_request, a_response, conversation_of

NEW = '{"schemaVersion":"1.1.0","data":{"conversationHistory":[]}}'


def document(history: str = "[]", version: str = '"1.1.0"') -> str:
    return f'{{"schemaVersion":{version},"data":{{"conversationHistory":{history}}}}}'


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.behaviour("state.writes-1.1.0")
@pytest.mark.parametrize("text", [None, "", "null", " null\n"])
def test_nothing_stored_reads_as_a_new_conversation(text: str | None) -> None:
    """An entity that was never written, or was emptied, is an empty thread."""
    assert write(read(text)) == NEW


@pytest.mark.behaviour("state.refuses-by-name")
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{", errors.NotJsonError),
        ("{}{}", errors.NotJsonError),
        ('{"schemaVersion":"1.1.0","data":{"n":NaN}}', errors.NotJsonError),
        (document('[{"$type":"request"},]'), errors.NotJsonError),
        (document(f'[{{"x":{nested(200)}}}]'), errors.NestedTooDeepError),
        (nested(100_000), errors.NestedTooDeepError),
        (document('[{"n":-1e999}]'), errors.NumberOutOfRangeError),
        (document('[{"n":1' + "0" * 5000 + "}]"), errors.NumberOutOfRangeError),
        ("[1]", errors.NotAnObjectError),
        ('"text"', errors.NotAnObjectError),
        ("{}", errors.NoVersionError),
        (document(version="null"), errors.NotAVersionError),
        (document(version='"1.1"'), errors.NotAVersionError),
        (document(version='"1.01.0"'), errors.NotAVersionError),
        (document(version='"1.1.0\\n"'), errors.NotAVersionError),
        (document(version='"1.1.١"'), errors.NotAVersionError),
        (document(version='"2.0.0"'), errors.UnsupportedVersionError),
        ('{"schemaVersion":"1.1.0"}', errors.NoDataError),
        ('{"schemaVersion":"1.1.0","data":[]}', errors.MalformedError),
        (document("null"), errors.MalformedError),
        (document("[3]"), errors.MalformedError),
        (
            document('[{"$type":"request","messages":[{"contents":[{"$type":"text","text":7}]}]}]'),
            errors.MalformedError,
        ),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(text: str, error: type[errors.UnreadableDocumentError]) -> None:
    with pytest.raises(error, match=r"\.$") as refusal:
        read(text)

    assert type(refusal.value) is error


@pytest.mark.behaviour("state.keeps-the-unknown")
@pytest.mark.parametrize(
    "history",
    [
        '[{"$type":"request","messages":[{"role":"user","contents":[{"$type":"text","text":"\\ud83d"}]}]}]',
        '[{"type":"x","created_at":1,"model_config":{},"derived_values":2,"derived":3,"json_text":4,"":4,"__class__":"y"}]',
        '[{"$type":"response","type":5,"createdAt":null,"usage":null,"status":"reviewed"}]',
        '[{"$type":["request"]},{"$type":{"a":1}},{"$type":null}]',
    ],
)
def test_odd_entries_come_back_as_they_were(history: str) -> None:
    """Lone surrogates, names that Python uses, nulls, and types that are no strings."""
    spaced = " " + document(history)  # read whole, so that the models write it

    assert json.loads(write(read(spaced))) == json.loads(spaced)
    write(read(spaced)).encode()


@pytest.mark.behaviour("state.skips-the-unknown")
@pytest.mark.parametrize("name", ["correlation_id", "correlationId"])
def test_an_entry_of_a_newer_kind_is_of_no_run(name: str) -> None:
    """Whatever it calls its properties; it comes back as it was."""
    text = f'{{"$type":"newer","{name}":"r1"}}'
    entry = parse_entry(text)

    assert (entry.correlation_id, entry_text(entry)) == (None, text)


@pytest.mark.behaviour("state.deterministic")
def test_the_same_turn_on_the_same_document_gives_the_same_bytes() -> None:
    """Whether the conversation was kept in memory or read again."""
    kept = conversation_of((a_request("r1"), a_response("r1", "hi")))
    read_again = read(write(kept))

    turn = (a_request("r2"), a_response("r2", "hé"))
    assert write(append_turn(kept, *turn)) == write(append_turn(read_again, *turn))


@pytest.mark.behaviour("state.turn-shares-the-past")
def test_entries_of_a_compact_document_come_back_byte_for_byte() -> None:
    """Their text is found while they are read, and a turn writes only its own."""
    history = '{"$type":"request","createdAt":"2025-11-04T19:33:05.2454760Z","messages":[],"text":"\\u0027"}'
    grown = append_turn(read(document(f"[{history}]")), a_request("r1"), a_response("r1", "hi"))

    assert write(read(document(f"[{history}]"))) == document(f"[{history}]")
    assert write(grown).startswith(document(f"[{history}")[:-2])


@pytest.mark.behaviour("state.skips-the-unknown")
def test_a_stored_content_of_a_later_version_is_read() -> None:
    """A run that waits outlives a version that is rolled back; what that one does not know is not sent."""
    later = [{"$type": "text", "text": "What is this?", "language": "en"}]

    assert content_values_to_framework(later) == [Content.from_text("What is this?")]


@pytest.mark.behaviour("state.given-contents-checked")
@pytest.mark.parametrize(
    ("bad", "field", "advice"),
    [
        ("text", "", "must be an object"),
        ({}, "$type", "Use one of text, data, uri, hostedFile"),
        ({"$type": ["text"]}, "$type", "Use one of"),
        ({"$type": "functionCall", "callId": "c", "name": "f"}, "$type", "Use one of"),
        ({"$type": "text"}, "text", "must be a string"),
        ({"$type": "text", "text": 7}, "text", "must be a string"),
        ({"$type": "text", "text": " \n"}, "text", "not blank"),
        ({"$type": "text", "text": "a", "agentFramework": {}}, "agentFramework", "Use $type, text"),
        ({"$type": "data", "uri": "https://example.com"}, "uri", "must look like data:"),
        ({"$type": "data", "uri": "data:image/png,plain"}, "uri", "must look like data:"),
        ({"$type": "data", "uri": "data:image/png;base64,%%%"}, "uri", "not valid base64"),
        ({"$type": "data", "uri": "data:image/png;base64,aGk=", "mediaType": None}, "mediaType", "must be a string"),
        ({"$type": "uri", "uri": "cat.png", "mediaType": "image/png"}, "uri", "must be an absolute URI"),
        ({"$type": "uri", "uri": "data:image/png;base64,aGk=", "mediaType": "x/y"}, "uri", '"$type": "data"'),
        ({"$type": "uri", "uri": "https://example.com"}, "mediaType", "must be a string"),
        ({"$type": "hostedFile"}, "fileId", "must be a string"),
    ],
)
def test_a_bad_content_is_refused_by_its_place(bad: Any, field: str, advice: str) -> None:
    with pytest.raises(BadContentError) as refusal:
        checked_content(1, bad)

    assert (refusal.value.index, refusal.value.field) == (1, field)
    assert advice in str(refusal.value)
