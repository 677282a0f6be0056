"""A2A's client for JavaScript, over a socket to a real host."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.npm_client import printed_by, with_packages
from tests.support.running_host import RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("a2a.npm-client")]

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def script(pytestconfig: pytest.Config) -> Path:
    """Our script with what it imports; the test is skipped without npm's registry."""
    return with_packages(HERE / "client.mjs", Path(pytestconfig.cache.mkdir("a2a-node")))


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    with RunningHost(shutil.copytree(HERE / "app", tmp_path_factory.mktemp("a2a") / "app")) as running:
        yield running


async def test_the_client_does_all_that_the_wire_serves(host: RunningHost, script: Path) -> None:
    """Chats, reads, lists, streams, subscribes, cancels, shows a picture, approves, and gets its own errors."""
    got = await printed_by(script, f"{host.origin}/api/a2a")

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
