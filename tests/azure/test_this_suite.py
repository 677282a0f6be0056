"""The suite itself, pointed at the local host: it passes there, takes its figures, and fails where it must."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.azure.figures import storage_calls
from tests.azure.target import VARIABLES
from tests.support.running_host import ROOT, RunningHost, host_environment

pytestmark = pytest.mark.slow

KEYS = {"master": "m", "host": "h", "functions": {}, "system": {"durabletask_extension": "d", "mcp_extension": "t"}}
AGAIN = """
import os, subprocess, sys
pid, port = map(int, sys.argv[1:])
os.kill(pid, 9)
started = subprocess.Popen([sys.executable, "-m", "devhost", "start", "--auth", "--port", str(port)])
open("started-again", "w").write(str(started.pid))
"""

AZURITE = """
Azurite Queue service successfully listens on http://127.0.0.1:10001
127.0.0.1 - - [21/Nov/2026:16:35:22 +0000] "GET /devstoreaccount1/agenthub-control-00/messages HTTP/1.1" 200 -
127.0.0.1 - - [21/Nov/2026:16:35:22 +0000] "POST /devstoreaccount1/agenthub-control-01/messages HTTP/1.1" 201 -
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The app of the figures, with keys of its own."""
    shutil.copy(ROOT / "tests" / "azure" / "app" / "function_app.py", tmp_path)
    shutil.copy(ROOT / "host.json", tmp_path)
    (tmp_path / ".devhost").mkdir()
    (tmp_path / ".devhost" / "keys.json").write_text(json.dumps(KEYS), encoding="utf-8")
    return tmp_path


@pytest.fixture
def host(folder: Path) -> Iterator[RunningHost]:
    with RunningHost(folder, "--port", "0", "--auth") as host:
        yield host


def suite(*arguments: str, **given: str) -> subprocess.CompletedProcess[str]:
    """pytest on this folder, without this file, against the host that `given` names."""
    environ = host_environment({VARIABLES[name]: value for name, value in given.items()})
    command = [
        sys.executable,
        "-m",
        "pytest",
        "tests/azure",
        "--ignore",
        __file__,
        "-p",
        "no:cacheprovider",
        *arguments,
    ]
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.behaviour("template.any-host")
def test_every_test_passes_on_the_local_host_and_every_figure_is_printed(host: RunningHost, folder: Path) -> None:
    """But the storage calls, which the local host has none of."""
    (folder / "again.py").write_text(AGAIN, encoding="utf-8")
    kill = f"cd {folder} && {sys.executable} again.py {host.process.pid} {host.origin.rpartition(':')[2]}"
    try:
        ended = suite(url=host.origin, key="h", mcp_key="t", kill=kill)
    finally:
        end_the_second(folder)

    print(ended.stdout)
    assert ended.returncode == 0, ended.stdout
    assert re.findall(r"^([\w' ,]+?)  +[\d.e+]+ \S+  +at ", ended.stdout, re.MULTILINE) == [
        "fresh turn, p50",
        "16 clients",
        "200 runs of 2 s",
        "a killed worker's run",
    ]


def end_the_second(folder: Path) -> None:
    """The host that was started in place of the killed one."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int((folder / "started-again").read_text()), 9)


@pytest.mark.behaviour("template.any-host")
def test_a_wrong_key_fails_the_suite(host: RunningHost) -> None:
    """It is the host that is tested, and not that it was asked."""
    ended = suite("-k", "ids or opens", url=host.origin, key="wrong")

    assert ended.returncode == 1


@pytest.mark.behaviour("template.any-host")
def test_without_a_host_every_test_is_skipped_and_says_how_to_give_one() -> None:
    """So that the suite stands in the ordinary run."""
    ended = suite("-rs", url="")

    assert ended.returncode == 0
    assert "no host given: python dev.py test --url URL --key KEY" in ended.stdout
    assert " passed" not in ended.stdout


def test_calls_are_counted_by_the_lines_that_azurite_prints(tmp_path: Path) -> None:
    """One for each request, and none for what else it says."""
    log = tmp_path / "azurite.log"
    log.write_text(AZURITE, encoding="utf-8")

    assert storage_calls(str(log)) == 2
