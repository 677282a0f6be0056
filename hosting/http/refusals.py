"""When to ask again after a refusal, and how the limit stands that was reached, as headers.

Those of a limit are of the IETF's draft-ietf-httpapi-ratelimit-headers-11 (RateLimit header fields for HTTP), which is
no standard yet: lists of structured fields (RFC 9651). Clients that do not know them have `Retry-After` (RFC 9110).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

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
"""What is counted in which way: within a window of so many seconds, or at once. Requests are counted if `qu` is not."""


def retry_after(error: HostingError) -> str:
    """Return in how many seconds to ask again."""
    return str(max(RETRY_AFTER_SECONDS, math.ceil(error.retry_after_seconds)))


def later_headers(error: HostingError) -> dict[str, str]:
    """Return the headers of a refusal that may not stand for long."""
    seconds = retry_after(error)
    return {"retry-after": seconds, **({} if error.limit is None else _limit_headers(error.limit, seconds))}


def _limit_headers(limit: Mapping[str, Any], seconds: str) -> dict[str, str]:
    """Return the policy, `q` for each window `w`, and its state: `r` are left, and more are in `t` seconds."""
    name = limit["of"]
    return {
        "ratelimit-policy": f'"{name}";q={limit["most"]};{_POLICIES[name]}',
        "ratelimit": f'"{name}";r={limit["left"]};t={seconds}',
    }
