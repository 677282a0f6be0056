"""A local host as its users run it: a process started in an app's folder, watched through what it prints."""

from __future__ import annotations

import os
import queue
import re
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from devhost import __name__ as DEVHOST
from tests.support.dotnet_reader import faults
from tests.support.warm_python import PRODUCT, ROOT, Begins, start_python

APPS = ROOT / "tests" / "devhost" / "apps"
START_GUARD_SECONDS = 20.0
GUARD_SECONDS = 5.0
CLOCKS = "CLOCK"
"""Variables that set the clock begin so: what the product finds of it when it is imported."""
_ADDRESS = re.compile(r"development only: (http://\S+)")


def begins_with(folder: Path, environ: Mapping[str, str]) -> Begins:
    """Return what a host of the folder may have imported before it starts."""
    if (folder / PRODUCT).exists():  # a copy of the tree, whose code is to run
        return Begins.COLD
    first, *_ = environ.get("PYTHONPATH", "").split(os.pathsep)
    if first and not (Path(first) / PRODUCT).exists():  # other packages than ours, perhaps
        return Begins.COLD
    return Begins.WITHOUT_PRODUCT if first or any(name.startswith(CLOCKS) for name in environ) else Begins.WARM


def host_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for a host process: this one's, with the project importable from any folder."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", **(extra or {})}


def run_command(
    folder: Path, *arguments: str, environ: Mapping[str, str] | None = None, begins: Begins = Begins.COLD
) -> subprocess.CompletedProcess[str]:
    """Run `python -m devhost` with the arguments in the folder to its end; it is killed when the guard ends first."""
    settings = host_environment(environ)
    process = start_python(DEVHOST, *arguments, folder=folder, environ=settings, has_errors=True, begins=begins)
    guard = threading.Timer(START_GUARD_SECONDS, process.kill)
    guard.start()
    printed, complained = process.communicate()
    guard.cancel()
    return subprocess.CompletedProcess(arguments, process.wait(), printed, complained)


class RunningHost:
    """One started host; `origin` is the address that it printed. Use as a context manager: it is killed at the end, and
    here if it does not start. All that it said is then in `printed`.

    `module` is what Python runs, with the arguments behind it. One `in_terminal` can be sent Ctrl-C. On Linux others
    begin with its packages imported (`warm_python`), but for the product itself where it is to be imported anew.
    """

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        environ: Mapping[str, str] | None = None,
        module: str = DEVHOST,
        start_seconds: float = START_GUARD_SECONDS,
        in_terminal: bool = False,
    ) -> None:
        self._folder = folder
        given = arguments if module != DEVHOST else ("start", *(arguments or ("--port", "0")))
        settings = host_environment(environ)
        self.process = start_python(
            module,
            *given,
            folder=folder,
            environ=settings,
            begins=begins_with(folder, environ or {}),
            in_terminal=in_terminal,
        )
        self.printed: list[str] = []
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            found = _ADDRESS.search(self.wait_for("development only", start_seconds))
        except BaseException:
            self.__exit__()
            raise
        assert found is not None
        self.origin = found[1].replace("localhost", "127.0.0.1")

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip())
        self._lines.put(None)

    def wait_for(self, text: str, guard_seconds: float = GUARD_SECONDS) -> str:
        """Return the next printed line that holds the text; fail when the guard ends first."""
        while True:
            try:
                line = self._lines.get(timeout=guard_seconds)
            except queue.Empty:
                raise AssertionError(f"{text!r} was not printed after: {self.printed}") from None
            if line is None:
                raise AssertionError(f"the host ended ({self.process.wait(guard_seconds)}): {self.printed}")
            self.printed.append(line)
            if text in line:
                return line

    def printed_so_far(self) -> str:
        """Return all that was printed until now, without waiting for more."""
        while not self._lines.empty():
            self.printed += [line for line in (self._lines.get_nowait(),) if line is not None]
        return "\n".join(self.printed)

    def ctrl_c(self) -> None:
        """Interrupt the host and its children, as a terminal does that has nothing else in it."""
        os.killpg(self.process.pid, signal.SIGINT)

    def stop(self) -> None:
        """Ask the host to stop and wait until it has drained; the children of `--watch` end with it."""
        self.process.terminate()
        self.process.wait(START_GUARD_SECONDS)

    def __enter__(self) -> RunningHost:
        return self

    def __exit__(self, kind: type[BaseException] | None = None, *_: object) -> None:
        self.process.kill()
        self.process.wait(GUARD_SECONDS)
        self._reader.join(GUARD_SECONDS)  # a child of the process may hold its output open
        self.printed_so_far()
        if kind is None:
            assert [fault for text in self._documents() for fault in faults(text)] == [], "no document for .NET"

    def _documents(self) -> list[str]:
        """Return the conversations that the host's engine holds."""
        file = self._folder / ".devhost" / "durable.db"
        if not file.is_file():
            return []
        with closing(sqlite3.connect(file)) as connection:
            return [
                state
                for (state,) in connection.execute("SELECT state FROM entities WHERE entity_id LIKE '@dafx-%'")
                if state is not None and '"conversationHistory"' in state
            ]
