"""A reader of event streams as browsers have one: frames as (id, event, fields)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from typing import Any, NamedTuple

import httpx


class Frame(NamedTuple):
    """One frame; `id` is None for what is in no log."""

    id: str | None
    event: str
    fields: dict[str, Any]


def parse(text: str) -> list[Frame]:
    """Return the whole frames of a stream; what is not ended by a blank line is not one."""
    blocks = text.split("\n\n")[:-1]
    return [_frame(block) for block in blocks if not block.startswith(":")]


async def frames(response: httpx.Response) -> AsyncIterator[Frame]:
    text = ""
    async for piece in response.aiter_text():
        *whole, text = (text + piece).split("\n\n")
        for block in whole:
            if not block.startswith(":"):
                yield _frame(block)


def words(received: Iterable[Frame]) -> str:
    """Return what a reader has on the screen: each delta in place of what stood behind its offset."""
    shown = ""
    for frame in received:
        if frame.event == "delta":
            shown = shown[: frame.fields["offset"]] + frame.fields["text"]
    return shown


def _frame(block: str) -> Frame:
    fields = dict(line.split(": ", 1) for line in block.split("\n"))
    return Frame(fields.get("id"), fields["event"], json.loads(fields["data"]))
