"""`durable-agent-host lock`: what a deployment installs, with hashes, for each Python."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from packages.build import version
from tests.packages.hosted_apps import BARE
from tests.support.interpreters import PROGRAMS, new_environment

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("packages.lock")]

PYTHON = f"3.{sys.version_info.minor}"


@pytest.fixture(scope="module")
def environ(wheels: dict[str, Path]) -> dict[str, str]:
    """With uv on the path, and the wheels in the place of an index that has none yet.

    For a Python that is not there uv would ask the network, three times and in vain where there is none.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), BARE["PATH"]])
    wheels_folder = str(wheels["durable_agent_host"].parent)
    return {**BARE, "PATH": path, "UV_FIND_LINKS": wheels_folder, "UV_PYTHON_DOWNLOADS": "never"}


def run(programs: Path, app: Path, environ: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(programs / "durable-agent-host"), *arguments]
    return subprocess.run(command, cwd=app, env=environ, capture_output=True, text=True, check=False)


@pytest.fixture
def app(both_installed: Path, environ: dict[str, str], tmp_path: Path) -> Path:
    ended = run(both_installed, tmp_path, environ, "new", "app")
    assert ended.returncode == 0, ended.stderr
    return tmp_path / "app"


@pytest.mark.timeout(600)
def test_what_is_locked_is_what_is_installed(both_installed: Path, app: Path, environ: dict[str, str]) -> None:
    """Every package with its version and hashes; an index that has other bytes is refused; the check is content."""
    before = run(both_installed, app, environ, "check")
    ended = run(both_installed, app, environ, "lock", "--python", PYTHON, "--python", "3.13")
    text = (app / f"requirements-{PYTHON}.txt").read_text(encoding="utf-8")
    python = new_environment(sys.executable, app / "locked") or app / "locked" / PROGRAMS / "python"
    command = [sys.executable, "-m", "uv", "pip", "install", "-q", "--python", str(python), "--require-hashes", "-r"]
    installed = subprocess.run([*command, f"requirements-{PYTHON}.txt"], cwd=app, env=environ, check=False)
    forged = app / "forged.txt"
    forged.write_text(re.sub(r"sha256:\w{10}", "sha256:0123456789", text), encoding="utf-8")
    refused = subprocess.run(
        [*command, "forged.txt", "--reinstall"], cwd=app, env=environ, capture_output=True, check=False
    )
    after = run(both_installed, app, environ, "check")

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == f"Wrote requirements-{PYTHON}.txt.\nWrote requirements-3.13.txt.\n"
    assert f"\ndurable-agent-host=={version()} \\\n    --hash=sha256:" in text
    assert f"#    durable-agent-host lock --python {PYTHON}\n" in text
    assert len(re.findall(r"^[\w.-]+==\S+", text, re.MULTILINE)) > 20
    assert not re.findall(r"^[\w.-]+==\S+$", text, re.MULTILINE)
    assert (installed.returncode, refused.returncode != 0) == (0, True)
    assert before.stdout.endswith("[unlocked]\n\n1 finding.\n")
    assert (after.returncode, after.stdout.split()[-3:]) == (0, ["checks", "found", "nothing."])
