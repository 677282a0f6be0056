"""The Pythons of this machine."""

import shutil
import subprocess
from pathlib import Path


def interpreter(version: str) -> str | None:
    """The path of a Python `version` that runs, from the path or from pyenv; None when there is none."""
    kept = Path.home().glob(f".pyenv/versions/{version}.*/bin/python")
    candidates = [shutil.which(f"python{version}"), *map(str, kept)]
    return next((path for path in candidates if path and runs(path)), None)


def runs(path: str) -> bool:
    return subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0
