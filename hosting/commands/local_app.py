"""An app on a local host of its own, for as long as a command needs it."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections import deque
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, Queue

from hosting.commands.running_app import RefusedError

_ADDRESS = re.compile(r"development only: (http://\S+)")
_LOCAL_HOST = "devhost.__main__"
_START_SECONDS, _STOP_SECONDS = 120.0, 20.0
_LINES_KEPT = 12


class LocalApp:
    """The app of a folder, which a local host of its own runs on a free port until the end of the `with` block.

    A host that ends before that is started again on its port, and the app's runs go on.
    """

    def __init__(self, folder: Path) -> None:
        """Start nothing yet; raises `RefusedError` for a folder without an app, and without the local host."""
        if not (folder / "host.json").is_file():
            raise RefusedError(f"{folder} is not a Functions app: it has no host.json. Name the app's folder by --app.")
        try:
            find_spec(_LOCAL_HOST)
        except ModuleNotFoundError:
            sentence = "The local host is not installed. Install functions-local-host, or give --url."
            raise RefusedError(sentence) from None
        self._folder, self._command = folder, [sys.executable, "-m", _LOCAL_HOST, "start", "--port"]
        self._last: deque[str] = deque(maxlen=_LINES_KEPT)
        self._addresses: Queue[str | None] = Queue()
        self._process: subprocess.Popen[str] | None = None
        self._ends = threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> str:
        """Start the host and return the app's address; raises `RefusedError`, with what it printed, if it does not."""
        self._keeper.start()
        try:
            address = self._addresses.get(timeout=_START_SECONDS)
        except Empty:
            address = None
        if address is None:
            self.__exit__()
            printed = "\n".join(self._last)
            raise RefusedError(f"{printed}\nThe app in {self._folder} does not start. The lines above say why.")
        return address

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        process = self._process
        if process is not None and process.poll() is None:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
        self._keeper.join(_STOP_SECONDS)

    def _keep(self) -> None:
        """Run the host until the end, and again where it ended by itself once it had started."""
        port = "0"
        while not self._ends.is_set():
            address = self._run(port)
            if address is None:
                self._addresses.put(None)
                return
            port = address.rpartition(":")[2]

    def _run(self, port: str) -> str | None:
        """Run one host to its end; return the address that it printed, None without one."""
        address: str | None = None
        with subprocess.Popen(
            [*self._command, port],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as process:
            self._process = process
            for line in process.stdout or ():
                self._last.append(line.rstrip())
                if address is None and (printed := _ADDRESS.search(line)):
                    address = printed[1]
                    self._addresses.put(address)
        return address
