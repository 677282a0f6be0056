"""OpenAI's client for JavaScript, over a socket to a real host."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.client_tables import table_of
from tests.support.wire_client import WireClient

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("responses.npm-client")]


async def test_the_client_does_all_that_the_wire_serves(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    """Chats, streams, resumes, cancels, shows a picture, approves, keeps a conversation, and gets an error."""
    got = await WireClient(pytestconfig, tmp_path, __file__, "openai-node").prints(path="/api/openai/v1")
    said, methods = got["deltas"], got.pop("methods")

    assert said.startswith("tool said agent-tool")
    assert got == {
        "models": ["Joker", "Clerk"],
        "turns": ["echo: my name is Ada", "my name is Ada | recall"],
        "deltas": said,
        "streamed": {"text": said, "kinds": ["mcp_call", "message"]},
        "exact": True,
        "resumed": said[-5:],
        "again": True,
        "cancelled": "cancelled",
        "picture": "user text:see data:data:image/png;base64,iVBORw0KGgo=",
        "approved": "told: refunded 7",
        "items": ["message", "message"],
        "deleted": True,
        "parsed": {"n": 1},
        "ignored": "truncation",
        "inputs": ["message"],
        "metadata": {"mine": "y"},
        "item": "message",
        "added": "a note",
        "model": "Joker",
        "told": "told: here",
        "error": ["BadRequestError", 400, "unsupported_parameter", "top_logprobs"],
    }
    named = {f"{resource}.{method}" for resource, names in methods.items() for method in names}
    assert len(named) >= 18
    assert table_of("clients-responses.md", "openai for JavaScript").unnamed(named) == []
