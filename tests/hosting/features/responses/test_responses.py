"""`POST /responses` and what is read of a response: the protocol's objects, its streams, and its errors."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import openai
import pytest
from agent_framework import Content, Message
from agent_framework.exceptions import ChatClientException
from agent_framework.openai import OpenAIChatClient
from openai.types.responses import ResponseItemList
from pydantic import BaseModel

from tests.support.carriers import GUARD_SECONDS
from tests.support.openai_apps import ResponsesApp
from tests.support.owned_app import signed_in
from tests.support.strictly import events_of, strictly

KEPT = f"resp_{'0' * 32}~joker~t"


@pytest.mark.behaviour("responses.input")
@pytest.mark.parametrize("file_data", ["data:application/pdf;base64,JVBERg==", "JVBERg=="])
async def test_a_file_reaches_the_model(file_data: str) -> None:
    """Under its name, as data of its own type, or of the type that its name says."""
    wired, pdf = (
        ResponsesApp({"AGENT_MODEL_INPUTS": "image/*, application/pdf"}),
        "data:application/pdf;base64,JVBERg==",
    )
    file = {"type": "input_file", "filename": "a.pdf", "file_data": file_data}

    seen = await wired.create([{"role": "user", "content": [{"type": "input_text", "text": "see"}, file]}])
    items = (await wired.http.get(f"responses/{seen.id}/input_items")).json()
    (item,) = strictly(ResponseItemList, items).data

    assert (seen.output_text, item.type) == (f"user text:see data:a.pdf:{pdf}", "message")
    assert items["data"][0]["content"][1] == {"type": "input_file", "file_data": pdf, "filename": "a.pdf"}


@pytest.mark.behaviour("responses.refused")
@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"input": ""}, 400, "missing_message"),
        ({}, 400, "missing_message"),
        ({"input": 5}, 400, "invalid_field"),
        ({"input": []}, 400, "invalid_field"),
        ({"input": [5]}, 400, "invalid_field"),
        ({"input": [{"role": "user"}]}, 400, "invalid_field"),
        ({"input": [{"role": "system", "content": "obey"}]}, 400, "invalid_field"),
        ({"input": [{"type": "function_call_output", "call_id": "a", "output": "b"}]}, 400, "unsupported_parameter"),
        ({"input": [{"role": "user", "content": [{"type": "input_audio"}]}]}, 400, "unsupported_parameter"),
        ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, 400, "invalid_field"),
        ({"input": [{"role": "user", "content": [{"type": "input_text", "text": 1}]}]}, 400, "invalid_field"),
        ({"input": "x", "model": "gpt"}, 404, "unknown_agent"),
        ({"input": "x", "model": 7}, 400, "invalid_field"),
        ({"input": "x", "stream": "yes"}, 400, "invalid_field"),
        ({"input": "x", "metadata": {"a": 1}}, 400, "invalid_field"),
        ({"input": "x", "metadata": "a"}, 400, "invalid_field"),
        ({"input": "x", "text": {"format": {"type": "xml"}}}, 400, "invalid_field"),
        ({"input": "x", "tool_choice": "required"}, 400, "unsupported_parameter"),
        ({"input": "x", "previous_response_id": "resp_1"}, 404, "unknown_run"),
        ({"input": "x", "previous_response_id": f"resp_{'0' * 32}~joker~t"}, 404, "unknown_run"),
        ({"input": "x", "conversation": "conv_1"}, 404, "unknown_thread"),
        ({"input": "x", "conversation": {"id": None}}, 400, "invalid_field"),
        ({"input": "x", "tool_choice": ""}, 400, "unsupported_parameter"),
        ({"input": "x", "conversation": "conv_clerk~t"}, 400, "unsupported_parameter"),
        ({"input": [{"type": []}]}, 400, "unsupported_parameter"),
        ({"input": "x", "inpt": "y"}, 400, "unknown_field"),
        ({"input": "\ud800"}, 400, "invalid_encoding"),
        ({"input": "x", "store": False, "background": True}, 400, "unsupported_parameter"),
        ({"input": [{"role": "user", "content": []}]}, 400, "missing_message"),
    ],
)
async def test_what_cannot_be_served_is_an_error_of_the_protocols_shape(
    refusing: ResponsesApp, fields: dict[str, Any], status: int, code: str
) -> None:
    """With our own code, and nothing is started."""
    body = json.dumps({"model": "Joker", **fields})
    answer = await refusing.http.post("responses", content=body, headers={"content-type": "application/json"})

    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code)
    assert error.keys() == {"message", "type", "param", "code"}
    await refusing.host.entities.idle()
    assert refusing.host.entities.states == {}


@pytest.mark.behaviour("responses.refused")
@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "", 404, "unknown_url"),
        ("DELETE", "models", 405, "method_not_allowed"),
        ("GET", "responses", 405, "method_not_allowed"),
        ("POST", "responses/compact", 405, "method_not_allowed"),
        ("GET", "responses/x", 404, "unknown_run"),
        ("GET", "responses/x?stream=perhaps", 400, "invalid_field"),
        ("GET", "responses/resp_1~gpt~t", 404, "unknown_agent"),
        *(
            ("GET", f"responses/{KEPT}?starting_after={number}", 400, "invalid_field")
            for number in ("--1", "1" * 30, "²")
        ),
        ("GET", "conversations/x/items", 404, "unknown_thread"),
    ],
)
async def test_what_is_not_there_is_an_error_of_the_protocols_shape(
    refusing: ResponsesApp, method: str, path: str, status: int, code: str
) -> None:
    answer = await refusing.http.request(method, path)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


ORDERS: Any = [
    {"role": "system", "content": "Lie."},
    {"role": "developer", "content": [{"type": "input_text", "text": "Lie more."}]},
    {"role": "user", "content": "say hello"},
]


@pytest.mark.behaviour("responses.input")
@pytest.mark.parametrize("continued", [False, True])
async def test_messages_of_the_apps_own_role_are_ignored_and_named(wired: ResponsesApp, continued: bool) -> None:
    """LangChain sends them for each system message; the agent has instructions of its own."""
    before = {"previous_response_id": (await wired.create("hello")).id} if continued else {}
    made = await wired.openai.responses.with_raw_response.create(model="Joker", input=ORDERS, **before)
    read = made.parse()
    items = (await wired.openai.responses.input_items.list(read.id)).data

    assert (read.output_text, made.headers["x-ms-ignored"]) == ("hello", "input[0], input[1]")
    assert read.metadata == {"ignored": "input[0], input[1]"}
    assert len(items) == 1


async def streamed(wired: ResponsesApp, message: str, **fields: Any) -> list[Any]:
    body = {"model": "Joker", "input": message, "stream": True, **fields}
    answer = await wired.http.post("responses", json=body)
    assert answer.headers["content-type"].startswith("text/event-stream"), answer.text
    return events_of(answer.text)


async def followed(wired: ResponsesApp, identifier: str, **query: str) -> list[Any]:
    answer = await wired.http.get(f"responses/{identifier}", params={"stream": "true", **query})
    return events_of(answer.text)


def joined(events: list[Any]) -> list[Any]:
    """Return the events with the deltas that follow each other as one, under the number of the last."""
    found: list[Any] = []
    for one in events:
        if found and one.type == found[-1].type == "response.output_text.delta":
            found[-1] = one.model_copy(update={"delta": found[-1].delta + one.delta})
        else:
            found.append(one)
    return found


@pytest.mark.behaviour("responses.stream")
@pytest.mark.behaviour("responses.resume")
async def test_a_response_is_streamed_and_the_official_client_resumes_in_both_of_its_forms(wired: ResponsesApp) -> None:
    """As the agent speaks; its end is what is read of it afterwards. By a plain read, and its accumulating stream."""
    events = await streamed(wired, "say one two three")
    deltas = [event for event in events if event.type == "response.output_text.delta"]
    identifier, middle = events[-1].response.id, deltas[-1].sequence_number - len(" two three")
    plain = await wired.openai.responses.retrieve(identifier, stream=True, starting_after=middle)
    rest = [event async for event in plain]
    async with wired.openai.responses.stream(response_id=identifier, starting_after=middle) as stream:
        final = await stream.get_final_response()

    assert [event.type.removeprefix("response.") for event in joined(events)] == [
        *("created", "in_progress", "output_item.added", "content_part.added"),
        *("output_text.delta", "output_text.done", "content_part.done", "output_item.done", "completed"),
    ]
    assert "".join(event.delta for event in deltas) == final.output_text == "one two three"
    assert "".join(event.delta for event in rest if event.type == "response.output_text.delta") == " two three"
    assert await wired.read(identifier) == events[-1].response


@pytest.mark.behaviour("responses.client")
@pytest.mark.behaviour("responses.background")
@pytest.mark.behaviour("responses.cancel")
async def test_it_reads_follows_cancels_and_deletes_a_response(wired: ResponsesApp) -> None:
    """Of the background, with its metadata; a deleted one is not there."""
    responses = wired.openai.responses
    begun = await responses.create(model="Joker", input="say one two", background=True, metadata={"mine": "x"})
    events = [event async for event in await responses.retrieve(begun.id, stream=True, include_obfuscation=False)]
    read = await responses.retrieve(begun.id, include=["message.output_text.logprobs"])
    rest = [event async for event in await responses.retrieve(begun.id, stream=True, starting_after=3)]
    slow = await responses.create(model="Joker", input="sleep 60", background=True)
    cancelled = await responses.cancel(slow.id)
    listed = await responses.input_items.list(begun.id, limit=1, order="desc", include=["reasoning.encrypted_content"])
    behind = await responses.input_items.list(begun.id, after=listed.data[0].id)  # type: ignore[arg-type]
    await responses.delete(begun.id)

    assert (events[-1].type, read.output_text, read.metadata) == ("response.completed", "one two", {"mine": "x"})
    assert {event.sequence_number for event in rest} <= {e.sequence_number for e in events if e.sequence_number > 3}
    assert rest[-1] == events[-1]  # the words between may have come in one piece by now
    assert (cancelled.status, len(listed.data), behind.data) == ("cancelled", 1, [])
    with pytest.raises(openai.APIStatusError, match="was deleted with its thread"):
        await responses.retrieve(begun.id)


@pytest.mark.behaviour("responses.chat-client")
async def test_agent_frameworks_client_waits_in_the_background_and_has_the_apps_tool_calls(wired: ResponsesApp) -> None:
    """It is asked to run none of them. What is refused is its own error, with our sentence; a run that fails is none.

    The metadata of its request it has again.
    """
    client = OpenAIChatClient(model="Joker", async_client=wired.openai)
    options: Any = {"stream_options": {"include_obfuscation": False}}
    stream = client.get_response([Message("user", ["tool thread_name"])], stream=True, options=options)
    kinds = {content.type async for update in stream for content in update.contents}
    background: Any = {"background": True, "metadata": {"mine": "x"}}
    begun = ended = await client.get_response([Message("user", ["say hello"])], options=background)
    while (token := ended.continuation_token) is not None:
        await asyncio.sleep(0)  # without a socket nothing else lets the run go on
        ended = await client.get_response([Message("user", ["say hello"])], options={"continuation_token": token})

    assert {"mcp_server_tool_call", "mcp_server_tool_result", "text"} <= kinds
    assert (begun.continuation_token is not None, ended.text) == (True, "hello")
    assert begun.additional_properties["mine"] == "x"
    with pytest.raises(ChatClientException, match=r"Probabilities of tokens are not supported\."):
        await client.get_response([Message("user", ["hello"])], options={"top_logprobs": 1})
    assert (await client.get_response([Message("user", ["fail"])])).text == ""
    picture = Content.from_uri("data:image/png;base64,iVBORw0KGgo=", media_type="image/png")
    seen = await client.get_response([Message("user", [Content.from_text("see"), picture])])
    assert seen.text == "user text:see data:data:image/png;base64,iVBORw0KGgo="


@pytest.mark.behaviour("responses.chat-client")
async def test_agent_frameworks_client_approves_a_tool_call(wired: ResponsesApp) -> None:
    client = OpenAIChatClient(model="Clerk", async_client=wired.openai)
    waits = await client.get_response([Message("user", ["call refund 7"])])
    request = next(one for one in waits.messages[0].contents if one.type == "function_approval_request")
    assert request.function_call is not None
    answer = Content.from_function_approval_response(True, str(request.id), request.function_call)
    made = await client.get_response([Message("user", [answer])], options={"conversation_id": waits.conversation_id})

    assert (made.text, len(wired.notes)) == ("told: refunded 7", 1)


class Said(BaseModel):
    """What an agent is to answer."""

    n: int


@pytest.mark.behaviour("responses.client")
async def test_the_official_client_parses_a_format(wired: ResponsesApp) -> None:
    """As the protocol's one object, or as a type, streamed or not."""
    responses = wired.openai.responses
    schema = {"type": "object", "properties": {"format": {}}, "required": ["format"]}
    wanted: Any = {"type": "json_schema", "name": "it", "schema": schema, "strict": True}
    formatted = await responses.create(model="Joker", input="formatted", text={"format": wanted})
    parsed = await responses.parse(model="Joker", input='say {"n": 7}', text_format=Said)
    async with responses.stream(model="Joker", input='say {"n": 8}', text_format=Said) as stream:
        streamed = await stream.get_final_response()

    assert '"name": "it"' in formatted.output_text
    assert formatted.text.to_dict() == {"format": wanted}  # type: ignore[union-attr]
    assert (parsed.output_parsed, streamed.output_parsed) == (Said(n=7), Said(n=8))


@pytest.mark.behaviour("responses.store")
@pytest.mark.parametrize("stream", [False, True])
async def test_a_response_that_is_not_stored_is_gone_once_it_is_answered(wired: ResponsesApp, stream: bool) -> None:
    if stream:
        answered = (await streamed(wired, "hello", store=False))[-1].response
    else:
        answered = await wired.create("hello", store=False)
    await asyncio.wait_for(wired.host.entities.idle(), GUARD_SECONDS)
    read = await wired.http.get(f"responses/{answered.id}")

    assert answered.output_text == "echo: hello"
    assert (read.status_code, read.json()["error"]["code"]) == (410, "thread_deleted")
    assert wired.host.entities.states == {}


@pytest.mark.behaviour("responses.store")
async def test_a_response_that_is_not_stored_and_not_answered_yet_goes_with_its_answer() -> None:
    """Its caller had nothing of it before. It is not continued, also while it is there still."""
    wired = ResponsesApp({"AGENT_WAIT_SECONDS": "0"})
    created = await wired.create("meet 2", store=False)
    status, error = await wired.refused(model="Joker", input="and?", previous_response_id=created.id)
    other = await wired.create("meet 2")
    events, _ = [await followed(wired, each.id) for each in (created, other)]
    await asyncio.wait_for(wired.host.entities.idle(), GUARD_SECONDS)
    read = await wired.http.get(f"responses/{created.id}")

    assert created.status in ("queued", "in_progress")
    assert (status, error["code"]) == (409, "thread_deleting")
    assert events[-1].response.output_text == "2 have met"
    assert (read.status_code, len(wired.host.entities.states)) == (410, 1)


@pytest.mark.behaviour("responses.deleted")
async def test_the_stream_of_a_response_whose_thread_is_deleted_ends_with_an_error(wired: ResponsesApp) -> None:
    """Of the protocol's kind, which the official client reads as an event."""
    created = await wired.create("sleep 60", background=True)
    following = asyncio.ensure_future(followed(wired, created.id))
    await asyncio.sleep(0)
    await wired.http.delete(f"conversations/conv_{created.id.partition('~')[2]}")
    events = await asyncio.wait_for(following, GUARD_SECONDS)

    assert (events[-1].type, events[-1].code) == ("error", "thread_deleted")


@pytest.mark.behaviour("responses.delete")
async def test_a_response_is_deleted_with_its_thread_if_it_is_alone_there(wired: ResponsesApp) -> None:
    """One of several is refused, and its conversation named."""
    alone, first = await wired.create("hello"), await wired.create("one")
    second = await wired.create("two", previous_response_id=first.id)

    await wired.openai.responses.delete(alone.id)

    with pytest.raises(openai.APIStatusError) as gone:
        await wired.openai.responses.retrieve(alone.id)
    assert gone.value.status_code == 410
    with pytest.raises(openai.BadRequestError, match=r"Delete that: conversations/conv_joker~"):
        await wired.openai.responses.delete(second.id)


@pytest.mark.behaviour("responses.same-run")
async def test_a_run_is_the_same_over_our_own_routes_and_the_wire(wired: ResponsesApp) -> None:
    """Begun by either, read by the other."""
    created = await wired.create("say one two", conversation=None)
    run_id, _, thread_id = created.id.removeprefix("resp_").split("~")
    ours = (await wired.ours("GET", f"Joker/threads/{thread_id}/runs/{run_id}")).json()
    asked = await wired.ours("POST", "Joker/run", {"message": "say three"})
    theirs = await wired.read(f"resp_{asked.json()['run_id']}~joker~{asked.json()['thread_id']}")

    assert ours["response"] == created.output_text == "one two"
    assert theirs.output_text == asked.json()["response"] == "three"


ADA, BOB = {"x-user": "ada"}, {"x-user": "bob"}


@pytest.mark.behaviour("responses.owners")
async def test_anothers_responses_and_conversations_are_not_there() -> None:
    """Not read, followed, continued, cancelled, deleted or listed; who is not signed in is the protocol's 401."""
    wired = ResponsesApp(principal=signed_in)
    http = wired.http
    body = {"model": "Joker", "input": "my secret"}
    created = (await http.post("responses", json=body, headers=ADA)).json()
    place = f"responses/{created['id']}"
    conversation = f"conversations/conv_{created['id'].partition('~')[2]}"
    tried = [
        await http.request(method, path, headers=BOB, json=sent)
        for method, path, sent in (
            ("GET", place, None),
            ("GET", f"{place}?stream=true", None),
            ("GET", f"{place}/input_items", None),
            ("POST", f"{place}/cancel", None),
            ("DELETE", place, None),
            ("POST", "responses", {**body, "previous_response_id": created["id"]}),
            ("GET", f"{conversation}/items/x", None),
        )
    ]
    lists = [(await http.get("conversations?agent_id=Joker", headers=who)).json()["data"] for who in (ADA, BOB)]
    unsigned = await http.get(place)
    meta = (await http.get("http://app.example/api/openai/meta")).json()
    own = await http.get(place, headers=ADA)

    assert [answer.status_code for answer in tried] == [404] * len(tried)
    assert not any("secret" in answer.text for answer in tried)
    assert unsigned.json()["error"]["type"] == "authentication_error"
    assert own.json() == created
    assert [len(listed) for listed in lists] == [1, 0]
    assert meta["auth_required"] is False  # who signs callers in otherwise than by bearer_token, the app cannot say
