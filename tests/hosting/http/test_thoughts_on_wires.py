"""The thoughts of an agent that shows them, by each wire's own words for them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import httpx2
import pytest
from openai import AsyncOpenAI

from tests.support.ag_ui import events_of, wanted
from tests.support.carriers import GUARD_SECONDS
from tests.support.direct import DirectHost
from tests.support.made_app import app_of
from tests.support.strictly import response
from tests.support.thinker import SEALED, thinker

ORIGIN = "http://app.example/api"
CHAT: dict[str, Any] = {"model": "Joker", "messages": [{"role": "user", "content": "look"}]}
THOUGHTS = ["Let me look.", "It is a door."]


class Wires:
    """An app of one agent with its wires: over plain HTTP, and by the official client of two of them."""

    def __init__(self, reasoning: str) -> None:
        app = app_of(wires=["responses", "chat-completions", "ag-ui"])
        app.add_agent(thinker(), reasoning=reasoning)  # type: ignore[arg-type]
        asgi = DirectHost(app).asgi
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(asgi), base_url=ORIGIN, timeout=GUARD_SECONDS)
        same = httpx2.AsyncClient(transport=httpx2.ASGITransport(asgi))
        self.openai = AsyncOpenAI(api_key="unused", base_url=f"{ORIGIN}/openai/v1", http_client=same, max_retries=0)
        self.chat = AsyncOpenAI(api_key="unused", base_url=f"{ORIGIN}/chat/v1", http_client=same, max_retries=0)


@pytest.fixture
async def wires(request: pytest.FixtureRequest) -> AsyncIterator[Wires]:
    """The app whose agent shows its thoughts, or keeps them."""
    made = Wires(getattr(request, "param", "show"))
    async with made.http:
        yield made


def summaries(output: list[Any]) -> list[tuple[str, str]]:
    """Return the types of a response's items, with the thoughts' texts."""
    return [(item.type, item.summary[0].text if item.type == "reasoning" else "") for item in output]


OUTPUT = [("reasoning", THOUGHTS[0]), ("mcp_call", ""), ("reasoning", THOUGHTS[1]), ("message", "")]


@pytest.mark.behaviour("reasoning.shown")
async def test_a_response_has_reasoning_items(wires: Wires) -> None:
    """Streamed and not, to the official client, and as they are read afterwards; without what a provider sealed."""
    whole = await wires.http.post("openai/v1/responses", json={"model": "Joker", "input": "look"})
    read = await wires.http.get(f"openai/v1/responses/{whole.json()['id']}")
    async with wires.openai.responses.stream(model="Joker", input="look") as stream:
        deltas = [event.delta async for event in stream if event.type == "response.reasoning_summary_text.delta"]
        final = await stream.get_final_response()

    assert summaries(response(whole.json()).output) == summaries(final.output) == OUTPUT
    assert read.json() == whole.json()
    assert "".join(deltas) == "".join(THOUGHTS)
    assert SEALED not in whole.text


@pytest.mark.behaviour("reasoning.shown")
async def test_a_caller_who_keeps_the_conversation_sends_the_thoughts_back(wires: Wires) -> None:
    """As OpenAI's guide shows it, with all items as they were; the model is not given them as if it said so."""
    items: list[Any] = [{"role": "user", "content": "look a"}]
    for asked in ("look b", "thanks"):
        made = await wires.openai.responses.create(model="Joker", input=items, store=False)
        items += [item.model_dump(exclude_unset=True) for item in made.output]
        items.append({"role": "user", "content": asked})
    last = await wires.openai.responses.create(model="Joker", input=items)
    kinds = [item.type for item in (await wires.openai.responses.input_items.list(last.id, limit=50)).data]

    assert last.output_text == "thanks"
    assert "reasoning" in [item["type"] for item in items if "type" in item]
    assert "reasoning" not in kinds


@pytest.mark.behaviour("reasoning.shown")
async def test_chat_completions_have_reasoning_content(wires: Wires) -> None:
    """As front ends and SDKs of other models read it; thoughts about two calls are two paragraphs."""
    whole = (await wires.http.post("chat/v1/chat/completions", json=CHAT)).json()["choices"][0]["message"]
    stream = await wires.chat.chat.completions.create(**CHAT, stream=True)
    deltas = [chunk.choices[0].delta.model_dump() async for chunk in stream]
    thoughts = [delta["reasoning_content"] for delta in deltas if delta.get("reasoning_content")]
    first_text = next(number for number, delta in enumerate(deltas) if delta["content"])

    assert (whole["content"], whole["reasoning_content"]) == ("A door.", "\n\n".join(THOUGHTS))
    assert "".join(thoughts) == "\n\n".join(THOUGHTS)
    assert not any(delta.get("reasoning_content") for delta in deltas[first_text:])


@pytest.mark.behaviour("reasoning.shown")
async def test_ag_ui_has_reasoning_events(wires: Wires) -> None:
    """Each thought is one message, and stands before the call or the text that follows it."""
    core: Any = pytest.importorskip("ag_ui.core", reason="ag-ui-protocol is not installed")
    events = events_of((await wires.http.post("ag-ui/Joker", json=wanted("look"))).text)
    for each in events:
        if each["type"].startswith("REASONING"):
            getattr(core, f"{each['type'].title().replace('_', '')}Event").model_validate(each)

    kinds = [each["type"] for each in events]
    thought = ["REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT"]
    thought += ["REASONING_MESSAGE_END", "REASONING_END"]
    ordered = [kind for number, kind in enumerate(kinds) if kind != kinds[number - 1]]
    assert ordered == [
        *("RUN_STARTED", *thought, "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"),
        *(*thought, "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"),
    ]
    texts: dict[str, str] = {}
    for each in events:
        if each["type"] == "REASONING_MESSAGE_CONTENT":
            texts[each["messageId"]] = texts.get(each["messageId"], "") + each["delta"]
    assert list(texts.values()) == THOUGHTS


@pytest.mark.behaviour("reasoning.shown")
@pytest.mark.parametrize("wires", ["keep", "drop"], indirect=True)
async def test_thoughts_that_are_not_shown_are_on_no_wire(wires: Wires) -> None:
    answers = [
        await wires.http.post(path, json={**body, **more})
        for path, body in (
            ("openai/v1/responses", {"model": "Joker", "input": "look"}),
            ("chat/v1/chat/completions", CHAT),
        )
        for more in ({}, {"stream": True})
    ]
    answers.append(await wires.http.post("ag-ui/Joker", json=wanted("look")))

    assert {answer.status_code for answer in answers} == {200}
    assert not any(word in answer.text for answer in answers for word in ("Let me", "It is a", "REASONING", SEALED))
    assert all("A door." in answer.text or "door" in json.dumps(answer.text) for answer in answers)
