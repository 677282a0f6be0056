"""An app on a local host of its own, for as long as a command or a test needs it."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, Queue
from typing import Any, Protocol

_ADDRESS = re.compile(r"development only: (http://\S+)")
LOCAL_HOST = "devhost.__main__"
"""What Python runs as the local host: no module of ours imports it."""
_START_SECONDS, _STOP_SECONDS = 120.0, 20.0
_LINES_KEPT = 12


class HostProcess(Protocol):
    """The process of a host: the part of `subprocess.Popen` that is used here."""

    stdout: Any

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def kill(self) -> None: ...

    def terminate(self) -> None: ...


StartHost = Callable[[Sequence[str], Path, Mapping[str, str] | None], HostProcess]
"""Starts Python with a module and its arguments, in a folder, with variables (None: those of this process)."""


class LocalAppError(Exception):
    """The app cannot be started, as a sentence."""


def start_host(program: Sequence[str], folder: Path, environ: Mapping[str, str] | None) -> HostProcess:
    """Start a Python; its input ends with this process, however that ends."""
    return subprocess.Popen(
        [sys.executable, "-m", *program],
        cwd=folder,
        env=None if environ is None else dict(environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    )


class LocalApp:
    """The app of a folder, which a local host of its own runs on a free port until the end of the `with` block.

    A host that ends before that is started again on its port, and the app's runs go on. `program` is what Python runs
    as the host, a module and its arguments, with the variables of `environ` (None: those of this process).
    """

    def __init__(
        self,
        folder: Path,
        program: Sequence[str] = (LOCAL_HOST,),
        environ: Mapping[str, str] | None = None,
        start: StartHost = start_host,
    ) -> None:
        """Start nothing yet; raises `LocalAppError` for a folder without an app, and without the local host."""
        if not (folder / "host.json").is_file():
            raise LocalAppError(f"{folder} is not a Functions app: it has no host.json. Name the app's folder.")
        try:
            find_spec(LOCAL_HOST)
        except ModuleNotFoundError:
            sentence = "The local host is not installed. Install functions-local-host, or name a running app."
            raise LocalAppError(sentence) from None
        self._folder, self._environ = folder, environ
        self._program, self._start = [*program, "start", "--port"], start
        self._last: deque[str] = deque(maxlen=_LINES_KEPT)
        self._last_of_ended: tuple[str, ...] = ()
        self._addresses: Queue[str | None] = Queue()
        self._process: HostProcess | None = None
        self._ends = threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True)

    @property
    def printed(self) -> Sequence[str]:
        """The last lines that the host printed."""
        return tuple(self._last)

    @property
    def printed_before(self) -> Sequence[str]:
        """The last lines of the host that ran before this one and ended by itself or was killed; none at first."""
        return self._last_of_ended

    def kill(self) -> None:
        """End the process of the host without a chance to clean up; another one is started."""
        process = self._process
        if process is not None and process.poll() is None:
            process.kill()

    def __enter__(self) -> str:
        """Start the host and return the app's address; raises `LocalAppError`, with what it printed, if it does not."""
        self._keeper.start()
        try:
            address = self._addresses.get(timeout=_START_SECONDS)
        except Empty:
            address = None
        if address is None:
            self.__exit__()
            printed = "\n".join(self._last)
            raise LocalAppError(f"{printed}\nThe app in {self._folder} does not start. The lines above say why.")
        return address

    def stop_at_once(self) -> None:
        """End the host without a chance to clean up, and start no other."""
        self._ends.set()
        self.kill()
        self._keeper.join(_STOP_SECONDS)

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
        self._last_of_ended = tuple(self._last)
        self._last.clear()
        self._process = process = self._start([*self._program, port], self._folder, self._environ)
        if self._ends.is_set():  # its end came while this process began
            process.kill()
        for line in process.stdout:
            self._last.append(line.rstrip())
            if address is None and (printed := _ADDRESS.search(line)):
                address = printed[1]
                self._addresses.put(address)
        process.stdout.close()
        process.wait()
        return address
