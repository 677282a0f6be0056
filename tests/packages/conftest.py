"""The wheels, built once for all test processes, and environments that have nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from packages.durable_agent_host.skill import SKILL
from tests.packages.hosted_apps import new
from tests.packages.recipes import Follower, environment
from tests.support.interpreters import PROGRAMS, install, new_environment
from tests.support.made_once import made_once

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def builder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python with what the build needs, and nothing else."""

    def make(folder: Path) -> None:
        new_environment(sys.executable, folder)
        install(str(folder / PROGRAMS / "python"), "-r", str(ROOT / "requirements-build.txt"))

    return str(made_once(tmp_path_factory, "builder", make) / PROGRAMS / "python")


@pytest.fixture(scope="session")
def wheels(builder: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheels by their import names."""

    def make(folder: Path) -> None:
        subprocess.run([builder, str(ROOT / "packages" / "build.py"), "--out", str(folder)], check=True)

    return {path.name.partition("-")[0]: path for path in made_once(tmp_path_factory, "wheels", make).iterdir()}


@pytest.fixture(scope="session")
def both_installed(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with all wheels and what they ask for."""

    def make(folder: Path) -> None:
        new_environment(sys.executable, folder)
        install(str(folder / PROGRAMS / "python"), *map(str, wheels.values()))

    return made_once(tmp_path_factory, "both", make) / PROGRAMS


@pytest.fixture(scope="module")
def where_wheels_are(wheels: dict[str, Path]) -> pytest.MonkeyPatch:
    """In the place of the index, which has none yet; and the tests' own uv on the path."""
    patch = pytest.MonkeyPatch()
    patch.setenv("UV_FIND_LINKS", str(wheels["durable_agent_host"].parent))
    patch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    patch.delenv("PYTHONPATH", raising=False)
    return patch


@pytest.fixture(scope="session")
def environ(wheels: dict[str, Path]) -> dict[str, str]:
    return environment(wheels["durable_agent_host"].parent, Path(sys.executable).parent)


@pytest.fixture(scope="session")
def started(environ: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The app that `SKILL.md` has one start with; made once for all test processes."""

    def make(folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        Follower(folder, environ).follow((SKILL / "SKILL.md").read_text(encoding="utf-8"))

    return made_once(tmp_path_factory, "skill", make) / "my-agents"


@pytest.fixture(scope="module")
def made(
    both_installed: Path,
    started: Path,
    where_wheels_are: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The folder of a new app, with the packages that the first command of `started` installed: it needs the same."""
    parent = tmp_path_factory.mktemp("parent")
    ended = new(both_installed, parent, "My_Agents")
    assert ended.returncode == 0, ended.stderr
    assert "    cd My_Agents\n    python dev.py run\n    python dev.py test\n" in ended.stdout
    (parent / "My_Agents" / ".venv").symlink_to(started / ".venv", target_is_directory=True)
    return parent / "My_Agents"


@pytest.fixture
def fresh(started: Path, tmp_path: Path) -> Path:
    """A new app with the same packages, which stay where they were installed."""
    ignored = shutil.ignore_patterns(".venv", ".devhost", ".agents", "__pycache__")
    folder = Path(shutil.copytree(started, tmp_path / "my-agents", ignore=ignored))
    (folder / ".venv").symlink_to(started / ".venv", target_is_directory=True)
    return folder
