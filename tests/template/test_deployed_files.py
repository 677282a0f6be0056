"""What .funcignore leaves of the tree: the app and its library, and that runs by itself."""

import fnmatch
import os
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[2]
INDEX = "import function_app; print(*(f.get_function_name() for f in function_app.app.get_functions()))"


def tracked_files() -> list[PurePosixPath]:
    """The files that git has or would take; never caches, nor what other tools left."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [PurePosixPath(line) for line in listed.splitlines()]


def deployed(paths: list[PurePosixPath]) -> list[PurePosixPath]:
    """`paths` without those that .funcignore names: a pattern fits a file or any folder above it, by name."""
    patterns = [line for line in (ROOT / ".funcignore").read_text().splitlines() if line]
    return [path for path in paths if not any(fnmatch.fnmatch(part, p) for part in path.parts for p in patterns)]


def copy_deployed(folder: Path) -> int:
    """Put into `folder` what a deployment takes along; return its size in bytes."""
    paths = deployed(tracked_files())
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, folder / path)
    return sum((folder / path).stat().st_size for path in paths)


@pytest.mark.behaviour("template.deploys-without-devhost")
def test_only_the_app_and_its_library_are_deployed() -> None:
    """A new folder at the top is deployed only when this list says so."""
    assert {path.parts[0] for path in deployed(tracked_files())} == {
        "agents",
        "function_app.py",
        "host.json",
        "hosting",
        "requirements.txt",
        "state",
    }


@pytest.mark.behaviour("template.deploys-without-devhost")
def test_secrets_of_this_machine_are_never_deployed() -> None:
    """Settings, keys and databases that lie in a developer's folder."""
    left = [".agents/runs.sqlite", ".devhost/engine.sqlite", ".env", "local.settings.json", ".venv/bin/python"]

    assert deployed([PurePosixPath(path) for path in left]) == []


@pytest.mark.behaviour("template.deploys-without-devhost")
def test_the_deployed_tree_indexes_by_itself(tmp_path: Path) -> None:
    """Copied alone into an empty folder, the app loads and declares its functions."""
    copy_deployed(tmp_path)
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ended = subprocess.run(
        [sys.executable, "-c", INDEX], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )

    assert ended.stderr == ""
    assert {"http-assistant", "dafx-assistant", "mcptool-assistant"} <= set(ended.stdout.split())
