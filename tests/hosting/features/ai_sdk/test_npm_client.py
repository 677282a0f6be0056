"""The AI SDK's own chat (`useChat`, without a page), over a socket to a real host."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.client_tables import table_of
from tests.support.wire_client import WireClient

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("ai-sdk.client")]


async def test_the_chat_does_all_that_the_wire_serves(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    """Talks, regenerates, edits, decides, runs its own tool, resumes, queues, sets options, and reads its messages.

    The page's table names all that the client declares.
    """
    got = await WireClient(pytestconfig, tmp_path, __file__, "ai-sdk-node").prints()

    waiting = [["tool-refund", "approval-requested"]] * 2
    refused = "This call was not made: it was refused. Reason: too much"
    answered = {
        "states": [["tool-refund", "output-available"], ["tool-refund", "output-denied"]],
        "text": f"One moment.told: refunded 4 | {refused}",
        "messages": 2,
    }
    failure, names = got.pop("failed"), got.pop("names")
    turns = ["my name is Ada", "echo: my name is Ada", "recall", "my name is Ada | recall"]
    edited = ["my name is Grace", "echo: my name is Grace", "recall", "my name is Grace | recall"]
    assert got == {
        "turns": turns,
        "regenerated": turns,
        "edited": edited,
        "stored": edited,
        "refused": "invalid_thread_id",
        "asked": waiting,
        "answered": answered,
        "reloaded": answered,
        "ran": {"states": [["tool-where", "output-available"]], "text": "One moment.told: here"},
        "resumed": ["sleep 2", "echo: sleep 2"],
        "options": {"temperature": 0.5, "max_tokens": 20},
        "custom": {
            "ids": "own-1",
            "finished": [["user data:data:image/png;base64,iVBORw0KGgo= text:see", "stop", True]],
            "sentHeaders": ["1", "1", "1"],
            "status": "ready",
        },
        "read": "one two",
        "cleared": ["ready", None],
        "again": ["say again", "again"],
        "broken": "One moment.told: Error: no signal",
        "thoughts": [["Let me look.", "done"], ["It is a door.", "done"]],
        "cancelled": True,
        "cut": ["ready", 2],
        "queued": ["sleep 1", "echo: sleep 1", "say queued", "queued"],
    }
    assert failure.startswith("Agent 'Joker' failed")
    assert min(map(len, names.values())) >= 7
    assert table_of("ai-sdk.md", "useChat").unnamed({name for kind in names.values() for name in kind}) == []
