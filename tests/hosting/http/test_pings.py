"""Signs of life: what a stream sends while it has nothing to say, over every door that has streams."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from hosting.assembly import WIRES
from hosting.functions import answering
from hosting.http.pings import PING, with_pings
from hosting.http.replies import Streamed
from tests.support.a2a import HEADERS, message
from tests.support.ag_ui import wanted
from tests.support.carriers import GUARD_SECONDS
from tests.support.clerk import clerk
from tests.support.direct import DirectHost
from tests.support.live_asgi import LiveTransport
from tests.support.made_app import app_of
from tests.support.speaker import Speaker

SOON = 0.01
EVENTS = {"accept": "text/event-stream"}


class Frames:
    """Frames that are made once they are `allowed`; `made` counts them, and `is_closed` once nobody wants more."""

    def __init__(self, *frames: bytes, breaks: Exception | None = None) -> None:
        self._frames = frames
        self._breaks = breaks
        self.allowed = asyncio.Event()
        self.made = 0
        self.is_closed = False

    async def all(self) -> AsyncGenerator[bytes, None]:
        try:
            for frame in self._frames:
                await self.allowed.wait()
                self.made += 1
                yield frame
            if self._breaks is not None:
                raise self._breaks
        finally:
            self.is_closed = True


@pytest.mark.behaviour("streams.pings")
async def test_a_silence_is_filled_with_pings_and_no_frame_is_lost() -> None:
    frames, sent = Frames(b"one", b"two"), list[bytes]()
    async for piece in with_pings(frames.all(), SOON):
        sent.append(piece)
        if sent == [PING, PING]:
            frames.allowed.set()

    assert sent[:2] == [PING, PING]
    assert [piece for piece in sent if piece != PING] == [b"one", b"two"]


async def test_what_breaks_the_frames_breaks_what_is_sent() -> None:
    """After the frames before it: an export that ended short would look whole."""
    frames = Frames(b"one", breaks=KeyError("a defect"))
    frames.allowed.set()
    pieces = with_pings(frames.all(), 10 * GUARD_SECONDS)

    assert await anext(pieces) == b"one"
    with pytest.raises(KeyError, match="a defect"):
        await anext(pieces)
    assert frames.is_closed


@pytest.mark.behaviour("streams.slow-readers")
async def test_a_reader_that_takes_nothing_is_ahead_of_what_is_made_and_one_that_leaves_ends_it() -> None:
    frames = Frames(b"one", b"two", b"three")
    frames.allowed.set()
    pieces = with_pings(frames.all(), 10 * GUARD_SECONDS)

    first = await anext(pieces)
    for _ in range(5):
        await asyncio.sleep(0)
    made = frames.made
    await pieces.aclose()

    assert (first, made, frames.is_closed) == (b"one", 1, True)


@pytest.mark.behaviour("streams.pings")
async def test_no_ping_is_put_into_what_is_no_event_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as an export, whose pieces end within a text."""
    monkeypatch.setattr(answering, "PING_SECONDS", 0.0)
    frames = Frames(b'{"a": "', b'b"}')
    asyncio.get_running_loop().call_later(SOON, frames.allowed.set)

    sent = [piece async for piece in answering._sent(Streamed(frames.all(), {}, "application/json"), None)]

    assert sent == [b'{"a": "', b'b"}']


class Silent:
    """An app of an agent that says a word and then nothing until it is `released`, and of the clerk."""

    def __init__(self) -> None:
        self.released = threading.Event()
        speaker = Speaker(("one ", "two"))
        speaker.after_piece[0] = lambda: asyncio.to_thread(self.released.wait, GUARD_SECONDS)
        self.host = DirectHost(app_of(speaker, clerk(lambda _: None), wires=list(WIRES)))
        self.http = httpx.AsyncClient(
            transport=LiveTransport(self.host.asgi), base_url="http://app.example/api", headers=HEADERS
        )

    @asynccontextmanager
    async def stream(self, method: str, path: str, headers: Any = None, body: Any = None) -> AsyncIterator[Any]:
        """Yield the pieces of an answer that is an event stream."""
        async with self.http.stream(method, path, headers=headers, json=body) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream"), await answer.aread()
            yield answer.aiter_text()

    async def run_id(self) -> str:
        """Return the id of a run that has said its word."""
        async with self.stream("POST", "agents/Joker/run", EVENTS, {"message": "go", "thread_id": "t"}) as pieces:
            await asyncio.wait_for(until(pieces, '"one '), GUARD_SECONDS)
        (run,) = (await self.http.get("agents/Joker/threads/t/runs")).json()["runs"]
        return str(run["run_id"])


@pytest.fixture
async def silent(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Silent]:
    """The app with all wires, whose streams ping often."""
    monkeypatch.setattr(answering, "PING_SECONDS", SOON)
    app = Silent()
    async with app.http:
        yield app
    app.released.set()


async def until(pieces: AsyncIterator[str], wanted_text: str) -> str:
    got = ""
    async for piece in pieces:
        got += piece
        if wanted_text in got:
            return got
    raise AssertionError(f"{wanted_text!r} did not come: {got}")


def rpc(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


BEGINNING = {
    "our own": ("agents/Joker/run", EVENTS, {"message": "go", "thread_id": "t"}),
    "responses": ("openai/v1/responses", None, {"input": "go", "stream": True, "conversation": "conv_joker~t"}),
    "ag-ui": ("ag-ui/Joker", None, wanted("go")),
    "a2a": ("a2a/Joker", None, rpc("SendStreamingMessage", message=message("go", contextId="t"))),
}
FOLLOWING = {
    "our own": ("GET", "agents/Joker/threads/t/runs/{run}/events", None),
    "batches": ("GET", "agents/Joker/threads/t/runs/{run}/events?offset=-1&live=sse", None),
    "responses": ("GET", "openai/v1/responses/resp_{run}~joker~t?stream=true", None),
    "a2a": ("POST", "a2a/Joker", "{run}~t"),
}


@pytest.mark.behaviour("streams.pings")
@pytest.mark.parametrize("door", BEGINNING)
async def test_a_stream_that_begins_a_run_says_that_it_lives_while_the_agent_is_silent(
    silent: Silent, door: str
) -> None:
    path, headers, body = BEGINNING[door]
    async with silent.stream("POST", path, headers, body) as pieces:
        await asyncio.wait_for(until(pieces, '"one '), GUARD_SECONDS)
        await asyncio.wait_for(until(pieces, 2 * PING.decode()), GUARD_SECONDS)
        silent.released.set()
        rest = "".join([piece async for piece in pieces])

    assert "two" in rest


@pytest.mark.behaviour("streams.pings")
@pytest.mark.parametrize("door", FOLLOWING)
async def test_a_stream_that_follows_a_run_says_that_it_lives(silent: Silent, door: str) -> None:
    run = await silent.run_id()
    method, path, task = FOLLOWING[door]
    body = None if task is None else rpc("SubscribeToTask", id=task.format(run=run))
    async with silent.stream(method, path.format(run=run), None, body) as pieces:
        await asyncio.wait_for(until(pieces, 2 * PING.decode()), GUARD_SECONDS)
        silent.released.set()
        rest = "".join([piece async for piece in pieces])

    assert "two" in rest
