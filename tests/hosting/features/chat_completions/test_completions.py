"""`POST /chat/completions`: the protocol's object, what is taken of a request, and its errors."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.types import Model
from openai.types.chat.completion_create_params import CompletionCreateParamsBase

from hosting.features.chat_completions.names import OPERATIONS
from hosting.features.chat_completions.requests import AGENTS_OWN, REFUSED, SERVED
from tests.hosting.features.chat_completions.chats import Chats, said
from tests.support.carriers import GUARD_SECONDS
from tests.support.page_tables import refused_fields
from tests.support.strictly import strictly

PAGE = (Path(__file__).parents[4] / "docs" / "reference" / "chat-completions.md").read_text(encoding="utf-8")


@pytest.mark.behaviour("chat.create")
async def test_a_run_that_a_request_may_not_wait_for_is_found_by_its_key() -> None:
    """Without a key the client is told not to repeat it, nor a run that failed: its tools would be called again."""
    chats = Chats({"AGENT_WAIT_SECONDS": "0"})
    async with chats.http:
        unnamed, failed = await chats.post("sleep 0"), await Chats().post("fail")
        first = await chats.post("sleep 0.01", headers={"idempotency-key": "k-2"})
        last = first
        while last.status_code == 504:
            last = await chats.post("sleep 0.01", headers={"idempotency-key": "k-2"})

    assert (unnamed.status_code, unnamed.json()["error"]["code"]) == (504, "still_running")
    assert [answer.headers.get("x-should-retry") for answer in (unnamed, failed, first)] == ["false", "false", None]
    assert (failed.status_code, failed.json()["error"]["type"]) == (500, "server_error")
    assert last.json()["choices"][0]["message"]["content"] == "echo: sleep 0.01"


@pytest.mark.behaviour("chat.messages")
async def test_the_request_tells_the_whole_conversation(chats: Chats) -> None:
    """Each request is a thread of its own, which is gone after its answer."""
    conversation = [said("user", "my name is Ada"), said("assistant", "Hello, Ada."), said("user", "recall")]

    assert await chats.text(*conversation) == "my name is Ada | recall"
    assert await chats.text("count") == "1"
    assert await chats.text(*conversation[:2], said("user", "count")) == "3"
    await asyncio.wait_for(chats.host.entities.idle(), GUARD_SECONDS)
    assert chats.host.entities.states == {}


@pytest.mark.behaviour("chat.thread")
@pytest.mark.parametrize(
    "place", [{"metadata": {"thread_id": "mine"}}, {"headers": {"x-ms-thread-id": "mine"}}], ids=["metadata", "header"]
)
async def test_a_named_thread_goes_on_with_what_is_new(chats: Chats, place: dict[str, Any]) -> None:
    """Front ends send what the thread has already; it is not added again."""
    first = await chats.post("my name is Ada", **place)
    second = await chats.text(said("user", "my name is Ada"), said("assistant", "x"), said("user", "recall"), **place)
    alone = await chats.text("recall", **place)

    assert (first.headers["x-ms-thread-id"], second) == ("mine", "my name is Ada | recall")
    assert alone == "my name is Ada | recall | recall"


@pytest.mark.behaviour("chat.ignored")
async def test_what_the_author_decides_is_ignored_and_named(chats: Chats) -> None:
    """Chat front ends send a prompt and a temperature whether or not somebody chose them."""
    answer = await chats.post(said("system", "Obey."), said("developer", "Obey."), "count", temperature=1, max_tokens=9)

    assert answer.json()["choices"][0]["message"]["content"] == "1"
    assert answer.headers["x-ms-ignored"] == "max_tokens, temperature, messages[0], messages[1]"
    assert answer.json()["metadata"] == {"ignored": answer.headers["x-ms-ignored"]}
    assert "x-ms-ignored" not in (await chats.post("count")).headers


@pytest.mark.behaviour("chat.refused")
def test_every_field_of_the_protocol_is_in_one_table() -> None:
    """Of the official client, and no other; and each has its row on the page."""
    fields = {*CompletionCreateParamsBase.__annotations__, "stream"}

    assert sorted([*SERVED, *AGENTS_OWN, *REFUSED, "n", "modalities"]) == sorted(fields)
    assert [name for name in fields if f"`{name}`" not in PAGE] == []
    assert refused_fields(PAGE) >= set(REFUSED)
    operations = [f"`{route.method} {route.path.removeprefix('chat/v1/')}`" for route in OPERATIONS]
    assert [operation for operation in operations if operation not in PAGE] == []


@pytest.mark.behaviour("chat.refused")
@pytest.mark.parametrize("field", sorted(REFUSED))
async def test_a_field_that_changes_the_answer_is_refused_by_its_name(refusing: Chats, field: str) -> None:
    """In the protocol's shape; one that asks for nothing is no matter."""
    status, error = await refusing.refused("hello", **{field: "x"})

    assert status == 400
    assert error == {
        "message": REFUSED[field],
        "type": "invalid_request_error",
        "param": field,
        "code": "unsupported_parameter",
    }
    assert await refusing.text("hello", **{field: None}) == "echo: hello"


@pytest.mark.behaviour("chat.refused")
@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"messages": []}, 400, "invalid_field"),
        ({"messages": "hello"}, 400, "invalid_field"),
        ({"messages": [5]}, 400, "invalid_field"),
        ({"messages": [said("user", "")]}, 400, "missing_message"),
        ({"messages": [said("user", None)]}, 400, "invalid_field"),
        ({"messages": [said("robot", "x")]}, 400, "invalid_field"),
        ({"messages": [said("system", "x")]}, 400, "invalid_field"),
        ({"messages": [said("tool", "x")]}, 400, "unsupported_parameter"),
        ({"messages": [{"role": "assistant", "tool_calls": [{}]}]}, 400, "invalid_field"),
        ({"messages": [{"role": "assistant", "function_call": {"name": "f"}}]}, 400, "unsupported_parameter"),
        ({"messages": [said("user", "a"), said("assistant", "b")]}, 400, "unsupported_parameter"),
        ({"messages": [said("assistant", "b")], "metadata": {"thread_id": "t"}}, 400, "unsupported_parameter"),
        ({"messages": [said("user", [{"type": "video"}])]}, 400, "unsupported_parameter"),
        ({"messages": [said("user", [{"type": "image_url", "image_url": "x"}])]}, 400, "invalid_field"),
        ({"messages": [said("user", [{"type": "image_url", "image_url": {}}])]}, 400, "invalid_field"),
        ({"messages": [said("user", [{"type": "text", "text": 1}])]}, 400, "invalid_field"),
        ({"messages": [said("user", [{"type": ["text"]}])]}, 400, "unsupported_parameter"),
        ({"messages": [said(["user"], "x")]}, 400, "invalid_field"),  # type: ignore[arg-type]
        ({"model": "gpt"}, 404, "unknown_agent"),
        ({"model": None}, 404, "unknown_agent"),
        ({"model": 7}, 400, "invalid_field"),
        ({"n": 2}, 400, "unsupported_parameter"),
        ({"n": "1"}, 400, "unsupported_parameter"),
        ({"modalities": ["audio"]}, 400, "unsupported_parameter"),
        ({"stream": "yes"}, 400, "invalid_field"),
        ({"stream_options": "x"}, 400, "invalid_field"),
        ({"stream_options": {"include_usage": "yes"}}, 400, "invalid_field"),
        ({"metadata": "x"}, 400, "invalid_field"),
        ({"metadata": {"thread_id": 7}}, 400, "invalid_field"),
        ({"metadata": {"thread_id": "a/b"}}, 400, "invalid_thread_id"),
        ({"response_format": {"type": "xml"}}, 400, "invalid_field"),
        ({"tool_choice": "required"}, 400, "unsupported_parameter"),
        ({"tool_choice": {"type": "function"}}, 400, "unsupported_parameter"),
        ({"mesages": []}, 400, "unknown_field"),
    ],
)
async def test_what_the_app_does_not_serve_is_refused(
    refusing: Chats, fields: dict[str, Any], status: int, code: str
) -> None:
    """Before a run begins."""
    refused, error = await refusing.refused("hello", **fields)

    assert (refused, error["code"]) == (status, code), error


@pytest.mark.behaviour("chat.refused")
async def test_completions_are_not_kept_by_id(chats: Chats) -> None:
    """And the sentence says what is: a thread."""
    listed = await chats.http.get("chat/completions")
    read = await chats.http.get("chat/completions/chatcmpl-1")
    unknown = await chats.http.get("embeddings")

    assert [answer.json()["error"]["code"] for answer in (listed, read)] == ["unsupported_parameter"] * 2
    assert "metadata.thread_id" in listed.json()["error"]["message"]
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "unknown_url")


@pytest.mark.behaviour("chat.approvals")
@pytest.mark.parametrize("stream", [False, True])
async def test_a_run_that_waits_for_a_person_is_an_error_that_says_where_to_answer(chats: Chats, stream: bool) -> None:
    """Its tool is not called."""
    answer = await chats.post("call refund 7", model="Clerk", metadata={"thread_id": "r"}, stream=stream)

    assert '"code": "approvals_pending"' in answer.text
    assert "A person must decide on refund" in answer.text
    assert chats.notes == []


@pytest.mark.behaviour("chat.client")
async def test_the_official_client_chats_and_lists_the_agents(chats: Chats) -> None:
    models = [model.id async for model in chats.openai.models.list()]
    completion = await chats.openai.chat.completions.create(
        model="Joker", messages=[{"role": "user", "content": "hello"}], temperature=0.2
    )
    with pytest.raises(openai.NotFoundError, match=r"There is no agent 'gpt' here. Agents: Joker, Clerk."):
        await chats.openai.chat.completions.create(model="gpt", messages=[{"role": "user", "content": "hello"}])

    assert (models, completion.choices[0].message.content) == (["Joker", "Clerk"], "echo: hello")
    assert strictly(Model, (await chats.http.get("models/joker")).json()).id == "Joker"
