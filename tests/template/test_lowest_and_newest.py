"""The app takes a turn on the lowest versions that the requirements allow, and on the newest that there are.

The other tests run on what requirements-dev.txt brings, and that holds some packages below the newest.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import httpx
import pytest

from tests.support.interpreters import APP_REQUIREMENTS, fresh_environment, install
from tests.support.template_process import ROOT, copy_tree, running

EXTRAS = "import hosting.bearer, hosting.core.stores.redis, hosting.core.stores.cosmos, hosting.console.worker"
RESOLUTIONS = {"lowest": "lowest-direct", "newest": "highest"}
IN_THE_GATE = [("3.12", "lowest"), ("3.13", "newest")]
EXPLORED = [
    pytest.param(version, versions, marks=pytest.mark.explore)
    for version in ("3.11", "3.12", "3.13", "3.14")
    for versions in RESOLUTIONS
    if (version, versions) not in IN_THE_GATE
]


@pytest.mark.slow(seconds=12)
@pytest.mark.timeout(600)
@pytest.mark.behaviour("template.lowest-and-newest")
@pytest.mark.parametrize(("version", "versions"), [*IN_THE_GATE, *EXPLORED])
async def test_the_app_takes_a_turn(version: str, versions: str, tmp_path: Path) -> None:
    """And its extras are imported; no library warns of anything. Python 3.13 has another line of the Functions SDK."""
    python = fresh_environment(version, tmp_path / "environment")
    files = [part for name in APP_REQUIREMENTS for part in ("-r", str(ROOT / name))]
    install(python, "--resolution", RESOLUTIONS[versions], *files)
    folder = tmp_path / "app"
    folder.mkdir()
    copy_tree(folder)
    subprocess.run([python, "-c", EXTRAS], cwd=folder, check=True)
    command = [python, "-W", "error::UserWarning", "-m", "devhost", "start", "--port", "0"]
    async with running(command, folder) as app, httpx.AsyncClient(timeout=30) as client:
        message = {"message": "What is the weather in Paris?"}
        answer = await client.post(f"{app.origin}/api/agents/assistant/run", json=message)

    assert (answer.status_code, answer.json()["response"]) == (200, "The weather in Paris: partly cloudy, 18 °C.")
