"""Every command whose output is read by another program, when that program has read enough: `COMMAND | head -1`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance import __name__ as CONFORMANCE
from devhost import __name__ as DEVHOST
from hosting import __name__ as HOSTING
from packages.durable_agent_host import __name__ as COMMAND
from state import __name__ as STATE
from tests.support.pages import ROOT
from tests.support.running_host import APPS, host_environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("template.closed-pipe"),
    pytest.mark.skipif(sys.platform == "win32", reason="a pipe breaks in another way there"),
]

DOCUMENT = '{"schemaVersion": "1.1.0", "data": {"conversationHistory": []}}'
COMMANDS = {
    "dev.py": [str(ROOT / "dev.py"), "--help"],
    "operations": ["-m", f"{HOSTING}.commands.operations", "--help"],
    "state": ["-m", STATE, "DOCUMENT"],
    "start": ["-m", DEVHOST, "start", "--port", "0"],
    "conformance": ["-m", CONFORMANCE, "--list"],
    "commands": ["-m", COMMAND, "--help"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_whose_output_nobody_reads_ends_without_a_traceback(name: str, tmp_path: Path) -> None:
    """With the exit code of a program that a closed pipe ends."""
    document = tmp_path / "document.json"
    document.write_text(DOCUMENT, encoding="utf-8")
    arguments = [str(document) if each == "DOCUMENT" else each for each in COMMANDS[name]]
    unread, written = os.pipe()
    os.close(unread)
    environ = {**host_environment({"AzureWebJobsStorage": ""}), "PYTHONUNBUFFERED": ""}
    with open(written, "wb") as closed:
        finished = subprocess.run(
            [sys.executable, *arguments],
            cwd=APPS / "sent",
            stdout=closed,
            stderr=subprocess.PIPE,
            env=environ,
            timeout=60,
            check=False,
        )

    assert (finished.returncode, finished.stderr.decode()) == (141, "")
