"""`durable-agent-host lock`: what requirements.txt brings, with hashes, in a file for each Python.

Two deployments of the same file install the same bytes, or nothing. Which versions fit together is uv's business.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from packages.durable_agent_host.checks.app import PYTHONS, REQUIREMENTS, lock_file

WITHOUT_UV = """\
There is no uv on the path, which resolves for every Python at once. Install it (https://docs.astral.sh/uv), or run
these with each Python on Linux:

    python -m pip install pip-tools
    python -m piptools compile --generate-hashes --output-file requirements-3.13.txt requirements.txt"""


def main(arguments: Sequence[str]) -> int:
    """Write the files; return 0, 1 where a version cannot be found or uv is missing, 2 where there is no app."""
    parser = argparse.ArgumentParser("durable-agent-host lock", description="Lock the packages of a deployment.")
    parser.add_argument("folder", metavar="FOLDER", type=Path, nargs="?", default=Path(), help="the app's folder (.)")
    parser.add_argument(
        "--python", metavar="VERSION", action="append", choices=PYTHONS, help="for this one; repeatable (all four)"
    )
    parser.add_argument("--upgrade", action="store_true", help="take newer versions than those in the files")
    options = parser.parse_args(arguments)
    folder: Path = options.folder.resolve()
    if not (folder / REQUIREMENTS).is_file():
        print(f"{folder} is not an app: it has no {REQUIREMENTS}.", file=sys.stderr)
        return 2
    uv = shutil.which("uv")
    if uv is None:
        print(WITHOUT_UV, file=sys.stderr)
        return 1
    for python in options.python or PYTHONS:
        command = [
            uv,
            "pip",
            "compile",
            REQUIREMENTS,
            "--output-file",
            lock_file(python),
            "--generate-hashes",
            "--quiet",
        ]
        command += [
            "--python-version",
            python,
            "--python-platform",
            "linux",
            "--custom-compile-command",
            _command(python),
        ]
        command += ["--upgrade"] if options.upgrade else []
        if subprocess.run(command, cwd=folder, check=False).returncode:
            print(f"{lock_file(python)} was not written. The lines above say why.", file=sys.stderr)
            return 1
        print(f"Wrote {lock_file(python)}.")
    return 0


def _command(python: str) -> str:
    return f"durable-agent-host lock --python {python}"
