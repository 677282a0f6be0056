"""The storage emulator of npm, run by the Node of a PyPI wheel: blobs, queues and tables in one process."""

from __future__ import annotations

import re
import subprocess
import time
import uuid
from collections.abc import Mapping
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.node_packages import node
from tests.support.storage_calls import MARK, LogPosition, StorageCall, calls_in

LOCK = Path(__file__).parent / "node"
NAME = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
START_SECONDS = 60
GUARD_SECONDS = 5
_SCRIPT = Path("node_modules") / "azurite" / "dist" / "src" / "azurite.js"
_LISTENING = re.compile(r"Azurite (\w+) service is successfully listening at (http://\S+)")
SERVICES = ("Blob", "Queue", "Table")


def connection_string(origins: Mapping[str, str]) -> str:
    """Return how clients find the emulator's one account, by its published key, at one address for each service."""
    places = "".join(f"{service}Endpoint={origin}/{NAME};" for service, origin in origins.items())
    return f"DefaultEndpointsProtocol=http;AccountName={NAME};AccountKey={KEY};{places}"


class Azurite:
    """One emulator on free ports of the loopback that forgets everything with its end.

    A test has containers and tables of its own. `origins` are the addresses by service, `log` the file with what it
    prints: a line for each request.
    """

    def __init__(self, packages: Path, folder: Path, ports: Mapping[str, int] | None = None) -> None:
        """Start it, at these ports by service where a test has chosen some."""
        self.log = folder / f"azurite-{uuid.uuid4().hex[:8]}.log"
        chosen = [part for name in SERVICES for part in (f"--{name.lower()}Port", str((ports or {}).get(name, 0)))]
        command = [node(), str(packages / _SCRIPT), "--inMemoryPersistence", *chosen]
        command += ["--skipApiVersionCheck", "--disableTelemetry"]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
        self.origins = self._await_origins()

    @property
    def connection_string(self) -> str:
        """The emulator's one account."""
        return connection_string(self.origins)

    def position(self) -> LogPosition:
        """Return the log's end, behind every request that was answered until now."""
        name = f"{MARK}{uuid.uuid4().hex}"
        self._ask_for(name)
        end = time.monotonic() + GUARD_SECONDS
        while name not in self.log.read_text(encoding="utf-8", errors="replace"):
            assert time.monotonic() < end, f"{self.log} does not tell of a request that was answered."
            time.sleep(0.005)
        return LogPosition.now(self.log)

    def calls_since(self, position: LogPosition) -> list[StorageCall]:
        """Return every call that was answered since the log was there."""
        self.position()
        return calls_in(position.text_since())

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(START_SECONDS)

    def _ask_for(self, container: str) -> None:
        """Nobody is let in without a signature: it is the line in the log that counts."""
        connection = HTTPConnection(urlsplit(self.origins["Blob"]).netloc, timeout=GUARD_SECONDS)
        connection.request("GET", f"/{NAME}/{container}?restype=container")
        connection.getresponse().read()
        connection.close()

    def _await_origins(self) -> dict[str, str]:
        end = time.monotonic() + START_SECONDS
        while True:
            printed = self.log.read_text(encoding="utf-8", errors="replace")
            origins = dict(_LISTENING.findall(printed))
            if len(origins) == len(SERVICES):
                return origins
            if self._process.poll() is not None or time.monotonic() > end:
                self._process.kill()
                raise AssertionError(f"Azurite did not start ({self._process.wait()}): {printed}")
            time.sleep(0.02)
