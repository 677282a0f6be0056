"""The host in a thread of a process that has other things to do, such as the tests of the app.

The app is not imported here: whoever has the process says how its module is made. Signals, the current folder, the log
and the garbage collector stay that process's.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, MutableMapping
from pathlib import Path
from types import ModuleType
from typing import Any

from devhost.errors import HostError
from devhost.host import Host, OwnProcess, StopRequest, address_of, variables_of_worker
from devhost.http.server import bind_sockets
from devhost.loader import load_imported_app
from devhost.moved_clock import MovedClock
from devhost.settings import read_host_settings

_POLL_SECONDS = 1.0


class ThreadedHost:
    """The host of the app in `folder`, which has its host.json and will have what the host keeps.

    `time_ahead` is the file that moves its time (`MovedClock`).
    """

    def __init__(self, folder: Path, time_ahead: Path) -> None:
        self._folder, self._time_ahead = folder, time_ahead
        self._process = _OthersProcess()
        self._begun = threading.Event()
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def start(self, imported: Callable[[], ModuleType], environ: MutableMapping[str, str]) -> str:
        """Serve the app of the module that `imported` returns, and return its address.

        The variables that a host sets for its worker are set in `environ` before. Raises `HostError` for an app that
        cannot be served.
        """
        settings = read_host_settings(self._folder, environ)
        sockets = bind_sockets("127.0.0.1", 0)
        try:
            address = address_of("127.0.0.1", sockets)
            environ.update(variables_of_worker(address, self._folder, environ))
            app = load_imported_app(imported, settings, environ)
            host = Host(
                app,
                address,
                verbose=False,
                keys=None,
                cors=None,
                queue_poll_seconds=_POLL_SECONDS,
                clock=MovedClock(self._time_ahead),
            )
        except BaseException:
            for bound in sockets:
                bound.close()
            raise
        work = host.run(sockets, self._begun.set, self._process)
        self._thread = threading.Thread(target=self._run, args=(work,), name="threaded-host", daemon=True)
        self._thread.start()
        self._begun.wait()
        if self._error is not None:
            raise self._error
        return address.origin

    def stop(self) -> None:
        """End the host; running work is not waited for, and a next host of the folder goes on with it."""
        if self._thread is not None:
            self._process.ask_to_stop()
            self._thread.join()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            asyncio.run(work)
        except HostError as error:
            self._error = error
        finally:
            self._begun.set()


class _OthersProcess(OwnProcess):
    """A process that has something else to do: only `ask_to_stop` ends the host."""

    grace_seconds = 0.0

    def __init__(self) -> None:
        self._stop: StopRequest | None = None

    def begin(self) -> StopRequest:
        self._stop = StopRequest()
        return self._stop

    def spare_what_stays(self) -> None:
        """Leave the garbage collector as it is."""

    def say_that_it_stops(self, *, is_removed: bool) -> None:
        """Say nothing."""

    def ask_to_stop(self) -> None:
        """Ask the host to stop, in any thread."""
        if self._stop is not None:
            self._stop.ask_from_another_thread()
