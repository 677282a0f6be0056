"""A reader of event streams as browsers have one: frames as (id, event, fields)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from typing import Any, NamedTuple

import httpx


class Told(NamedTuple):
    """One frame; `id` is None for what is in no log."""

    id: int | None
    event: str
    fields: dict[str, Any]


def parse(text: str) -> list[Told]:
    """Return the whole frames of a stream; what is not ended by a blank line is not one."""
    blocks = text.split("\n\n")[:-1]
    return [_frame(block) for block in blocks if not block.startswith(":")]


async def frames(response: httpx.Response) -> AsyncIterator[Told]:
    """Yield frames as they come."""
    text = ""
    async for piece in response.aiter_text():
        *whole, text = (text + piece).split("\n\n")
        for block in whole:
            if not block.startswith(":"):
                yield _frame(block)


def words(told: Iterable[Told]) -> str:
    """Return what a reader has on the screen: deltas joined, void ones taken back."""
    said: list[tuple[int, str]] = []
    for frame in told:
        void_after = frame.fields.get("void_after")
        if void_after is not None:
            said = [(position, text) for position, text in said if position <= void_after]
        if frame.event == "delta":
            assert frame.id is not None
            said.append((frame.id, frame.fields["text"]))
    return "".join(text for _, text in said)


def _frame(block: str) -> Told:
    fields = dict(line.split(": ", 1) for line in block.split("\n"))
    return Told(int(fields["id"]) if "id" in fields else None, fields["event"], json.loads(fields["data"]))
