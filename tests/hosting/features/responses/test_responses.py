"""`POST /responses` and what is read of a response: the protocol's objects, and its errors."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.types.responses import ResponseItemList
from openai.types.responses.response_create_params import ResponseCreateParamsBase

from hosting.features.responses.names import OPERATIONS
from hosting.features.responses.requests import AGENTS_OWN, REFUSED, SERVED, SILENT
from tests.hosting.features.responses.wired import Wired, joined
from tests.support.carriers import GUARD_SECONDS
from tests.support.owned_app import signed_in
from tests.support.page_tables import refused_fields
from tests.support.strictly import events_of, strictly

KEPT = f"resp_{'0' * 32}~joker~t"
PAGE = (Path(__file__).parents[4] / "docs" / "reference" / "responses.md").read_text(encoding="utf-8")


@pytest.mark.behaviour("responses.input")
@pytest.mark.parametrize("file_data", ["data:application/pdf;base64,JVBERg==", "JVBERg=="])
async def test_a_file_reaches_the_model(file_data: str) -> None:
    """Under its name, as data of its own type, or of the type that its name says."""
    wired, pdf = Wired({"AGENT_MODEL_INPUTS": "image/*, application/pdf"}), "data:application/pdf;base64,JVBERg=="
    file = {"type": "input_file", "filename": "a.pdf", "file_data": file_data}

    seen = await wired.create([{"role": "user", "content": [{"type": "input_text", "text": "see"}, file]}])
    items = (await wired.http.get(f"responses/{seen.id}/input_items")).json()
    (item,) = strictly(ResponseItemList, items).data

    assert (seen.output_text, item.type) == (f"user text:see data:a.pdf:{pdf}", "message")
    assert items["data"][0]["content"][1] == {"type": "input_file", "file_data": pdf, "filename": "a.pdf"}


@pytest.mark.behaviour("responses.refused")
def test_every_field_of_the_protocol_is_served_without_effect_or_refused() -> None:
    """Of the official client, and no other; and each has its row on the page."""
    fields = {*ResponseCreateParamsBase.__annotations__, "stream"}

    assert sorted([*SERVED, *SILENT, *AGENTS_OWN, *REFUSED]) == sorted(fields)
    assert [name for name in fields if f"`{name}`" not in PAGE] == []
    assert refused_fields(PAGE) >= set(REFUSED)
    assert [
        str(route)
        for route in OPERATIONS
        if f"`{route.method} {route.path.removeprefix('openai/').removeprefix('v1/')}`" not in PAGE
    ] == []


@pytest.mark.behaviour("responses.refused")
@pytest.mark.parametrize("field", sorted(REFUSED))
async def test_a_field_that_is_not_served_is_refused_by_its_name(wired: Wired, field: str) -> None:
    """In the protocol's shape; one that asks for nothing is no matter."""
    status, error = await wired.refused(model="Joker", input="hello", **{field: "x"})

    assert status == 400
    assert error == {
        "message": REFUSED[field],
        "type": "invalid_request_error",
        "param": field,
        "code": "unsupported_parameter",
    }
    assert (await wired.create("hello", **{field: None})).status == "completed"


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
    refusing: Wired, fields: dict[str, Any], status: int, code: str
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
    refusing: Wired, method: str, path: str, status: int, code: str
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
async def test_messages_of_the_apps_own_role_are_ignored_and_named(wired: Wired, continued: bool) -> None:
    """LangChain sends them for each system message; the agent has instructions of its own."""
    before = {"previous_response_id": (await wired.create("hello")).id} if continued else {}
    made = await wired.openai.responses.with_raw_response.create(model="Joker", input=ORDERS, **before)
    read = made.parse()
    items = (await wired.openai.responses.input_items.list(read.id)).data

    assert (read.output_text, made.headers["x-ms-ignored"]) == ("hello", "input[0], input[1]")
    assert read.metadata == {"ignored": "input[0], input[1]"}
    assert len(items) == 1


async def streamed(wired: Wired, message: str, **fields: Any) -> list[Any]:
    body = {"model": "Joker", "input": message, "stream": True, **fields}
    answer = await wired.http.post("responses", json=body)
    assert answer.headers["content-type"].startswith("text/event-stream"), answer.text
    return events_of(answer.text)


async def followed(wired: Wired, identifier: str, **query: str) -> list[Any]:
    answer = await wired.http.get(f"responses/{identifier}", params={"stream": "true", **query})
    return events_of(answer.text)


@pytest.mark.behaviour("responses.stream")
@pytest.mark.behaviour("responses.resume")
async def test_a_response_is_streamed_and_the_official_client_resumes_in_both_of_its_forms(wired: Wired) -> None:
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


@pytest.mark.behaviour("responses.store")
@pytest.mark.parametrize("stream", [False, True])
async def test_a_response_that_is_not_stored_is_gone_once_it_is_answered(wired: Wired, stream: bool) -> None:
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
    wired = Wired({"AGENT_WAIT_SECONDS": "0"})
    async with wired.http:
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
async def test_the_stream_of_a_response_whose_thread_is_deleted_ends_with_an_error(wired: Wired) -> None:
    """Of the protocol's kind, which the official client reads as an event."""
    created = await wired.create("sleep 60", background=True)
    following = asyncio.ensure_future(followed(wired, created.id))
    await asyncio.sleep(0)
    await wired.http.delete(f"conversations/conv_{created.id.partition('~')[2]}")
    events = await asyncio.wait_for(following, GUARD_SECONDS)

    assert (events[-1].type, events[-1].code) == ("error", "thread_deleted")


@pytest.mark.behaviour("responses.delete")
async def test_a_response_is_deleted_with_its_thread_if_it_is_alone_there(wired: Wired) -> None:
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
async def test_a_run_is_the_same_over_our_own_routes_and_the_wire(wired: Wired) -> None:
    """Begun by either, read by the other."""
    created = await wired.create("say one two", conversation=None)
    run_id, _, thread_id = created.id.removeprefix("resp_").split("~")
    ours = (await wired.http.get(f"http://app.example/api/agents/Joker/threads/{thread_id}/runs/{run_id}")).json()
    asked = await wired.http.post("http://app.example/api/agents/Joker/run", json={"message": "say three"})
    theirs = await wired.read(f"resp_{asked.json()['run_id']}~joker~{asked.json()['thread_id']}")

    assert ours["response"] == created.output_text == "one two"
    assert theirs.output_text == asked.json()["response"] == "three"


ADA, BOB = {"x-user": "ada"}, {"x-user": "bob"}


@pytest.mark.behaviour("responses.owners")
async def test_anothers_responses_and_conversations_are_not_there() -> None:
    """Not read, followed, continued, cancelled, deleted or listed; who is not signed in is the protocol's 401."""
    wired = Wired(principal=signed_in)
    async with wired.http as http:
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
