"""What all wires have in common: words come while the agent speaks, and one run is the same over any of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from hosting.assembly import WIRES
from hosting.functions import answering
from hosting.http.pings import PING
from tests.support.a2a import HEADERS, message, payloads, taken
from tests.support.ag_ui import events_of, text_of, wanted
from tests.support.ai_sdk import chunks_of as ui_chunks
from tests.support.ai_sdk import text_of as ui_text
from tests.support.carriers import GUARD_SECONDS
from tests.support.chat_chunks import chunks, joined
from tests.support.direct import DirectHost
from tests.support.event_stream import parse, words
from tests.support.live_asgi import LiveTransport
from tests.support.made_app import app_of
from tests.support.mcp_wire import events_of as mcp_events
from tests.support.mcp_wire import words as progress_words
from tests.support.speaker import Speaker
from tests.support.strictly import events_of as response_events


def rpc(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "responses": ("openai/v1/responses", {"input": "go", "stream": True, "conversation": "conv_joker~t"}),
    "chat-completions": (
        "chat/v1/chat/completions",
        {"messages": [{"role": "user", "content": "go"}], "stream": True, "metadata": {"thread_id": "t"}},
    ),
    "ag-ui": ("ag-ui/Joker", wanted("go")),
    "ai-sdk": (
        "ai-sdk/Joker",
        {"id": "t", "messages": [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "go"}]}]},
    ),
    "mcp": (
        "mcp/v1",
        rpc("tools/call", name="Joker", arguments={"query": "go", "threadId": "t"}, _meta={"progressToken": "p"}),
    ),
    "a2a": ("a2a/Joker", rpc("SendStreamingMessage", message=message("go", contextId="t"))),
}


class Held:
    """An app of an agent that says a word, and the others once it is `released`; `http` hands words on as they come."""

    def __init__(self) -> None:
        self.released = threading.Event()
        speaker = Speaker(("one ", "two ", "three"))
        speaker.after_piece[0] = lambda: asyncio.to_thread(self.released.wait, GUARD_SECONDS)
        self.host = DirectHost(app_of(speaker, wires=list(WIRES)))
        self.http = httpx.AsyncClient(
            transport=LiveTransport(self.host.asgi),
            base_url="http://app.example/api",
            headers=HEADERS,
            timeout=GUARD_SECONDS,
        )


@pytest.fixture
async def held(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Held]:
    """The app with all wires, whose streams ping often."""
    monkeypatch.setattr(answering, "PING_SECONDS", 0.01)
    one = Held()
    async with one.http:
        yield one
    one.released.set()


@pytest.mark.behaviour("responses.stream")
@pytest.mark.behaviour("chat.stream")
@pytest.mark.behaviour("ag-ui.run")
@pytest.mark.behaviour("ai-sdk.stream")
@pytest.mark.behaviour("a2a.stream")
@pytest.mark.behaviour("mcp-endpoint.progress")
@pytest.mark.behaviour("streams.pings")
@pytest.mark.parametrize("wire", WIRES)
async def test_words_arrive_while_the_agent_speaks_and_signs_of_life_while_it_is_silent(held: Held, wire: str) -> None:
    path, body = ASKED[wire]
    async with held.http.stream("POST", path, json=body) as answer:
        pieces = answer.aiter_text()
        before = await asyncio.wait_for(until(pieces, '"one '), GUARD_SECONDS)
        before += await asyncio.wait_for(until(pieces, 2 * PING.decode()), GUARD_SECONDS)
        held.released.set()
        after = "".join([piece async for piece in pieces])

    assert ("three" in before, "three" in after) == (False, True)


@pytest.mark.behaviour("responses.same-run")
@pytest.mark.behaviour("ag-ui.same-run")
@pytest.mark.behaviour("a2a.same-run")
@pytest.mark.parametrize("wire", WIRES)
async def test_a_run_is_the_same_over_all_wires_at_once(held: Held, wire: str) -> None:
    """Begun over any of them, followed over all and over our own route while the agent speaks, and read afterwards."""
    path, body = ASKED[wire]
    async with held.http.stream("POST", path, json=body) as begun:
        pieces = begun.aiter_text()
        before = await asyncio.wait_for(until(pieces, '"one '), GUARD_SECONDS)
        (listed,) = (await held.http.get("agents/Joker/threads/t/runs")).json()["runs"]
        run = listed["run_id"]
        readers = [(asyncio.Event(), how) for how in followed(run)]
        reading = [asyncio.ensure_future(read(held.http, seen, *how)) for seen, how in readers]
        await asyncio.wait_for(asyncio.gather(*(seen.wait() for seen, _ in readers)), GUARD_SECONDS)
        held.released.set()
        after = "".join([piece async for piece in pieces])
    response, task, ours = await asyncio.wait_for(asyncio.gather(*reading), GUARD_SECONDS)
    texts = {
        "responses": response_text,
        "chat-completions": lambda text: joined(chunks(text)),
        "a2a": task_text,
        "ag-ui": lambda text: text_of(events_of(text)),
        "ai-sdk": lambda text: ui_text(ui_chunks(text)),
        "mcp": text_of_call,
    }
    response_now = (await held.http.get(f"openai/v1/responses/{response_name(run)}")).json()
    task_now = (await held.http.post("a2a/Joker", json=rpc("GetTask", id=f"{run}~t"))).json()["result"]

    assert texts[wire](before + after) == response_text(response) == task_text(task) == "one two three"
    assert words(parse(ours)) == parse(ours)[-1].fields["response"] == "one two three"
    assert response_events(response)[-1].response.model_dump(mode="json", exclude_unset=True) == response_now
    assert taken(payloads(task)) == taken([{"task": task_now}])


def followed(run: str) -> list[tuple[str, str, Any]]:
    """Return the requests that follow a run: over the wires that follow one, and over our own route."""
    return [
        ("GET", f"openai/v1/responses/{response_name(run)}?stream=true", None),
        ("POST", "a2a/Joker", rpc("SubscribeToTask", id=f"{run}~t")),
        ("GET", f"agents/Joker/threads/t/runs/{run}/events", None),
    ]


async def until(pieces: AsyncIterator[str], wanted_text: str) -> str:
    got = ""
    async for piece in pieces:
        got += piece
        if wanted_text in got:
            return got
    raise AssertionError(f"{wanted_text!r} did not come: {got}")


async def read(http: httpx.AsyncClient, seen: asyncio.Event, method: str, path: str, body: Any) -> str:
    """Return all of a stream, and say when its first word is there."""
    async with http.stream(method, path, json=body) as answer:
        pieces = answer.aiter_text()
        before = await until(pieces, '"one ')
        seen.set()
        return before + "".join([piece async for piece in pieces])


def response_name(run: str) -> str:
    return f"resp_{run}~joker~t"


def response_text(text: str) -> str:
    return "".join(one.delta for one in response_events(text) if one.type == "response.output_text.delta")


def text_of_call(text: str) -> str:
    """Return the words of a call's progress, which are those of its result."""
    *news, last = [event.value for event in mcp_events(text) if event.value is not None]
    assert last["result"]["content"][0]["text"] == progress_words(news)
    return progress_words(news)


def task_text(text: str) -> str:
    return "".join(taken(payloads(text))["texts"].values())
