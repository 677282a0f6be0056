"""What an app that runs says of itself: the one check that asks something, where an address is given."""

from __future__ import annotations

import time
from collections.abc import Iterator
from urllib.request import Request

from hosting.app_requests import RefusedError, sent
from packages.durable_agent_host.checks.app import Found

_LOOKS = 3
_PAUSE_SECONDS = 1.5
"""Between two looks. Instances with different stores find one another in that time."""


def not_ready(url: str) -> Iterator[Found]:
    """`not-ready`."""
    place = f"{url.rstrip('/')}/api/health/ready"
    for look in range(_LOOKS):
        time.sleep(_PAUSE_SECONDS if look else 0.0)
        try:
            sent(Request(place))
        except (RefusedError, ValueError) as error:
            yield place, str(error)
            return
