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
from tests.devhost.running_host import ROOT, RunningHost, host_environment

pytestmark = pytest.mark.slow

KEYS = {"master": "m", "host": "h", "functions": {}, "system": {"durabletask_extension": "d", "mcp_extension": "t"}}
AGAIN = """
import os, subprocess, sys
pid, port = map(int, sys.argv[1:])
os.kill(pid, 9)
started = subprocess.Popen([sys.executable, "-m", "devhost", "start", "--auth", "--port", str(port)])
open("started-again", "w").write(str(started.pid))
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
    """pytest on this folder, without this file, against the host that `given` names, and no other that the caller may
    have named for a run of the same tests."""
    environ = {name: value for name, value in host_environment().items() if name not in VARIABLES.values()}
    environ.update({VARIABLES[name]: value for name, value in given.items()})
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


@pytest.mark.behaviour("storage.calls-counted")
def test_a_log_that_does_not_grow_gives_no_figure(host: RunningHost, tmp_path: Path) -> None:
    """The local host asks nothing of a storage account: its turns did not cost nought calls."""
    log = tmp_path / "azurite.log"
    log.touch()

    ended = suite("-k", "test_storage_calls", url=host.origin, key="h", storage_log=str(log))

    assert ended.returncode == 0
    assert re.search(rf"storage calls of a turn +not counted: {log} did not grow .* NO$", ended.stdout, re.MULTILINE)


@pytest.mark.behaviour("template.any-host")
def test_a_wrong_key_fails_the_suite(host: RunningHost) -> None:
    """It is the host that is tested, and not that it was asked."""
    ended = suite("-k", "ids or opens", url=host.origin, key="wrong")

    assert ended.returncode == 1


@pytest.mark.behaviour("template.any-host")
def test_without_a_host_every_test_is_skipped_and_says_how_to_give_one() -> None:
    """So that the suite stands in the ordinary run."""
    ended = suite("-rs")

    assert ended.returncode == 0
    assert "no host given: python dev.py test --url URL --key KEY" in ended.stdout
    assert " passed" not in ended.stdout


@pytest.mark.behaviour("template.any-host")
def test_what_the_caller_set_for_another_host_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs all tests against a host of their own runs these too."""
    for variable in VARIABLES.values():
        monkeypatch.setenv(variable, "http://127.0.0.1:1")

    ended = suite("-rs")

    assert ended.returncode == 0
    assert "no host given" in ended.stdout
    assert " passed" not in ended.stdout
