"""The command `workers` where the package that it needs is not installed."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support.warm_python import ROOT


@pytest.mark.slow
@pytest.mark.behaviour("engine.workers")
@pytest.mark.parametrize("missing", ["durabletask", "grpc"])
def test_the_command_workers_says_which_package_it_misses(tmp_path: Path, missing: str) -> None:
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if path.name != missing and path.suffix != ".pth":
            (tmp_path / path.name).symlink_to(path)
    code = f"import sys; sys.path[:0] = {[str(ROOT), str(tmp_path)]!r}; from devhost.cli import main; sys.exit(main())"
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, "workers", "--port", "0"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    said = "Error: The command workers needs the package durabletask: install it, then try again."
    assert (ended.returncode, ended.stdout, ended.stderr.strip()) == (1, "", said)
