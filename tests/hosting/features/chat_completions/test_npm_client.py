"""OpenAI's client for JavaScript, over a socket to a real host."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.client_tables import table_of
from tests.support.wire_client import WireClient

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("chat.client")]


async def test_the_client_does_all_that_the_wire_serves(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    """Chats, streams, counts, lists the agents, and gets errors before and within a stream."""
    got = await WireClient(pytestconfig, tmp_path, __file__, "openai-node-chat").prints(path="/api/chat/v1")
    methods = got.pop("methods")

    assert got == {
        "models": ["Joker", "Clerk"],
        "turns": ["echo: my name is Ada", "my name is Ada | recall"],
        "deltas": "one two three",
        "streamed": "one two three",
        "tokens": 7,
        "parsed": {"n": 1},
        "ran": "told: at 1 | at 2",
        "ranStreamed": "told: at 3",
        "ignored": "user",
        "model": "Joker",
        "refused": ["BadRequestError", 400, "unsupported_parameter", "n"],
        "failed": ["APIError", "run_failed"],
    }
    named = {f"{resource}.{method}" for resource, names in methods.items() for method in names}
    assert len(named) >= 12
    assert table_of("clients-chat-completions.md", "openai for JavaScript").unnamed(named) == []
