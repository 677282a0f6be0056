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
from tests.support.a2a import HEADERS, message
from tests.support.ag_ui import wanted
from tests.support.carriers import GUARD_SECONDS
from tests.support.direct import DirectHost
from tests.support.live_asgi import LiveTransport
from tests.support.made_app import app_of
from tests.support.speaker import Speaker


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


async def until(pieces: AsyncIterator[str], wanted_text: str) -> str:
    got = ""
    async for piece in pieces:
        got += piece
        if wanted_text in got:
            return got
    raise AssertionError(f"{wanted_text!r} did not come: {got}")
