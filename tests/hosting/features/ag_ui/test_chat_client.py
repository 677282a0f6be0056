"""agent-framework's AGUIChatClient, over a socket to a real host.

Its package asks for the protocol's types of before 1.0, so both are in a folder of their own, for a process of its own.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.python_packages import CHAT_CLIENT, installed, printed_with
from tests.support.running_host import RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("ag-ui.chat-client")]

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def packages(pytestconfig: pytest.Config) -> Path:
    """A folder with the client's package and the types that it asks for."""
    return installed(Path(pytestconfig.cache.mkdir("ag-ui-python")), *CHAT_CLIENT)


async def test_it_chats_streams_approves_and_gets_errors(packages: Path, tmp_path: Path) -> None:
    """Its own tool it runs itself; those of the agent it is not asked to run."""
    with RunningHost(shutil.copytree(HERE / "app", tmp_path / "app")) as host:
        got = await printed_with(packages, HERE / "chat_client.py", host.origin)

    assert got == {
        "turns": ["echo: my name is Ada", "my name is Ada | recall"],
        "tool": ["function_call", "function_result", "text"],
        "picture": "user text:see data:data:image/png;base64,iVBORw0KGgo=",
        "failed": ["error"],
        "approved": "told: refunded 7",
        "hands": "One moment.\n\ntold: at 7",
        "state": '{"color": "red"}',
        "agent": "echo: hello",
    }
