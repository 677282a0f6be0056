"""The tools of requirements-checks.txt, installed once beside the Python that runs the tests."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from filelock import FileLock

from tests.support.interpreters import install, new_environment

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "requirements-checks.txt"
FOLDER = Path(sys.prefix) / "template-checks"
PROGRAMS = FOLDER / ("Scripts" if os.name == "nt" else "bin")


def installed() -> None:
    """Make the environment; nothing when it holds what the requirements ask for."""
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()
    stamp = FOLDER / "installed"
    with FileLock(FOLDER.with_suffix(".lock")):  # two processes may test at once
        if stamp.is_file() and stamp.read_text() == wanted:
            return
        new_environment(sys.executable, FOLDER)
        install(str(PROGRAMS / "python"), "-r", str(REQUIREMENTS))
        stamp.write_text(wanted)


def run(program: str, *arguments: str, folder: Path = ROOT, before: str = "") -> subprocess.CompletedProcess[str]:
    """One of the tools, to its end, in `folder`; one that is a Python program has run what stands in `before`."""
    installed()
    command = [str(PROGRAMS / program), *arguments]
    if before:
        then = f"import runpy\nrunpy.run_path({command[0]!r}, run_name='__main__')"
        command[:1] = [str(PROGRAMS / "python"), "-c", f"{before}\n{then}"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)
