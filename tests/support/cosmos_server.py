"""A server of npm that speaks Cosmos DB for NoSQL, run by the Node of a PyPI wheel."""

from __future__ import annotations

import re
import subprocess
import threading
from pathlib import Path

from tests.support.azurite import START_SECONDS
from tests.support.node_packages import node

KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
"""The published key of the emulator; the server of npm takes any."""

_SCRIPT = Path("node_modules") / "@vercel" / "cosmosdb-server" / "lib" / "cli.js"
_LISTENING = re.compile(r"connections at \S*:(\d+)")


class CosmosServer:
    """One server on a free port of the loopback that forgets everything with its end."""

    def __init__(self, packages: Path) -> None:
        command = [node(), str(packages / _SCRIPT), "--no-ssl", "--host", "127.0.0.1", "--port", "0"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        watch = threading.Timer(START_SECONDS, self._process.kill)
        watch.start()
        self.address = f"http://127.0.0.1:{self._await_port()}"
        watch.cancel()

    @property
    def connection_string(self) -> str:
        """The server's one account."""
        return f"AccountEndpoint={self.address};AccountKey={KEY};"

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(START_SECONDS)

    def _await_port(self) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if found := _LISTENING.search(line):
                return found[1]
        raise AssertionError(f"The Cosmos DB server ended with {self._process.wait()} before it listened.")
