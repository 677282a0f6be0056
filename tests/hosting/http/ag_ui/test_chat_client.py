"""agent-framework's AGUIChatClient, over a socket to a real host.

Its package asks for the protocol's types of before 1.0, so both are in a folder of their own, for a process of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.python_packages import installed
from tests.support.running_host import ROOT, RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("ag-ui.chat-client")]

HERE = Path(__file__).parent
GUARD_SECONDS = 60
PACKAGES = ("agent-framework-ag-ui==1.7.0", "ag-ui-protocol==0.1.19", "sse-starlette==3.4.5")


@pytest.fixture(scope="module")
def packages(pytestconfig: pytest.Config) -> Path:
    """A folder with the client's package and the types that it asks for."""
    return installed(Path(pytestconfig.cache.mkdir("ag-ui-python")), *PACKAGES)


async def test_it_chats_streams_approves_and_gets_errors(packages: Path, tmp_path: Path) -> None:
    """Its tools are those of the agent here, which it is not asked to run."""
    path = os.pathsep.join([str(packages), str(ROOT)])
    with RunningHost(shutil.copytree(HERE / "app", tmp_path / "app")) as host:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(HERE / "chat_client.py"), host.origin),
            env={**os.environ, "PYTHONPATH": path},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        printed, complained = await asyncio.wait_for(process.communicate(), GUARD_SECONDS)
    assert process.returncode == 0, complained.decode()

    assert json.loads(printed) == {
        "turns": ["echo: my name is Ada", "my name is Ada | recall"],
        "tool": ["function_call", "function_result", "text"],
        "picture": "user text:see data:data:image/png;base64,iVBORw0KGgo=",
        "failed": ["error"],
        "approved": "told: refunded 7",
    }
