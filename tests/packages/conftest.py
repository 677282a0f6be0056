"""The wheels, built once for each test process, and environments that have nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.interpreters import PROGRAMS, install, new_environment

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def builder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python with what the build needs, and nothing else."""
    folder = tmp_path_factory.mktemp("builder")
    new_environment(sys.executable, folder)
    python = str(folder / PROGRAMS / "python")
    install(python, "-r", str(ROOT / "requirements-build.txt"))
    return python


@pytest.fixture(scope="session")
def wheels(builder: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheels by their import names."""
    out = tmp_path_factory.mktemp("wheels")
    subprocess.run([builder, str(ROOT / "packages" / "build.py"), "--out", str(out)], check=True)
    return {path.name.partition("-")[0]: path for path in out.iterdir()}


@pytest.fixture(scope="session")
def both_installed(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with all wheels and what they ask for."""
    folder = tmp_path_factory.mktemp("both")
    new_environment(sys.executable, folder)
    install(str(folder / PROGRAMS / "python"), *map(str, wheels.values()))
    return folder / PROGRAMS
