"""`POST /responses` and what is read of a response: the protocol's objects, and its errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from openai.types.responses import ResponseItemList
from openai.types.responses.response_create_params import ResponseCreateParamsBase

from hosting.features.responses.names import OPERATIONS
from hosting.features.responses.requests import AGENTS_OWN, REFUSED, SERVED, SILENT
from tests.hosting.features.responses.wired import Wired
from tests.support.page_tables import refused_fields
from tests.support.strictly import strictly

KEPT = f"resp_{'0' * 32}~joker~t"
PAGE = (Path(__file__).parents[4] / "docs" / "reference" / "responses.md").read_text(encoding="utf-8")


@pytest.mark.behaviour("responses.create")
async def test_a_response_is_the_agents_answer_and_is_read_again(wired: Wired) -> None:
    """The same object, whoever reads it."""
    created = await wired.create("hello", metadata={"for": "a test"})

    assert (created.status, created.model, created.output_text) == ("completed", "Joker", "echo: hello")
    assert created.usage is not None
    assert (created.usage.input_tokens, created.usage.output_tokens, created.usage.total_tokens) == (3, 4, 7)
    assert created.metadata == {"for": "a test"}
    assert await wired.read(created.id) == created


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
        *(
            ("GET", f"responses/{KEPT}?starting_after={number}", 400, "invalid_field")
            for number in ("x", "--1", "1" * 30, "²")
        ),
        ("GET", "conversations/x/items", 404, "unknown_thread"),
    ],
)
async def test_what_is_not_there_is_an_error_of_the_protocols_shape(
    wired: Wired, method: str, path: str, status: int, code: str
) -> None:
    """Whatever the path."""
    answer = await wired.http.request(method, path)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
