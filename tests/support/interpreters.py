"""The Pythons of this machine, and new environments of them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

PROGRAMS = "Scripts" if os.name == "nt" else "bin"


def interpreter(version: str) -> str | None:
    """The path of a Python `version` that runs, from the path or from pyenv; None when there is none."""
    kept = Path.home().glob(f".pyenv/versions/{version}.*/bin/python")
    candidates = [shutil.which(f"python{version}"), *map(str, kept)]
    return next((path for path in candidates if path and runs(path)), None)


def runs(path: str) -> bool:
    return subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0


def fresh_environment(version: str, folder: Path) -> str:
    """The path of the Python in a new environment; skips when this machine has no Python of that version."""
    python = interpreter(version)
    if python is None:
        pytest.skip(f"no Python {version} on this machine")
    subprocess.run([python, "-m", "venv", str(folder)], check=True, capture_output=True)
    return str(folder / PROGRAMS / "python")
