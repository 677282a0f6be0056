"""A2A's client for JavaScript, over a socket to a real host."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.node_packages import RegistryUnreachableError, install, node
from tests.support.running_host import RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("a2a.npm-client")]

HERE = Path(__file__).parent
GUARD_SECONDS = 60


@pytest.fixture(scope="module")
def node_modules(pytestconfig: pytest.Config) -> Path:
    """The folder with the package and our script beside it; the test is skipped without npm's registry."""
    try:
        folder = install(HERE / "node", Path(pytestconfig.cache.mkdir("a2a-node")))
    except RegistryUnreachableError:
        pytest.skip("npm's registry cannot be reached, and the cache has no copy of A2A's package")
    shutil.copy(HERE / "client.mjs", folder)
    return folder


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """The app on a local host."""
    with RunningHost(shutil.copytree(HERE / "app", tmp_path_factory.mktemp("a2a") / "app")) as running:
        yield running


async def test_the_client_does_all_that_the_wire_serves(host: RunningHost, node_modules: Path) -> None:
    """Chats, reads, lists, streams, subscribes, cancels, shows a picture, approves, and gets its own errors."""
    process = await asyncio.create_subprocess_exec(
        *(node(), str(node_modules / "client.mjs"), f"{host.origin}/api/a2a"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, complained = await asyncio.wait_for(process.communicate(), GUARD_SECONDS)
    assert process.returncode == 0, complained.decode()
    got = json.loads(printed)

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
