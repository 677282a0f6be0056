"""`POST /responses` and what is read of a response: the protocol's objects, and its errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.types import Model
from openai.types.responses import ResponseItemList
from openai.types.responses.response_create_params import ResponseCreateParamsBase

from hosting.assembly import WIRES
from hosting.errors import ConfigurationError
from hosting.features.responses.names import OPERATIONS
from hosting.features.responses.requests import AGENTS_OWN, REFUSED, SERVED, SILENT
from tests.hosting.features.responses.wired import Wired
from tests.support.app.scripted import scripted_agent
from tests.support.made_app import app_of, triggers
from tests.support.page_tables import refused_fields
from tests.support.strictly import strictly

PAGE = (Path(__file__).parents[4] / "docs" / "reference" / "responses.md").read_text(encoding="utf-8")


@pytest.mark.behaviour("responses.named")
def test_the_wire_is_one_function_and_is_off_unless_it_is_named() -> None:
    """Below a path that no other route has."""
    wired = triggers(app_of(scripted_agent("one"), wires=["responses"]))

    assert "http_responses" not in triggers(app_of(scripted_agent("one")))
    assert wired["http_responses"]["route"] == "openai/{*path}"
    assert wired["http_responses"]["authLevel"] == "FUNCTION"


@pytest.mark.behaviour("responses.named")
@pytest.mark.parametrize(
    ("wires", "sentence"),
    [
        (["response"], "There is no wire 'response'. Did you mean 'responses'?"),
        (["xyz"], f"There is no wire 'xyz'. Wires: {', '.join(map(repr, WIRES))}."),
        ("responses", "wires is the text 'responses'. Give a list of names, such as wires=['responses']."),
    ],
)
def test_a_name_that_is_no_wire_is_refused_at_start_up(wires: Any, sentence: str) -> None:
    """With the nearest one."""
    with pytest.raises(ConfigurationError) as refused:
        app_of(scripted_agent("one"), wires=wires)

    assert refused.value.detail == sentence


@pytest.mark.behaviour("responses.models")
async def test_the_agents_are_the_models(wired: Wired) -> None:
    """Each by its name; one that is none is the protocol's 404."""
    models = (await wired.http.get("models")).json()["data"]

    assert [strictly(Model, model).id for model in models] == ["Joker", "Clerk"]
    assert (await wired.openai.models.retrieve("joker")).id == "Joker"
    with pytest.raises(openai.NotFoundError, match=r"There is no agent 'gpt' here. Agents: Joker, Clerk."):
        await wired.openai.models.retrieve("gpt")


@pytest.mark.behaviour("responses.create")
async def test_a_response_is_the_agents_answer_and_is_read_again(wired: Wired) -> None:
    """The same object, whoever reads it."""
    created = await wired.create("hello", metadata={"for": "a test"})

    assert (created.status, created.model, created.output_text) == ("completed", "Joker", "echo: hello")
    assert created.usage is not None
    assert (created.usage.input_tokens, created.usage.output_tokens, created.usage.total_tokens) == (3, 4, 7)
    assert created.metadata == {"for": "a test"}
    assert await wired.read(created.id) == created


@pytest.mark.behaviour("responses.create")
async def test_the_official_client_asks_and_reads(wired: Wired) -> None:
    """As a program that was written for OpenAI."""
    created = await wired.openai.responses.create(model="Joker", input="hello")
    read = await wired.openai.responses.retrieve(created.id)

    assert created.output_text == read.output_text == "echo: hello"


@pytest.mark.behaviour("responses.create")
async def test_the_agent_is_named_by_entity_id_too(wired: Wired) -> None:
    """As agent-framework's own page does."""
    created = await wired.create("hello", model=None, metadata={"entity_id": "joker"})  # type: ignore[arg-type]

    assert created.model == "Joker"


@pytest.mark.behaviour("responses.create")
async def test_a_repeated_key_is_answered_by_the_same_response(wired: Wired) -> None:
    """And the agent runs once."""
    body, key = {"model": "Joker", "input": "count"}, {"idempotency-key": "k-1"}

    first, again = [await wired.http.post("responses", json=body, headers=key) for _ in range(2)]
    other = await wired.http.post("responses", json={**body, "input": "else"}, headers=key)

    assert again.json() == first.json()
    assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_key_reused")
    assert other.headers["x-should-retry"] == "false"


@pytest.mark.behaviour("responses.create")
async def test_a_run_that_fails_is_a_failed_response(wired: Wired) -> None:
    """200, because it exists: a client that sent the request again would begin another."""
    failed = await wired.create("fail")

    assert failed.error is not None
    assert (failed.status, failed.error.code, failed.error.type) == ("failed", "server_error", "run_failed")
    assert "secret" not in failed.error.message


@pytest.mark.behaviour("responses.create")
async def test_a_response_that_takes_longer_than_a_request_may_wait_is_in_progress() -> None:
    """And is read when it has ended."""
    wired = Wired({"AGENT_WAIT_SECONDS": "0"})
    async with wired.http:
        created = await wired.create("sleep 0.3")
        text = (await wired.http.get(f"responses/{created.id}", params={"stream": "true"})).text

    assert created.status in ("queued", "in_progress")
    assert "echo: sleep 0.3" in text


@pytest.mark.behaviour("responses.input")
async def test_pictures_and_several_messages_reach_the_model(wired: Wired) -> None:
    """Parts in their order; earlier messages before the last."""
    picture = "data:image/png;base64,iVBORw0KGgo="
    parts = [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": picture, "detail": "auto"}]

    seen = await wired.create([{"role": "user", "content": parts}])
    counted = await wired.create([{"role": "user", "content": "one"}, {"role": "user", "content": "count"}])
    items = (await wired.http.get(f"responses/{seen.id}/input_items")).json()

    assert seen.output_text == f"user text:see data:{picture}"
    assert counted.output_text == "2"
    (item,) = strictly(ResponseItemList, items).data
    assert [part["type"] for part in items["data"][0]["content"]] == ["input_text", "input_image"]
    assert item.type == "message"


@pytest.mark.behaviour("responses.input")
@pytest.mark.parametrize("file_data", ["data:application/pdf;base64,JVBERg==", "JVBERg=="])
async def test_a_file_reaches_the_model(file_data: str) -> None:
    """Under its name, as data of its own type, or of the type that its name says."""
    wired, pdf = Wired({"AGENT_MODEL_INPUTS": "image/*, application/pdf"}), "data:application/pdf;base64,JVBERg=="
    file = {"type": "input_file", "filename": "a.pdf", "file_data": file_data}

    seen = await wired.create([{"role": "user", "content": [{"type": "input_text", "text": "see"}, file]}])
    items = (await wired.http.get(f"responses/{seen.id}/input_items")).json()

    assert seen.output_text == f"user text:see data:a.pdf:{pdf}"
    assert items["data"][0]["content"][1] == {"type": "input_file", "file_data": pdf, "filename": "a.pdf"}


@pytest.mark.behaviour("responses.input")
async def test_a_format_is_the_models_and_is_said_again(wired: Wired) -> None:
    """The protocol's one object is our two."""
    schema = {"type": "object", "properties": {"format": {}}, "required": ["format"]}
    wanted = {"type": "json_schema", "name": "it", "schema": schema, "strict": True}

    created = await wired.create("formatted", text={"format": wanted})

    assert '"name": "it"' in created.output_text
    assert (await wired.http.get(f"responses/{created.id}")).json()["text"] == {"format": wanted}


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
async def test_a_message_with_nothing_in_it_is_refused_by_its_place_in_the_protocols_body(wired: Wired) -> None:
    """And by no field of our own."""
    _, error = await wired.refused(model="Joker", input=[{"role": "user", "content": []}])

    assert error["code"] == "missing_message"
    assert error["message"] == "input[0]: The message is empty. Say what to ask the agent."


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
    ],
)
async def test_what_cannot_be_served_is_an_error_of_the_protocols_shape(
    wired: Wired, fields: dict[str, Any], status: int, code: str
) -> None:
    """With our own code, and nothing is started."""
    body = json.dumps({"model": "Joker", **fields})
    answer = await wired.http.post("responses", content=body, headers={"content-type": "application/json"})

    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code)
    assert error.keys() == {"message", "type", "param", "code"}
    await wired.host.entities.idle()
    assert wired.host.entities.states == {}


@pytest.mark.behaviour("responses.refused")
@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "", 404, "unknown_url"),
        ("GET", "vector_stores", 404, "unknown_url"),
        ("DELETE", "models", 405, "method_not_allowed"),
        ("GET", "responses", 405, "method_not_allowed"),
        ("POST", "responses/compact", 405, "method_not_allowed"),
        ("POST", "responses/input_tokens", 405, "method_not_allowed"),
        ("DELETE", "models/Joker", 405, "method_not_allowed"),
        ("GET", "responses/x", 404, "unknown_run"),
        ("GET", "responses/x?stream=perhaps", 400, "invalid_field"),
        ("GET", "responses/resp_1~gpt~t", 404, "unknown_agent"),
        ("GET", "conversations/x/items", 404, "unknown_thread"),
    ],
)
async def test_what_is_not_there_is_an_error_of_the_protocols_shape(
    wired: Wired, method: str, path: str, status: int, code: str
) -> None:
    """Whatever the path."""
    answer = await wired.http.request(method, path)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
