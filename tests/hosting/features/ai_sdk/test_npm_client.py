"""The AI SDK's own chat (`useChat`, without a page), over a socket to a real host."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.npm_client import printed_by, with_packages
from tests.support.running_host import RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("ai-sdk.client")]

HERE = Path(__file__).parent


async def test_the_chat_does_all_that_the_wire_serves(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    """Talks, regenerates, edits, decides, runs its own tool, resumes, reads its messages, and sets options."""
    script = with_packages(HERE / "client.mjs", Path(pytestconfig.cache.mkdir("ai-sdk-node")))
    with RunningHost(shutil.copytree(HERE / "app", tmp_path / "app")) as host:
        got = await printed_by(script, host.origin)

    waiting = [["tool-refund", "approval-requested"]] * 2
    refused = "This call was not made: it was refused. Reason: too much"
    answered = {
        "states": [["tool-refund", "output-available"], ["tool-refund", "output-denied"]],
        "text": f"One moment.told: refunded 4 | {refused}",
        "messages": 2,
    }
    failure = got.pop("failed")
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
    }
    assert failure.startswith("Agent 'Joker' failed")
