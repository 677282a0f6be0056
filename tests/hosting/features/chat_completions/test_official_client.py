"""All that OpenAI's own client for Python can do with the wire; docs/reference/chat-completions.md has the table."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agent_framework import Agent, Message, tool
from agent_framework.openai import OpenAIChatCompletionClient
from pydantic import BaseModel

from tests.hosting.features.chat_completions.chats import Chats
from tests.support.carriers import GUARD_SECONDS
from tests.support.chat_chunks import joined
from tests.support.openai_wires import DECLARED_BY_EACH, Wires

pytestmark = pytest.mark.behaviour("chat.client")

HELLO: Any = {"model": "Joker", "messages": [{"role": "user", "content": "hello"}]}
IGNORED: dict[str, Any] = {
    "logit_bias": {"50256": -100},
    "parallel_tool_calls": False,
    "prediction": {"type": "content", "content": "x"},
    "prompt_cache_key": "k",
    "prompt_cache_options": {"mode": "auto"},
    "prompt_cache_retention": "24h",
    "safety_identifier": "s",
    "service_tier": "flex",
    "store": True,
    "user": "u",
}
USUAL: dict[str, Any] = {
    "modalities": ["text"],
    "n": 1,
    "parallel_tool_calls": True,
    "service_tier": "auto",
    "store": False,
    "tool_choice": "auto",
}


class Said(BaseModel):
    """What an agent is to answer."""

    n: int


async def test_it_names_what_is_ignored_and_not_what_happens_anyway(chats: Chats) -> None:
    """In a header, which the client gives with a raw response, and in the completion's metadata."""
    completions = chats.openai.chat.completions
    raw = await completions.with_raw_response.create(**HELLO, **IGNORED)
    usual = await completions.with_raw_response.create(**HELLO, **USUAL)

    assert raw.headers["x-ms-ignored"].split(", ") == sorted(IGNORED)
    assert raw.parse().metadata == {"ignored": raw.headers["x-ms-ignored"]}  # type: ignore[attr-defined]
    assert "x-ms-ignored" not in usual.headers


async def test_it_streams_with_a_format_and_counts_tokens(chats: Chats) -> None:
    """By the helper that accumulates, which parses the format; the chunks themselves end with the tokens."""
    asked: Any = {"model": "Joker", "messages": [{"role": "user", "content": 'say {"n": 8}'}]}
    counts: Any = {"stream_options": {"include_usage": True, "include_obfuscation": False}}
    async with chats.openai.chat.completions.stream(**asked, response_format=Said, **counts) as stream:
        final = await stream.get_final_completion()
    *others, last = [
        chunk async for chunk in await chats.openai.chat.completions.create(**asked, stream=True, **counts)
    ]

    assert final.choices[0].message.parsed == Said(n=8)
    assert joined(others) == '{"n": 8}'
    assert (last.choices, last.usage.total_tokens, final.usage.total_tokens) == ([], 7, 7)
    assert [chunk.usage for chunk in others] == [None] * len(others)


async def test_it_sends_what_the_client_has_no_word_for(chats: Chats) -> None:
    """Headers, a query, a body of its own, and a limit of time."""
    completions = chats.openai.chat.completions
    fields: dict[str, Any] = {**HELLO, "timeout": GUARD_SECONDS, "extra_query": {"a": "b"}}
    first = await completions.create(**fields, extra_headers={"Idempotency-Key": "k"})
    again = await completions.create(**fields, extra_headers={"Idempotency-Key": "k"})
    other = await completions.create(**HELLO, extra_body={"model": "Clerk"})
    async with completions.with_streaming_response.create(**HELLO) as answer:
        streamed = (await answer.parse()).choices[0].message.content

    assert (first.id, other.model, streamed) == (again.id, "Clerk", "echo: hello")


async def test_it_sends_pictures_files_and_sound() -> None:
    """As data, each in its own part."""
    chats = Chats({"AGENT_MODEL_INPUTS": "image/*, application/pdf, audio/*"})
    parts: Any = [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
        {"type": "image_url", "image_url": {"url": "https://pictures.example/a.png"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
    ]
    async with chats.http, chats.openai:
        made = await chats.openai.chat.completions.create(model="Joker", messages=[{"role": "user", "content": parts}])

    seen = str(made.choices[0].message.content)
    assert seen == (
        "user text:see data:data:image/png;base64,iVBORw0KGgo= uri:https://pictures.example/a.png "
        "data:a.pdf:data:application/pdf;base64,JVBERi0= data:data:audio/wav;base64,UklGRg=="
    )


async def test_agent_frameworks_client_streams_formats_and_goes_on_with_threads(chats: Chats) -> None:
    """By its own types. A thread that metadata names goes on with what is new, whichever client sends it."""
    client = OpenAIChatCompletionClient(model="Joker", async_client=chats.openai)
    parsed: Any = await client.get_response([Message("user", ['say {"n": 9}'])], options={"response_format": Said})
    session = (agent := Agent(client, name="local")).create_session()
    turns = [(await agent.run(text, session=session)).text for text in ("my name is Ada", "recall")]
    stream = client.get_response([Message("user", ["say one two"])], stream=True)
    words = "".join([update.text async for update in stream])
    used = (await stream.get_final_response()).usage_details or {}
    named: Any = {"metadata": {"thread_id": "t"}}
    await chats.openai.chat.completions.create(**HELLO, **named)
    following = await client.get_response([Message("user", ["recall"])], options=named)

    assert (parsed.value, words, used.get("total_token_count")) == (Said(n=9), "one two", 7)
    assert turns == ["echo: my name is Ada", "my name is Ada | recall"]
    assert following.text == "hello | recall"


async def test_agent_frameworks_options_are_the_models() -> None:
    """By its own names, as far as the agent lets callers choose."""
    wires = Wires(DECLARED_BY_EACH, client_tools=True)
    numbers = {"temperature": 0.5, "top_p": 0.5, "frequency_penalty": 0.5, "presence_penalty": 0.5, "seed": 3}

    @tool
    def where(n: str) -> str:
        """Where the person is."""
        return f"at {n}"

    async with wires.http:
        client = OpenAIChatCompletionClient(model="Joker", async_client=wires.chat)
        options: Any = {**numbers, "max_tokens": 5, "verbosity": "low", "tools": [where]}
        choice = {"tool_choice": "required", "allow_multiple_tool_calls": False}
        answer = await client.get_response([Message("user", ["hello"])], options={**options, **choice})

    assert json.loads(answer.text) == {**numbers, "max_tokens": 5, "verbosity": "low", **choice}
