"""Microsoft's own worker library and this host's worker half, on one app of every shape."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.running_host import APPS, START_GUARD_SECONDS, host_environment

PROGRAM = Path(__file__).with_name("both_workers.py")
LIBRARY = "azure-functions-runtime==1.3.0"
INSTALL_GUARD_SECONDS = 120


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the library alone: it asks for a newer Python than it needs, and for nothing else that is used."""
    folder = tmp_path_factory.mktemp("library")
    options = ["--quiet", "--no-deps", "--ignore-requires-python", "--target", str(folder)]
    command = [sys.executable, "-m", "pip", "install", *options, LIBRARY]
    installed = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_GUARD_SECONDS, check=False)
    if installed.returncode:
        pytest.skip(f"{LIBRARY} cannot be had here: {installed.stderr.strip()[-200:]}")
    return folder


def told_by(*arguments: str) -> dict[str, Any]:
    """Return what one of the two workers says of the app."""
    ran = subprocess.run(
        [sys.executable, str(PROGRAM), *arguments],
        cwd=APPS / "shapes",
        env={**host_environment(), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=START_GUARD_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    answer: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return answer


@pytest.mark.slow
@pytest.mark.behaviour("devhost.worker-library")
def test_the_worker_library_agrees(library: Path) -> None:
    """On names, ids and bindings of all functions, on what a call returns, and on the error that it ends with."""
    ours, theirs = told_by("ours"), told_by("library", str(library))

    assert all(ours[part] for part in ("index", "calls", "requests"))
    assert ours == theirs
