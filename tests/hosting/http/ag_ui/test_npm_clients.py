"""AG-UI's client for JavaScript, of 1.0 and of before, over a socket to a real host."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.node_packages import RegistryUnreachableError, install, node
from tests.support.running_host import RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("ag-ui.npm-clients")]

HERE = Path(__file__).parent
GUARD_SECONDS = 60


@pytest.fixture(scope="module")
def node_modules(pytestconfig: pytest.Config) -> Path:
    """The folder with both packages and our script beside them; the test is skipped without npm's registry."""
    try:
        folder = install(HERE / "node", Path(pytestconfig.cache.mkdir("ag-ui-node")))
    except RegistryUnreachableError:
        pytest.skip("npm's registry cannot be reached, and the cache has no copy of AG-UI's packages")
    shutil.copy(HERE / "client.mjs", folder)
    return folder


@pytest.fixture
def host(tmp_path: Path) -> Iterator[RunningHost]:
    """The app on a local host."""
    with RunningHost(shutil.copytree(HERE / "app", tmp_path / "app")) as running:
        yield running


@pytest.mark.parametrize(("package", "cancelled"), [("@ag-ui/client", "cancelled"), ("client-before", "run_cancelled")])
async def test_the_client_does_all_that_the_wire_serves(
    host: RunningHost, node_modules: Path, package: str, cancelled: str
) -> None:
    """Chats, sees tools, sends a run again, a picture, approves, is cancelled, gets errors."""
    process = await asyncio.create_subprocess_exec(
        *(node(), str(node_modules / "client.mjs"), package, host.origin),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, complained = await asyncio.wait_for(process.communicate(), GUARD_SECONDS)
    assert process.returncode == 0, complained.decode()
    got = json.loads(printed)
    chat = [
        *(["user", "my name is Ada", []], ["assistant", "echo: my name is Ada", []]),
        *(["user", "recall", []], ["assistant", "my name is Ada | recall", []]),
    ]

    assert got == {
        "chat": chat,
        "again": chat,
        "tools": [["user", []], ["assistant", ["thread_name"]], ["tool", []], ["assistant", []]],
        "picture": "user text:see data:data:image/png;base64,iVBORw0KGgo=",
        "asked": ["tool_call", [True]],
        "approved": [["tool", "refunded 7", []], ["assistant", "told: refunded 7", []]],
        "pending": 0,
        "cancelled": [cancelled],
        "failed": ["run_failed"],
        "refused": [400, "RUN_ERROR", "not_served"],
    }
