"""Points in time as the stored document and the wire write them."""

from __future__ import annotations

import re
from datetime import datetime, timezone

_UTC = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6})\d*)?(?:Z|\+00:00)\Z")
"""RFC 3339 in UTC; .NET writes seven decimals."""


def iso(at: float) -> str:
    """Return seconds since 1970 as RFC 3339 in UTC, with microseconds: `2026-01-01T00:00:00.000000+00:00`."""
    return datetime.fromtimestamp(at, tz=timezone.utc).isoformat(timespec="microseconds")


def utc(at: float) -> str:
    """Return the same with a `Z`, which is how .NET and the durable engine write a time in UTC."""
    return iso(at).replace("+00:00", "Z")


def read_utc(text: str) -> float | None:
    """Return the seconds since 1970 of a time that `iso`, `utc` or .NET wrote; None for any other text."""
    match = _UTC.match(text)
    if match is None:
        return None
    try:
        whole = datetime.fromisoformat(f"{match[1]}+00:00").timestamp()
    except ValueError:
        return None
    return whole + float(f"0.{match[2] or 0}")
