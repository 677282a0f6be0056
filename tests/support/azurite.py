"""The storage emulator of npm, run by the Node of a PyPI wheel."""

from __future__ import annotations

import re
import subprocess
import threading
from pathlib import Path

from tests.support.node_packages import node

LOCK = Path(__file__).parent / "node"
ACCOUNT = (
    "AccountName=devstoreaccount1;"
    "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
START_SECONDS = 60
_SCRIPT = Path("node_modules") / "azurite" / "dist" / "src" / "blob" / "main.js"
_LISTENING = re.compile(r"successfully listen[a-z]* (?:at|on) (http://\S+)")


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
