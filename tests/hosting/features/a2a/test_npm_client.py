"""A2A's client for JavaScript, over a socket to a real host."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.wire_client import WireClient

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("a2a.npm-client")]


async def test_the_client_does_all_that_the_wire_serves(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    """Chats, reads, lists, streams, subscribes, cancels, shows a picture, approves, and gets its own errors."""
    got = await WireClient(pytestconfig, tmp_path, __file__, "a2a-node").prints(path="/api/a2a")

    assert got == {
        "turns": ["echo: my name is Ada", "my name is Ada | recall"],
        "read": "my name is Ada | recall",
        "listed": [True, True],
        "streamed": ["one two three", ["task", "statusUpdate", "artifactUpdate"]],
        "followed": "echo: sleep 0.3",
        "canceled": "TASK_STATE_CANCELED",
        "picture": "user text:see data:data:image/png;base64,iVBORw0KGgo=",
        "approved": ["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED", "told: refunded 7", True],
        "everywhere": ["my name is Ada | recall"],
        "errors": [
            ["JsonRpcTaskNotFoundError", -32001],
            ["JsonRpcTaskNotCancelableError", -32002],
            ["JsonRpcUnsupportedOperationError", -32004],
        ],
    }
