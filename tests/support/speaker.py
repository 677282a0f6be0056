"""An agent that says given pieces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from agent_framework import AgentResponseUpdate, Content, Message


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
