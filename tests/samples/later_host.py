"""The local host at a later hour: `python -m tests.samples.later_host SECONDS`, in an app's folder.

Everything is the host's own but its clock, which runs so many seconds ahead of the machine's.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from devhost.durable.clock import Alarm, SystemClock
from devhost.host import Host, address_of
from devhost.http.server import bind_sockets
from devhost.loader import load_hosted_app
from devhost.settings import read_host_settings


class LaterClock:
    """The machine's clock, that far ahead."""

    def __init__(self, ahead: timedelta) -> None:
        self._ahead = ahead
        self._machine = SystemClock()

    def now(self) -> datetime:
        """See `Clock.now`."""
        return self._machine.now() + self._ahead

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Alarm:
        """See `Clock.call_later`."""
        return self._machine.call_later(seconds, callback)


def main() -> None:
    """Serve the app of the current folder until a signal asks to stop."""
    clock = LaterClock(timedelta(seconds=float(sys.argv[1])))
    app = load_hosted_app(read_host_settings(Path.cwd(), os.environ), os.environ)
    sockets = bind_sockets("127.0.0.1", 0)
    address = address_of("127.0.0.1", sockets)
    host = Host(app, address, verbose=False, keys=None, cors=None, queue_poll_seconds=1, clock=clock)
    asyncio.run(host.run(sockets, lambda: print(f"for development only: {address.origin}", flush=True)))


if __name__ == "__main__":
    main()
