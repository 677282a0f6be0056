"""Between stored contents and the framework's objects, both directions."""

from __future__ import annotations

import base64
import copy
import datetime as dt
import decimal
import json
import uuid
from typing import Any, get_args

import pytest
from agent_framework import AgentResponse, Content, Message
from agent_framework._types import ContentType
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from state.codec import read, write
from state.conversation import append_turn
from state.convert import agent_response
from tests.support.state_documents import (
    NOON,
    OWN_SCHEMA,
    PUBLIC_SCHEMA,
    a_request,
    a_response,
    conversation_of,
    failure_entry,
    history_messages,
    response_entry,
)

CALL = Content.from_function_call("c1", "get_weather", arguments='{"city":"Paris"}')
PNG = "data:image/png;base64," + base64.b64encode(b"\x89PNG").decode()
EVERY_CONTENT: dict[str, Content] = {
    "text": Content.from_text(
        "hi", annotations=[{"type": "citation", "url": "https://example.com"}], additional_properties={"a": 1}
    ),
    "text_reasoning": Content.from_text_reasoning(text="hm", protected_data="opaque"),
    "data": Content.from_data(b"\x89PNG", "image/png", name="dot.png"),
    "uri": Content.from_uri("https://example.com/cat.png", media_type="image/png"),
    "error": Content.from_error(message="no", error_code="E1", error_details="because"),
    "function_call": CALL,
    "function_result": Content.from_function_result("c1", result="sunny"),
    "usage": Content.from_usage({"input_token_count": 1, "total_token_count": 3, "reasoning_output_token_count": 2}),
    "hosted_file": Content.from_hosted_file("f1", media_type="text/csv", name="a.csv"),
    "hosted_vector_store": Content.from_hosted_vector_store("v1"),
    "code_interpreter_tool_call": Content("code_interpreter_tool_call", call_id="c2", inputs=[Content.from_text("1")]),
    "code_interpreter_tool_result": Content(
        "code_interpreter_tool_result", call_id="c2", outputs=[Content.from_text("1")]
    ),
    "image_generation_tool_call": Content("image_generation_tool_call", image_id="i1"),
    "image_generation_tool_result": Content(
        "image_generation_tool_result", image_id="i1", outputs=Content.from_uri(PNG, media_type="image/png")
    ),
    "mcp_server_tool_call": Content(
        "mcp_server_tool_call", call_id="c3", tool_name="t", server_name="s", arguments={"a": 1}
    ),
    "mcp_server_tool_result": Content("mcp_server_tool_result", call_id="c3", output=[Content.from_text("done")]),
    "search_tool_call": Content("search_tool_call", call_id="c4", tool_name="web", arguments={"q": "x"}),
    "search_tool_result": Content("search_tool_result", call_id="c4", result="found"),
    "shell_tool_call": Content("shell_tool_call", call_id="c5", commands=["ls"], timeout_ms=5),
    "shell_tool_result": Content(
        "shell_tool_result", call_id="c5", outputs=[Content("shell_command_output", stdout="a", exit_code=0)]
    ),
    "shell_command_output": Content("shell_command_output", stdout="a", stderr="", exit_code=1, timed_out=False),
    "computer_tool_call": Content("computer_tool_call", call_id="c6", actions=[{"type": "click", "x": 1}]),
    "computer_tool_result": Content("computer_tool_result", call_id="c6", screenshot=Content.from_uri(PNG)),
    "function_approval_request": Content.from_function_approval_request("a1", CALL),
    "function_approval_response": Content.from_function_approval_response(True, "a1", CALL),
    "oauth_consent_request": Content("oauth_consent_request", consent_link="https://example.com/consent"),
}


def stored_and_read(*contents: Content) -> list[Content]:
    """Store contents as an answer in a document, read the document, and return the answer's contents."""
    conversation = read(write(conversation_of((a_request("r1"), a_response("r1", *contents)))))
    [_, entry] = conversation.data.conversation_history
    return agent_response(entry).messages[0].contents  # type: ignore[arg-type]


@pytest.mark.behaviour("state.keeps-every-content")
def test_every_content_type_of_the_framework_has_an_example_here() -> None:
    """A framework with a new type fails here, until it was looked at."""
    assert {*EVERY_CONTENT} == {*get_args(ContentType)}
    assert all(content.type == name for name, content in EVERY_CONTENT.items())


@pytest.mark.behaviour("state.keeps-every-content")
@pytest.mark.behaviour("state.authors-valid-documents")
@pytest.mark.parametrize("name", EVERY_CONTENT)
def test_a_content_comes_back_as_the_object_it_was_from_a_valid_document(name: str) -> None:
    """Compared in full, annotations too, which the framework's own equality leaves out."""
    given = EVERY_CONTENT[name]
    document = json.loads(write(conversation_of((a_request("r1"), a_response("r1", given)))))
    item = document["data"]["conversationHistory"][1]["messages"][0]["contents"][0]
    [back] = stored_and_read(given)

    assert back == given
    assert back.to_dict() == given.to_dict()
    for schema in (PUBLIC_SCHEMA, OWN_SCHEMA):
        Draft202012Validator(schema).validate(document)
    Draft202012Validator(PUBLIC_SCHEMA["$defs"]["chatContentItem"] | {"$defs": PUBLIC_SCHEMA["$defs"]}).validate(item)


@pytest.mark.behaviour("state.keeps-python-values")
@pytest.mark.parametrize(
    "arguments",
    [
        None,
        "",
        "{}",
        '{"city": "Paris"}',
        '{"city":"Par\\u0069s"}',
        '{"a":1,"a":2}',
        '{"a":NaN}',
        '{"a":1e400}',
        '["Paris"]',
        "Paris",
        '{"a":' * 200 + "1" + "}" * 200,
        {"city": "Paris"},
        {"price": decimal.Decimal("1.10"), "raw": b"\x00\xff", "at": dt.datetime(2026, 1, 2, tzinfo=dt.UTC)},
        {"$python": "decimal", "value": "no decimal"},
        {
            "$python": 1,
            "other": [float("inf"), dt.date(2026, 1, 2), dt.time(3), dt.timedelta(-1, 2, 3), uuid.UUID(int=7)],
        },
    ],
)
def test_arguments_come_back_as_they_were(arguments: Any) -> None:
    """Text as the same text, objects as the same objects, whatever JSON has words for."""
    [back] = stored_and_read(Content("function_call", call_id="c1", name="f", arguments=arguments))

    assert back.arguments == arguments
    assert type(back.arguments) is type(arguments)


@pytest.mark.behaviour("state.keeps-python-values")
@pytest.mark.parametrize("result", [None, "", "text", 0, 1.5, True, {"a": decimal.Decimal("1.10")}, [b"x"], [[[]]]])
def test_results_come_back_as_they_were(result: Any) -> None:
    [back] = stored_and_read(Content("function_result", call_id="c1", result=result))

    assert repr(back.result) == repr(result)


def test_what_cannot_be_kept_as_it_is_never_breaks_the_document() -> None:
    """Objects become their text; values too deep for a document come back."""
    deep: Any = "end"
    for _ in range(150):
        deep = {"a": deep}

    odd, deep_back = stored_and_read(
        Content("function_result", call_id="c1", additional_properties={"o": str, "s": {2, 1}, "e": decimal}),
        Content("function_call", call_id="c2", name="f", arguments=deep),
    )

    assert odd.additional_properties == {"o": str(str), "s": [1, 2], "e": str(decimal)}
    assert deep_back.arguments == deep


@pytest.mark.behaviour("state.keeps-the-response")
def test_a_response_comes_back_whole() -> None:
    """Ids, times, usage, value, continuation token, additional properties, authors and message ids."""
    message = Message("assistant", ["hi"], author_name="Joker", message_id="m1", additional_properties={"k": {"v": 1}})
    response = AgentResponse(
        messages=[message],
        response_id="resp1",
        agent_id="agent1",
        created_at="2026-01-02T03:04:05Z",
        finish_reason="stop",
        usage_details={"input_token_count": 1, "output_token_count": 2, "cache_read_input_token_count": 9},
        value={"mood": "good"},  # type: ignore[arg-type]
        continuation_token={"token": "t"},  # type: ignore[arg-type]
        additional_properties={"x": [1]},
    )

    back = agent_response(response_entry(run_id="r1", created_at=NOON, response=response))

    assert back.to_dict() == response.to_dict()
    assert back.value == {"mood": "good"}


class Mood(BaseModel):
    mood: str


@pytest.mark.parametrize(("text", "value"), [('{"mood":"good"}', {"mood": "good"}), ("no json", None)])
def test_a_structured_value_is_kept_as_json_and_a_broken_one_left_out(text: str, value: object) -> None:
    """The framework parses it on first access and raises then; the answer is kept in any case."""
    entry = a_response("r1", text, response_format=Mood)

    assert agent_response(entry).value == value
    assert agent_response(entry).text == text


@pytest.mark.behaviour("state.hides-failed-runs")
@pytest.mark.behaviour("state.authors-valid-documents")
@pytest.mark.parametrize("status", ["failed", "timed_out", "cancelled"])
def test_a_run_without_an_answer_is_kept_and_not_replayed(status: str) -> None:
    """Its request is not replayed either: the model would see a question that nobody answered."""
    failure = failure_entry(run_id="r2", created_at=NOON, status=status, code="run_failed", message="No.")
    conversation = conversation_of(
        (a_request("r1", "one"), a_response("r1", "two")), (a_request("r2", "three"), failure)
    )
    value = json.loads(write(conversation))

    assert [m.text for m in history_messages(conversation)] == ["one", "two"]
    assert value["data"]["conversationHistory"][3]["status"] == status
    Draft202012Validator(PUBLIC_SCHEMA).validate(value)
    Draft202012Validator(OWN_SCHEMA).validate(value)


@pytest.mark.behaviour("state.replays-as-plain")
def test_errors_and_usage_are_not_replayed() -> None:
    """They are no part of what a model said; nor are they where the schema has no type for them."""
    hidden = [EVERY_CONTENT[name] for name in ("usage", "error")]
    odd = Content("error", message="m", error_code=404)  # type: ignore[arg-type]
    conversation = conversation_of(
        (a_request("r1"), a_response("r1", *hidden, odd, "seen")), (a_request("r2"), a_response("r2", hidden[0]))
    )

    contents = [content.text for message in history_messages(conversation) for content in message.contents]
    assert contents == ["hello", "seen", "hello"]


def test_thoughts_that_another_package_wrote_are_not_sent() -> None:
    """They have no seal, and a provider refuses thoughts without one."""
    text = write(conversation_of((a_request("r1"), a_response("r1", "seen"))))
    document = json.loads(text)
    answer = document["data"]["conversationHistory"][1]
    answer.pop("agentFramework", None)
    answer["messages"][0]["contents"].insert(0, {"$type": "reasoning", "text": "hm"})

    messages = history_messages(read(json.dumps(document)))

    assert [[content.type for content in message.contents] for message in messages] == [["text"], ["text"]]


def test_what_another_writer_put_under_our_property_is_not_trusted() -> None:
    """The content is read by the public schema's properties then."""
    content = '{"$type":"text","text":"hi","agentFramework":%s}'
    entry = '{"$type":"response","messages":[{"role":"assistant","contents":[' + content + "]}]}"
    for odd in ('{"nonsense":1}', "7", '{"additional_properties":[1]}', '{"merge_mode":"?"}'):
        conversation = read('{"schemaVersion":"1.1.0","data":{"conversationHistory":[' + entry % odd + "]}}")

        assert [m.text for m in history_messages(conversation)] == ["hi"]


@pytest.mark.behaviour("state.history-is-the-runs-own")
def test_a_message_of_the_history_is_the_frameworks_own_and_changing_a_copy_changes_no_other() -> None:
    """It serializes as a framework message; copies share nothing that a run changes."""
    conversation = append_turn(read(None), a_request("r1", "hello"), a_response("r1", "hi"))
    first, second = history_messages(conversation)[0], history_messages(conversation)[0]
    copied = copy.copy(first)
    first.contents.append(Content.from_text("more"))
    first.additional_properties["mark"] = True
    copied.role = "system"
    assert (second.text, second.role, second.additional_properties) == ("hello", "user", {})
    assert second.to_dict() == Message("user", ["hello"]).to_dict()
