"""The tree that a deployment takes along, by .funcignore, and how it is indexed."""

import fnmatch
import os
import subprocess
import sys
from pathlib import Path, PurePosixPath

from tests.support.compiled import copy_compiled

ROOT = Path(__file__).resolve().parents[2]
INDEX = """
import importlib, sys
for name in sys.argv[1:] or ["function_app"]:
    print(*(function.get_function_name() for function in importlib.import_module(name).app.get_functions()))
"""


def tracked_files() -> list[PurePosixPath]:
    """The files that git has or would take; never caches, nor what other tools left."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [PurePosixPath(line) for line in listed.splitlines()]


def deployed(paths: list[PurePosixPath]) -> list[PurePosixPath]:
    """`paths` without those that .funcignore names: a pattern fits a file or any folder above it, by name; one that
    begins with a slash fits only what is at the top.
    """
    patterns = [line for line in (ROOT / ".funcignore").read_text().splitlines() if line]
    return [path for path in paths if not any(fits(pattern, path) for pattern in patterns)]


def fits(pattern: str, path: PurePosixPath) -> bool:
    """Whether a line of .funcignore leaves the file out."""
    parts = path.parts[:1] if pattern.startswith("/") else path.parts
    return any(fnmatch.fnmatch(part, pattern.removeprefix("/")) for part in parts)


def copy_deployed(folder: Path) -> int:
    """Put into `folder` what a deployment takes along; return its size in bytes."""
    paths = deployed(tracked_files())
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        copy_compiled(ROOT / path, folder / path)
    return sum((folder / path).stat().st_size for path in paths)


def indexed_alone(folder: Path, *apps: str) -> subprocess.CompletedProcess[str]:
    """The names of the functions of the app in `folder` on stdout, found without this checkout on Python's path; of
    some modules there that are apps, a line each.
    """
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-c", INDEX, *apps]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
