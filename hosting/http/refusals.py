"""When to ask again after a refusal, and how limits stand, as headers.

Those of a limit are of the IETF's draft-ietf-httpapi-ratelimit-headers-11 (RateLimit header fields for HTTP), which is
no standard yet: lists of structured fields (RFC 9651). Clients that do not know them have `Retry-After` (RFC 9110).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from hosting.amounts import LimitState, Standing
from hosting.errors import HostingError
from hosting.limits import WINDOW_SECONDS

RETRY_AFTER_SECONDS = 1
TRY_AGAIN = (409, 429, 503)
"""The statuses of refusals that may not stand for long."""

_POLICIES = {
    "requests": f"w={WINDOW_SECONDS}",
    "tokens": f'qu="tokens";w={WINDOW_SECONDS}',
    "runs": 'qu="concurrent-requests"',
}
"""The unit of each count: in a window of seconds, or at once. Without `qu` it is requests."""


def retry_after(error: HostingError) -> str:
    """Return in how many seconds to ask again."""
    return str(max(RETRY_AFTER_SECONDS, math.ceil(error.retry_after_seconds)))


def later_headers(error: HostingError) -> dict[str, str]:
    """Return the headers of a refusal that may not stand for long."""
    seconds = retry_after(error)
    limited = {}
    if error.limit is not None:
        limited = limit_headers([Standing(cast(LimitState, error.limit), int(seconds))])
    return {"retry-after": seconds, **limited}


def limit_headers(standings: Sequence[Standing]) -> dict[str, str]:
    """Return the policies, `q` for each window `w`, and how they stand: `r` are left, and more are in `t` seconds."""
    policies = [f'"{state["of"]}";q={state["most"]};{_POLICIES[state["of"]]}' for state, _ in standings]
    left = [
        f'"{state["of"]}";r={state["left"]}' + ("" if seconds is None else f";t={seconds}")
        for state, seconds in standings
    ]
    return {"ratelimit-policy": ", ".join(policies), "ratelimit": ", ".join(left)}
