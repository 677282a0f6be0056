"""The Pythons of this machine, and new environments of them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

APP_REQUIREMENTS = tuple(
    f"requirements{part}.txt"
    for part in ("-local", "-auth", "-redis", "-cosmos", "-console", "-file-search", "-conformance")
)
"""What runs an app, and each of the extras; `requirements-local.txt` brings `requirements.txt`."""
PROGRAMS = "Scripts" if os.name == "nt" else "bin"
_UV = (sys.executable, "-m", "uv")


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
    new_environment(python, folder)
    return str(folder / PROGRAMS / "python")


def new_environment(python: str, folder: Path) -> None:
    """Make an environment of that Python, in place of what stands there."""
    subprocess.run([*_UV, "venv", "--quiet", "--clear", "--python", python, str(folder)], check=True)


def install(python: str, *packages: str) -> None:
    """Install packages, or what a file behind `-r` asks for, into the environment of that Python."""
    subprocess.run([*_UV, "pip", "install", "--quiet", "--python", python, *packages], check=True)
