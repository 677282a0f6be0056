"""What an app that runs says of itself: the one check that asks something, where an address is given."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator

from hosting.commands.running_app import RefusedError, RunningApp
from packages.durable_agent_host.checks.app import Found

_READY = "health/ready"
_LOOKS = 3
_PAUSE_SECONDS = 1.5
"""Between two looks. Instances with different stores find one another in that time."""


def not_ready(url: str) -> Iterator[Found]:
    """`not-ready`."""
    try:
        app = RunningApp.of(Namespace(url=url, key=None, header=()))
        for look in range(_LOOKS):
            time.sleep(_PAUSE_SECONDS if look else 0.0)
            app.sent(_READY)
    except (RefusedError, ValueError) as error:
        yield f"{url.rstrip('/')}/api/{_READY}", str(error)
