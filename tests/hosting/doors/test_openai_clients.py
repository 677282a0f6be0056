"""What the official clients of OpenAI's two protocols, and agent-framework's over them, do alike with either wire."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Agent, Message, tool
from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient
from openai import AsyncOpenAI, NotFoundError
from openai.types import Model
from openai.types.chat.completion_create_params import CompletionCreateParamsBase
from openai.types.responses.response_create_params import ResponseCreateParamsBase
from pydantic import BaseModel

from hosting.features.chat_completions import names as completions_names
from hosting.features.chat_completions import requests as completions
from hosting.features.responses import names as responses_names
from hosting.features.responses import requests as responses
from tests.support.carriers import GUARD_SECONDS
from tests.support.openai_apps import CompletionsApp, OpenAiApp, ResponsesApp
from tests.support.openai_wires import DECLARED_BY_EACH, Wires
from tests.support.page_tables import refused_fields
from tests.support.strictly import strictly

PAGES = Path(__file__).parents[3] / "docs" / "reference"
PNG, PDF = "data:image/png;base64,iVBORw0KGgo=", "data:application/pdf;base64,JVBERi0="
LINK = "https://pictures.example/a.png"
IGNORED: dict[str, Any] = {
    "prompt_cache_key": "k",
    "prompt_cache_options": {"mode": "auto"},
    "prompt_cache_retention": "24h",
    "safety_identifier": "s",
    "service_tier": "flex",
    "user": "u",
}
USUAL: dict[str, Any] = {"parallel_tool_calls": True, "service_tier": "auto", "tool_choice": "auto"}
OPTIONS: dict[str, Any] = {
    "temperature": 0.5,
    "top_p": 0.5,
    "max_tokens": 5,
    "verbosity": "low",
    "tool_choice": "required",
    "allow_multiple_tool_calls": False,
}


@dataclass(frozen=True)
class Protocol:
    """One of them: the app, its page and its fields, how its client asks and reads, and what only it has."""

    app: type[OpenAiApp]
    page: str
    agent: Callable[..., Any]
    """agent-framework's client of it."""
    resource: Callable[[AsyncOpenAI], Any]
    asked: Callable[[Any], dict[str, Any]]
    text: Callable[[Any], str]
    fields: tuple[set[str], tuple[str, ...]]
    """Those of the client's types, and those that a table of ours names."""
    refused: Mapping[str, str]
    operations: Any
    parts: list[dict[str, Any]]
    ignored: Mapping[str, Any]
    usual: Mapping[str, Any]
    options: Mapping[str, Any]
    own_client: Callable[[Wires], AsyncOpenAI]

    def request(self, said: Any) -> dict[str, Any]:
        """Return the fields by which Joker is asked this."""
        return {"model": "Joker", **self.asked(said)}


RESPONSES = Protocol(
    app=ResponsesApp,
    page="responses.md",
    agent=OpenAIChatClient,
    resource=lambda client: client.responses,
    asked=lambda said: {"input": said if isinstance(said, str) else [{"role": "user", "content": said}]},
    text=lambda made: made.output_text,
    fields=(
        {*ResponseCreateParamsBase.__annotations__},
        (*responses.SERVED, *responses.SILENT, *responses.AGENTS_OWN, *responses.REFUSED),
    ),
    refused=responses.REFUSED,
    operations=responses_names.OPERATIONS,
    parts=[
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": PNG, "detail": "auto"},
        {"type": "input_image", "image_url": LINK},
        {"type": "input_file", "filename": "a.pdf", "file_data": PDF},
    ],
    ignored={
        **IGNORED,
        "context_management": [{"type": "compaction", "compact_threshold": 1000}],
        "image": {"detail": "low"},
        "include": ["reasoning.encrypted_content"],
        "max_tool_calls": 3,
        "truncation": "auto",
    },
    usual={
        **USUAL,
        "store": True,
        "stream_options": {"include_obfuscation": False},
        "top_logprobs": 0,
        "truncation": "disabled",
    },
    options={"reasoning": {"effort": "low"}, "instructions": "Be brief."},
    own_client=lambda wires: wires.openai,
)
COMPLETIONS = Protocol(
    app=CompletionsApp,
    page="chat-completions.md",
    agent=OpenAIChatCompletionClient,
    resource=lambda client: client.chat.completions,
    asked=lambda said: {"messages": [{"role": "user", "content": said}]},
    text=lambda made: made.choices[0].message.content,
    fields=(
        {*CompletionCreateParamsBase.__annotations__},
        (*completions.SERVED, *completions.AGENTS_OWN, *completions.REFUSED, "n", "modalities"),
    ),
    refused=completions.REFUSED,
    operations=completions_names.OPERATIONS,
    parts=[
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": PNG}},
        {"type": "image_url", "image_url": {"url": LINK}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
    ],
    ignored={
        **IGNORED,
        "logit_bias": {"50256": -100},
        "parallel_tool_calls": False,
        "prediction": {"type": "content", "content": "x"},
        "store": True,
    },
    usual={**USUAL, "modalities": ["text"], "n": 1, "store": False},
    options={"frequency_penalty": 0.5, "presence_penalty": 0.5, "seed": 3},
    own_client=lambda wires: wires.chat,
)
BOTH = {"responses": (RESPONSES, "responses.client"), "chat-completions": (COMPLETIONS, "chat.client")}
pytestmark = pytest.mark.parametrize(
    "protocol", [pytest.param(each, id=name, marks=pytest.mark.behaviour(rule)) for name, (each, rule) in BOTH.items()]
)


class Said(BaseModel):
    """What an agent is to answer."""

    n: int


@tool
def where(n: str) -> str:
    """Where the person is."""
    return f"at {n}"


@pytest.mark.behaviour("chat.ignored")
async def test_it_names_what_is_ignored_and_not_what_happens_anyway(protocol: Protocol) -> None:
    """In a header, which the client gives with a raw response, and in the metadata."""
    create = protocol.resource(protocol.app().openai).with_raw_response.create
    raw, usual = [await create(**protocol.request("hello"), **more) for more in (protocol.ignored, protocol.usual)]

    assert raw.headers["x-ms-ignored"].split(", ") == sorted(protocol.ignored)
    assert raw.parse().metadata == {"ignored": raw.headers["x-ms-ignored"]}
    assert "x-ms-ignored" not in usual.headers


async def test_it_sends_what_the_client_has_no_word_for(protocol: Protocol) -> None:
    """Headers, a query, a body of its own, and a limit of time."""
    resource = protocol.resource(protocol.app().openai)
    fields: dict[str, Any] = {**protocol.request("hello"), "timeout": GUARD_SECONDS, "extra_query": {"a": "b"}}
    first, again = [await resource.create(**fields, extra_headers={"Idempotency-Key": "k"}) for _ in range(2)]
    other = await resource.create(**protocol.request("hello"), extra_body={"model": "Clerk"})
    async with resource.with_streaming_response.create(**protocol.request("say it")) as answer:
        streamed = protocol.text(await answer.parse())

    assert (first.id, other.model, streamed) == (again.id, "Clerk", "it")


async def test_it_sends_pictures_files_and_sound(protocol: Protocol) -> None:
    """As data or by address, each in its own part."""
    app = protocol.app({"AGENT_MODEL_INPUTS": "image/*, application/pdf, audio/*"})
    made = await protocol.resource(app.openai).create(**protocol.request(protocol.parts))
    sound = " data:data:audio/wav;base64,UklGRg==" if protocol is COMPLETIONS else ""

    assert protocol.text(made) == f"user text:see data:{PNG} uri:{LINK} data:a.pdf:{PDF}{sound}"


@pytest.mark.behaviour("responses.models")
async def test_it_lists_and_reads_the_agents_as_models(protocol: Protocol) -> None:
    app = protocol.app()
    names = [model.id async for model in app.openai.models.list()]

    assert names == ["Joker", "Clerk"]
    assert strictly(Model, (await app.http.get("models/joker")).json()).id == "Joker"
    for asked in (
        app.openai.models.retrieve("gpt"),
        protocol.resource(app.openai).create(**protocol.asked("hello"), model="gpt"),
    ):
        with pytest.raises(NotFoundError, match=r"There is no agent 'gpt' here. Agents: Joker, Clerk."):
            await asked


@pytest.mark.behaviour("responses.refused")
@pytest.mark.behaviour("chat.refused")
async def test_every_field_of_the_protocol_is_served_without_effect_or_refused_by_its_name(protocol: Protocol) -> None:
    """Of the official client, and no other; each has its row on the page. One that asks for nothing is no matter."""
    app, (official, ours) = protocol.app(), protocol.fields
    page = (PAGES / protocol.page).read_text(encoding="utf-8")
    place = "responses" if protocol is RESPONSES else "chat/completions"
    operations = [f"`{each.method} {each.path.partition('/')[2].removeprefix('v1/')}`" for each in protocol.operations]

    assert sorted(ours) == sorted({*official, "stream"})
    assert [shown for shown in (*operations, *(f"`{name}`" for name in ours)) if shown not in page] == []
    assert refused_fields(page) >= set(protocol.refused)
    for field, says in protocol.refused.items():
        answer = await app.http.post(place, json={**protocol.request("hello"), field: "x"})
        error = {"message": says, "type": "invalid_request_error", "param": field, "code": "unsupported_parameter"}
        assert (answer.status_code, answer.json()) == (400, {"error": error})
    nothing = await app.http.post(place, json={**protocol.request("hello"), **dict.fromkeys(protocol.refused)})
    assert nothing.status_code == 200


async def test_agent_frameworks_options_are_the_models(protocol: Protocol) -> None:
    """By its own names, as far as the agent lets callers choose."""
    wires = Wires(DECLARED_BY_EACH, client_tools=True)
    client = protocol.agent(model="Joker", async_client=protocol.own_client(wires))
    options = {**OPTIONS, **protocol.options}
    answer = await client.get_response([Message("user", ["hello"])], options={**options, "tools": [where]})
    effort = options.pop("reasoning", None)

    assert json.loads(answer.text) == {**options, **({"reasoning_effort": effort["effort"]} if effort else {})}


@pytest.mark.behaviour("responses.chat-client")
async def test_agent_frameworks_client_chats_streams_and_formats(protocol: Protocol) -> None:
    """By its own types; one thread here for a session there, or the thread that metadata names where the wire has that.

    It parses a format into its type.
    """
    client: Any = protocol.agent(model="Joker", async_client=protocol.app().openai)
    session = (agent := Agent(client, name="local")).create_session()
    turns = [(await agent.run(text, session=session)).text for text in ("my name is Ada", "recall")]
    stream = client.get_response([Message("user", ["say one two"])], stream=True)
    pieces = [update.text async for update in stream]
    streamed = await stream.get_final_response()
    parsed = await client.get_response([Message("user", ['say {"n": 9}'])], options={"response_format": Said})
    named = {"metadata": {"thread_id": "t"}}
    for text in ("my name is Bo", "recall"):
        following = await client.get_response([Message("user", [text])], options=named)

    assert turns == ["echo: my name is Ada", "my name is Ada | recall"]
    assert (streamed.text, len(pieces) > 1, parsed.value) == ("one two", True, Said(n=9))
    assert (streamed.usage_details or {}).get("total_token_count") == 7
    assert following.text == ("my name is Bo | recall" if protocol is COMPLETIONS else "recall")


@pytest.mark.behaviour("responses.chat-client")
@pytest.mark.behaviour("chat.agent")
@pytest.mark.parametrize("store", [None, False])
async def test_an_agent_of_agent_framework_runs_its_local_tools_to_the_end(
    protocol: Protocol, store: bool | None
) -> None:
    """Over several turns, whether the conversation is here or with that agent alone."""
    client: Any = protocol.agent(model="Clerk", async_client=protocol.app(client_tools=True).openai)
    agent = Agent(client, name="Local", tools=[where], default_options={} if store is None else {"store": store})
    session = agent.create_session()
    answers = [(await agent.run(text, session=session)).text for text in ("call where 1, where 2", "thanks")]
    words = [update.text async for update in agent.run("call where 3", stream=True)]

    assert answers[0].endswith("told: at 1 | at 2")
    assert (answers[1], "".join(words)[-10:]) == ("echo: thanks", "told: at 3")
