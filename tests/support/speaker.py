"""An agent that says given pieces, and what a reader is told of its run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from agent_framework import AgentResponseUpdate, Content, Message

from hosting.events import Event
from hosting.reply.frames import Frames
from tests.support.bench import Bench
from tests.support.event_stream import Told
from tests.support.halted_runs import GUARD_SECONDS


class Speaker:
    """An agent of no framework class that says given pieces, and lets a test act between them."""

    name = "Joker"

    def __init__(self, pieces: Sequence[str]) -> None:
        self.pieces = pieces
        self.after_piece: dict[int, Any] = {}

    async def _say(self) -> AsyncIterator[AgentResponseUpdate]:
        for number, piece in enumerate(self.pieces):
            yield AgentResponseUpdate(contents=[Content.from_text(piece)], role="assistant", message_id="m")
            await asyncio.sleep(0)
            if number in self.after_piece:
                await self.after_piece[number]()

    def run(self, messages: list[Message], *, stream: bool = False, **options: Any) -> Any:
        """Stream the pieces, as the framework's protocol has it."""
        assert stream
        return self._say()


def told(events: list[Event]) -> list[Told]:
    """Return the frames of a log as a reader gets them."""
    frames = Frames()
    found = [frame for event in events for frame in frames.next(event)]
    return [Told(frame.id, frame.event, dict(frame.fields)) for frame in found]


async def spoken(bench: Bench, **options: Any) -> list[Event]:
    """Take a whole streamed turn and return its log."""
    run_id = await bench.open("go", streamed=True)
    await asyncio.wait_for(bench.signal(run_id), GUARD_SECONDS)
    bench.loop.close()
    return bench.store.told(run_id)
