"""Points in time as the stored document and the wire write them."""

from __future__ import annotations

from datetime import datetime, timezone


def iso(at: float) -> str:
    """Return seconds since 1970 as RFC 3339 in UTC, with microseconds: `2026-01-01T00:00:00.000000+00:00`."""
    return datetime.fromtimestamp(at, tz=timezone.utc).isoformat(timespec="microseconds")
