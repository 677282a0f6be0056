"""When to ask again after a refusal."""

from __future__ import annotations

import math

from hosting.errors import HostingError, ThreadDeletingError

RETRY_AFTER_SECONDS = 1
TRY_AGAIN = (409, 429, 503)
"""The statuses of refusals that may not stand for long."""


def retry_after(error: HostingError) -> str:
    """Return in how many seconds to ask again."""
    return str(max(RETRY_AFTER_SECONDS, math.ceil(error.retry_after_seconds)))


def is_later(error: HostingError) -> bool:
    """Return whether the same request may be served later, without a change of anything else."""
    return error.status in (429, 503) or isinstance(error, ThreadDeletingError)


def later_headers(error: HostingError) -> dict[str, str]:
    """Return the headers of a refusal that may not stand for long."""
    return {"retry-after": retry_after(error), **error.headers}
