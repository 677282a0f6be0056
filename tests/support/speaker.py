"""An agent that says given pieces, and what a reader is told of its run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from agent_framework import AgentResponseUpdate, Content, Message

from hosting.core.thread.events import Event
from tests.support.bench import Bench
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


async def spoken(bench: Bench, **options: Any) -> list[Event]:
    """Take a whole streamed turn and return its run's events."""
    run_id = await bench.open("go", streamed=True)
    await asyncio.wait_for(bench.signal(run_id), GUARD_SECONDS)
    bench.loop.close()
    return await bench.run_events(run_id)
