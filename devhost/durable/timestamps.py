"""The durable protocol's times: UTC text with up to seven decimals, trailing zeros cut (host contract 3.4)."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

_PATTERN = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?)?\s*(Z|[+-]\d\d:?\d\d)?", re.IGNORECASE
)


def format_utc(moment: datetime, zone: str = "Z") -> str:
    """Return `2026-11-21T09:48:20.8338Z`; `zone` is what stands for UTC at the end."""
    text = _plain(moment, "microseconds")
    return text.rstrip("0").rstrip(".") + zone


def format_seconds(moment: datetime) -> str:
    """Return the time cut to whole seconds, as status answers show it (host contract 4.3.2)."""
    return f"{_plain(moment, 'seconds')}Z"


def _plain(moment: datetime, precision: str) -> str:
    # Not strftime, whose years before 1000 have fewer digits on Linux.
    return moment.astimezone(timezone.utc).replace(tzinfo=None).isoformat(timespec=precision)


def parse_utc(text: str) -> datetime:
    """Return the moment that an ISO-8601 text names, UTC when it names no zone; digits beyond microseconds are cut.

    Raises ValueError when the text is no date. (`datetime.fromisoformat` takes neither `Z` nor seven decimals on
    Python 3.10.)
    """
    match = _PATTERN.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a date and time such as 2026-01-31T12:00:00Z")
    *numbers, fraction, zone = match.groups()
    year, month, day, hour, minute, second = (int(number or 0) for number in numbers)
    microsecond = int((fraction or "0")[:6].ljust(6, "0"))
    moment = datetime(year, month, day, hour, minute, second, microsecond, tzinfo=timezone.utc)
    try:
        return moment - _offset(zone)
    except OverflowError as error:
        raise ValueError(f"{text!r} is no moment of the years 1 to 9999 in UTC") from error


def _offset(zone: str | None) -> timedelta:
    if zone is None or zone in "Zz":
        return timedelta()
    sign = -1 if zone[0] == "-" else 1
    return sign * timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
