"""Whatever a model or a tool gives, the document is one that every other reader of it can read and send again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agent_framework import Content, Message
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from state.codec import entry_value, read, write
from state.conversation import is_unanswered, message_count, response_of
from state.convert import agent_response, content_value, content_values_to_framework, request_entry
from state.errors import BadContentError
from state.models import RequestEntry, unsent_messages
from state.portable import is_address
from tests.support.dotnet_reader import faults
from tests.support.seeds import repeated
from tests.support.state_documents import (
    NOON,
    OWN_SCHEMA,
    PUBLIC_SCHEMA,
    a_request,
    a_response,
    conversation_of,
    history_messages,
)

ARGUMENTS: list[Any] = [
    None,
    "",
    "{",
    '{"city": "Par',
    "[]",
    "null",
    "Paris",
    '{"n": NaN}',
    '{"n": 1e400}',
    '{"n": 1.10}',
    '{"n": 0.1234567890123456789012345678}',
    '{"a": "\\ud800"}',
    "{" * 60 + "}" * 60,
    '{"a":' * 60 + "1" + "}" * 60,
    {},
    {"city": "Paris"},
    {"n": float("nan")},
]
ADDRESSES = [
    "https://example.com/a.png",
    "https://example.com:65535/a b?c#d",
    "http://user:secret@a-b.c_d.example:80/",
    "https://bücher.example/ä.png",
    "https://[::1]:8080/a.png",
    "gs://bucket/picture.png",
    "urn:isbn:0451450523",
]
NO_ADDRESSES = [
    "https://example.com:99999/a.png",
    "https://a..b/c",
    "http://h:abc/",
    "https://a,b/",
    "https://exa%mple.com/",
    "https://",
    "https://:80/",
    "https://h:/",
    "https://[::1",
    "https://[::g]/",
    "https://[::1]x/",
    "https://.a/",
    "https://a|b/",
    "https://a@b@c/",
    f"https://{'a' * 64}.example/",
    f"https://{'a.' * 128}a/",
    "cat.png",
    "1https://example.com/",
    "",
]
NO_DATA = [
    "data:image/png;base64,eA",
    "data:image/png;base64,e===",
    "data:image/png;base64,%%%%",
    "data:;=;;base64,eA==",
    "data:base64,eA==",
    "data:image/png,hello",
]
ODD: dict[str, Content] = {
    "a number for an error's code": Content("error", message="m", error_code=404),  # type: ignore[arg-type]
    "an object for an error's message": Content("error", message={"a": 1}),  # type: ignore[arg-type]
    "a number for a thought": Content("text_reasoning", text=7),  # type: ignore[arg-type]
    "a list for a text": Content("text", text=["a"]),  # type: ignore[arg-type]
    "no text": Content("text", text=None),
    "a number for a file": Content("hosted_file", file_id=1),  # type: ignore[arg-type]
    "a call without a name": Content("function_call", call_id="c"),
    "an annotation that .NET would take for one of its own": Content("text", annotations=[{"$type": "a"}]),  # type: ignore[list-item]
    "a text for usage": Content("usage", usage_details="7"),  # type: ignore[arg-type]
}


def document_of(*contents: Content) -> str:
    return write(conversation_of((a_request("r1"), a_response("r1", *contents))))


def again(content: Content) -> Content:
    """Return what a stored content is read as."""
    entry = response_of(read(document_of(content)), "r1")
    assert entry is not None
    return agent_response(entry).messages[0].contents[0]


def is_portable(text: str) -> None:
    """Fail where .NET cannot read it, or a schema does not hold."""
    assert faults(text) == []
    for schema in (PUBLIC_SCHEMA, OWN_SCHEMA):
        Draft202012Validator(schema).validate(json.loads(text))


@pytest.mark.behaviour("state.portable")
def test_arguments_of_any_kind_are_an_object_to_others_and_what_they_were_to_us() -> None:
    for arguments in ARGUMENTS:
        call = Content.from_function_call("c", "f", arguments=arguments)

        is_portable(document_of(call))

        whole = arguments.replace("\ud800", "\ufffd") if isinstance(arguments, str) else arguments
        assert repr(again(call).arguments) == repr(whole)


@pytest.mark.behaviour("state.portable")
def test_an_address_that_others_can_parse_is_one() -> None:
    for address in ADDRESSES:
        assert is_address(address)
        is_portable(document_of(Content("uri", uri=address, media_type="image/png")))
        assert content_values_to_framework([{"$type": "uri", "uri": address, "mediaType": "image/png"}])


@pytest.mark.behaviour("state.portable")
@pytest.mark.parametrize(("kind", "texts"), [("uri", NO_ADDRESSES), ("data", NO_DATA)])
def test_what_others_cannot_parse_is_unknown_to_them(kind: Any, texts: list[str]) -> None:
    """A model's is stored as `unknown` and comes back; a caller's is refused."""
    for text in texts:
        content = Content(kind, uri=text, media_type="image/png")

        is_portable(document_of(content))

        assert (content_value(content)["$type"], again(content).uri) == ("unknown", text)
        with pytest.raises(BadContentError):
            content_values_to_framework([{"$type": kind, "uri": text, "mediaType": "image/png"}])


@pytest.mark.behaviour("state.portable")
def test_half_of_a_character_is_replaced_wherever_it_stands() -> None:
    """In texts, names, arguments, results, errors and what the framework holds besides."""
    half = "a\ud83d"
    contents = [
        Content.from_text(half, additional_properties={half: [half]}),
        Content.from_function_call(half, half, arguments={half: half}),
        Content.from_function_result("c", result=half),
        Content.from_error(message=half, error_details=half),
        Content("text_reasoning", text=half),
    ]
    message = Message("assistant", contents, author_name=half, message_id=half)
    entry = request_entry(run_id="r1", created_at=NOON, messages=[message], response_schema={half: half})

    text = write(conversation_of((entry, a_response("r1", *contents))))

    assert faults(text) == []
    assert "\\ud83d" not in text
    assert text.count("a\ufffd") >= 15


@pytest.mark.behaviour("state.portable")
@pytest.mark.parametrize("name", ODD)
def test_a_content_of_odd_values_is_stored_and_comes_back(name: str) -> None:
    content = ODD[name]

    is_portable(document_of(content))

    assert again(content).to_dict() == content.to_dict()


@pytest.mark.behaviour("state.portable")
def test_decisions_alone_are_no_message_that_others_would_send() -> None:
    """They stay beside the messages, and count as such."""
    call = Content.from_function_call("c", "refund", arguments="{}")
    decision = Content.from_function_approval_response(True, "a", call)
    entry = request_entry(run_id="r2", created_at=NOON, messages=[Message("user", [decision])])
    text = write(conversation_of((a_request("r1"), a_response("r1", call)), (entry, a_response("r2", "done"))))

    is_portable(text)

    back = read(text).data.conversation_history[2]
    assert isinstance(back, RequestEntry)
    assert back.messages == []
    assert [message["contents"][0]["content"]["type"] for message in unsent_messages(back)] == [
        "function_approval_response"
    ]
    assert message_count(read(text)) == 4
    assert [message.role for message in history_messages(read(text))] == ["user", "assistant", "assistant"]


@pytest.mark.behaviour("state.skips-the-unknown")
@pytest.mark.behaviour("state.hides-failed-runs")
def test_a_failed_run_of_version_1_2_is_one() -> None:
    """Its request is not sent to the model, and it comes back as it was."""
    failed = {"$type": "errorResponse", "correlationId": "r1", "createdAt": NOON, "error": {"message": "No."}}
    history = [entry_value(a_request("r1", "lost")), failed, entry_value(a_request("r2", "kept"))]
    text = json.dumps({"schemaVersion": "1.2.0", "data": {"conversationHistory": history}})

    conversation = read(text)
    entry = response_of(conversation, "r1")

    assert [message.text for message in history_messages(conversation)] == ["kept"]
    assert entry is not None
    assert is_unanswered(entry)
    assert json.loads(write(conversation)) == json.loads(text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
FIELDS = {
    "text": ["text"],
    "text_reasoning": ["text"],
    "data": ["uri", "media_type"],
    "uri": ["uri", "media_type"],
    "error": ["message", "error_code", "error_details"],
    "function_call": ["call_id", "name", "arguments"],
    "function_result": ["call_id", "result"],
    "hosted_file": ["file_id"],
    "hosted_vector_store": ["vector_store_id"],
    "usage": ["usage_details"],
    "function_approval_request": ["id"],
    "another": ["output"],
}


@st.composite
def odd_contents(draw: st.DrawFn) -> Content:
    """Contents of every kind, with any value in any field."""
    kind = draw(st.sampled_from(sorted(FIELDS)))
    fields = {name: draw(VALUES) for name in FIELDS[kind]}
    return Content(kind, **fields, additional_properties=draw(st.dictionaries(st.text(max_size=4), VALUES, max_size=2)))  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.behaviour("state.portable")
@settings(max_examples=repeated(300, exploring=3000))
@given(st.lists(odd_contents(), min_size=1, max_size=3))
def test_whatever_a_model_makes_is_a_document_for_everybody(contents: list[Content]) -> None:
    text = document_of(*contents)

    assert faults(text) == []
    assert write(read(text)) == text
