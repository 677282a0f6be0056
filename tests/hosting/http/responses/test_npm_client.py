"""OpenAI's client for JavaScript, over a socket to a real host."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.node_packages import RegistryUnreachableError, install, node
from tests.support.running_host import RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("responses.npm-client")]

HERE = Path(__file__).parent
GUARD_SECONDS = 60


@pytest.fixture(scope="module")
def node_modules(pytestconfig: pytest.Config) -> Path:
    """The folder with the package and our script beside it; the test is skipped without npm's registry."""
    try:
        folder = install(HERE / "node", Path(pytestconfig.cache.mkdir("openai-node")))
    except RegistryUnreachableError:
        pytest.skip("npm's registry cannot be reached, and the cache has no copy of OpenAI's package")
    shutil.copy(HERE / "client.mjs", folder)
    return folder


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """The app on a local host."""
    with RunningHost(shutil.copytree(HERE / "app", tmp_path_factory.mktemp("responses") / "app")) as running:
        yield running


async def test_the_client_does_all_that_the_wire_serves(host: RunningHost, node_modules: Path) -> None:
    """Chats, streams, resumes, cancels, shows a picture, approves, keeps a conversation, and gets an error."""
    process = await asyncio.create_subprocess_exec(
        *(node(), str(node_modules / "client.mjs"), f"{host.origin}/api/openai/v1"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, complained = await asyncio.wait_for(process.communicate(), GUARD_SECONDS)
    assert process.returncode == 0, complained.decode()
    got = json.loads(printed)
    said = got["deltas"]

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
        "error": ["BadRequestError", 400, "unsupported_parameter", "temperature"],
    }
