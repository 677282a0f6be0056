"""Signs of life: what a stream sends while it has nothing to say, over every door that has streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from hosting.functions import answering
from hosting.http.pings import PING, with_pings
from hosting.http.replies import Streamed
from tests.support.carriers import GUARD_SECONDS

SOON = 0.01


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
