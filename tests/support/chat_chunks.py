"""The chunks of a streamed chat completion, read strictly."""

from __future__ import annotations

import json
from typing import Any

from openai.types.chat import ChatCompletionChunk

from tests.support.strictly import strictly


def frames(text: str) -> list[Any]:
    """Return the JSON of a stream's frames; the last frame of a whole stream is `[DONE]`."""
    sent = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    assert sent.pop() == "[DONE]"
    return [json.loads(frame) for frame in sent]


def chunks(text: str) -> list[ChatCompletionChunk]:
    """Return the chunks of a stream, each held strictly."""
    return [strictly(ChatCompletionChunk, frame) for frame in frames(text)]


def joined(streamed: list[ChatCompletionChunk]) -> str:
    """Return the text of chunks."""
    return "".join(choice.delta.content or "" for chunk in streamed for choice in chunk.choices)
