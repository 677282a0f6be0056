"""Python packages that a test needs and that ask for others than ours: in a folder of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from filelock import FileLock


def installed(cache: Path, *packages: str) -> Path:
    """Return a folder with these packages alone, each `name==version`, without what they ask for."""
    folder = cache / "-".join(package.rpartition("=")[2] for package in packages)
    with FileLock(cache / "lock"):  # two processes may test at once
        if not (folder / "complete").exists():
            target = ("--quiet", "--no-deps", "--target", str(folder))
            subprocess.run([sys.executable, "-m", "uv", "pip", "install", *target, *packages], check=True)
            (folder / "complete").touch()
    return folder
