"""`POST /chat/completions`: the protocol's object, its chunks, what is taken of a request, and its errors."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from hosting.core.broadcast import LoggedEvent
from hosting.core.thread.events import Accepted, Claimed, Delta
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import RunRequest
from hosting.features.chat_completions.fold import ChatFold
from hosting.http.wire_runs import RewrittenError
from hosting.names import Address
from tests.support.carriers import GUARD_SECONDS
from tests.support.chat_chunks import chunks, joined
from tests.support.joining import both, steered
from tests.support.made_app import ask
from tests.support.openai_apps import CompletionsApp, said


@pytest.mark.behaviour("chat.create")
async def test_a_run_that_a_request_may_not_wait_for_is_found_by_its_key() -> None:
    """Without a key the client is told not to repeat it, nor a run that failed: its tools would be called again."""
    chats, key = CompletionsApp({"AGENT_WAIT_SECONDS": "0"}), {"idempotency-key": "k-2"}
    unnamed, failed = await chats.post("meet 2"), await CompletionsApp().post("fail")
    first = last = await chats.post("meet 2", headers=key)
    while last.status_code == 504:
        last = await chats.post("meet 2", headers=key)

    assert (unnamed.status_code, unnamed.json()["error"]["code"]) == (504, "still_running")
    assert [answer.headers.get("x-should-retry") for answer in (unnamed, failed, first)] == ["false", "false", None]
    assert (failed.status_code, failed.json()["error"]["type"]) == (500, "server_error")
    assert last.json()["choices"][0]["message"]["content"] == "2 have met"


@pytest.mark.behaviour("chat.messages")
async def test_the_request_tells_the_whole_conversation(chats: CompletionsApp) -> None:
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
async def test_a_named_thread_goes_on_with_what_is_new(chats: CompletionsApp, place: dict[str, Any]) -> None:
    """Front ends send what the thread has already; it is not added again."""
    first = await chats.post("my name is Ada", **place)
    second = await chats.text(said("user", "my name is Ada"), said("assistant", "x"), said("user", "recall"), **place)
    alone = await chats.text("recall", **place)

    assert (first.headers["x-ms-thread-id"], second) == ("mine", "my name is Ada | recall")
    assert alone == "my name is Ada | recall | recall"


@pytest.mark.behaviour("chat.ignored")
async def test_what_the_author_decides_is_ignored_and_named(chats: CompletionsApp) -> None:
    """Chat front ends send a prompt and a temperature whether or not somebody chose them."""
    answer = await chats.post(said("system", "Obey."), said("developer", "Obey."), "count", temperature=1, max_tokens=9)

    assert answer.json()["choices"][0]["message"]["content"] == "1"
    assert answer.headers["x-ms-ignored"] == "max_tokens, temperature, messages[0], messages[1]"
    assert answer.json()["metadata"] == {"ignored": answer.headers["x-ms-ignored"]}
    assert "x-ms-ignored" not in (await chats.post("count")).headers


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
    refusing: CompletionsApp, fields: dict[str, Any], status: int, code: str
) -> None:
    """Before a run begins."""
    refused, error = await refusing.refused("hello", **fields)

    assert (refused, error["code"]) == (status, code), error


@pytest.mark.behaviour("chat.refused")
async def test_completions_are_not_kept_by_id(chats: CompletionsApp) -> None:
    """And the sentence says what is: a thread."""
    listed = await chats.http.get("chat/completions")
    read = await chats.http.get("chat/completions/chatcmpl-1")
    unknown = await chats.http.get("embeddings")

    assert [answer.json()["error"]["code"] for answer in (listed, read)] == ["unsupported_parameter"] * 2
    assert "metadata.thread_id" in listed.json()["error"]["message"]
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "unknown_url")


@pytest.mark.behaviour("chat.approvals")
@pytest.mark.parametrize("stream", [False, True])
async def test_a_run_that_waits_for_a_person_is_an_error_that_says_where_to_answer(
    chats: CompletionsApp, stream: bool
) -> None:
    """Its tool is not called."""
    answer = await chats.post("call refund 7", model="Clerk", metadata={"thread_id": "r"}, stream=stream)

    assert '"code": "approvals_pending"' in answer.text
    assert "A person must decide on refund" in answer.text
    assert chats.notes == []


class Said(BaseModel):
    """What an agent is to answer."""

    n: int


@pytest.mark.behaviour("chat.client")
async def test_the_official_client_streams_with_a_format_and_counts_tokens(chats: CompletionsApp) -> None:
    """By the helper that accumulates, which parses the format; the chunks themselves end with the tokens."""
    completions = chats.openai.chat.completions
    asked: Any = {"model": "Joker", "messages": [said("user", 'say {"n": 8}')]}
    counts: Any = {"stream_options": {"include_usage": True, "include_obfuscation": False}}
    async with completions.stream(**asked, response_format=Said, **counts) as stream:
        final = await stream.get_final_completion()
    *others, last = [chunk async for chunk in await completions.create(**asked, stream=True, **counts)]

    assert final.choices[0].message.parsed == Said(n=8)
    assert joined(others) == '{"n": 8}'
    assert (last.choices, last.usage.total_tokens, final.usage.total_tokens) == ([], 7, 7)
    assert [chunk.usage for chunk in others] == [None] * len(others)


@pytest.mark.behaviour("chat.stream")
def test_text_of_a_lost_attempt_that_was_sent_ends_the_stream() -> None:
    """The protocol cannot take it back. A reader who comes later gets the text that stands."""
    request = RunRequest(message="hello")
    accepted = Accepted(
        at=1.0, run_id="r", agent="joker", thread_id="t", request=request, fingerprint="f", streamed=True
    )
    claim = {"at": 1.0, "run_id": "r", "holder": "caller", "lease_seconds": 9.0, "deadline": 9.0}
    events = [
        accepted,
        Claimed(attempt=1, token="a", **claim),  # type: ignore[arg-type]
        Delta(at=1.0, run_id="r", offset=0, text="One way"),
        Claimed(attempt=2, token="b", **claim),  # type: ignore[arg-type]
        Delta(at=1.0, run_id="r", offset=0, text="Another"),
    ]
    run = Run(Address.of("joker", "t", "app"), accepted, 1, 1)
    early, late = (ChatFold("Joker", run, names_causes=False, counts_usage=False) for _ in range(2))
    for position, event in enumerate(events[:3], 1):
        early.next(LoggedEvent(position, event))
    sent = early.chunks()
    for position, event in enumerate(events[3:], 4):
        early.next(LoggedEvent(position, event))
    for position, event in enumerate(events, 1):
        late.next(LoggedEvent(position, event))

    assert [chunk["choices"][0]["delta"].get("content") for chunk in sent] == ["", "One way"]
    with pytest.raises(RewrittenError):
        early.chunks()
    assert late.chunks()[-1]["choices"][0]["delta"] == {"content": "Another"}


@pytest.mark.behaviour("chat.steering")
async def test_the_stream_of_a_message_that_joined_a_run_is_one_completion() -> None:
    """Which begins when the message was sent."""
    body = {"messages": [said("user", "and this")], "metadata": {"thread_id": "t"}, "stream": True}
    async with steered(["chat-completions"]) as (http, working):
        joining = http.post("/api/chat/v1/chat/completions", json=body)
        first, completion = await both(http, working, ask(http, "first", thread_id="t"), joining)
    streamed = chunks(completion.text)

    assert joined(streamed) == first.json()["response"]
    assert {chunk.id for chunk in streamed} == {streamed[0].id}
    assert [chunk.choices[0].delta.role for chunk in streamed if chunk.choices[0].delta.role] == ["assistant"]
    assert streamed[-1].choices[0].finish_reason == "stop"
