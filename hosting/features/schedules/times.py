"""The times of a schedule: its ticks, and the ticks that are due at a moment.

Theory. A tick is a moment, whole seconds since 1970, which a cron expression in a time zone or one time names. It names
its run too, so that whoever comes to it a second time finds the run there. What is due is decided from the schedule,
the newest tick that was dealt with, and the time, whoever asks and however often: of all ticks that have come since,
the newest may begin a run and the others never do.

A clock that is set back repeats no tick, because what was dealt with stays so. Where the time zone changes its clocks,
cronsim does what Debian's cron does. An expression whose minutes and hours are fixed has each tick once: one that falls
into the hour that is left out comes at its end, and one in the hour that comes twice comes the first time. Any other
expression goes by the time that passes.
"""

from __future__ import annotations

import math
import re
import zoneinfo
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal, get_args

from cronsim import CronSim, CronSimError
from msgspec import Struct

from hosting.errors import InvalidFieldError

Missed = Literal["run_once", "skip"]
MISSED_POLICIES: tuple[Missed, ...] = get_args(Missed)
"""The policy for missed ticks: one run for all of them, or none."""

LATE_SECONDS = 600.0
"""A tick that is later than this was missed. A process that died is replaced sooner."""
LONGEST_AHEAD_SECONDS = 10 * 366 * 86_400.0
DEFAULT_TIME_ZONE = "UTC"
_OF_NO_PLACE = {"localtime", "Factory"}
MOST_CHARACTERS = 100
_FIELDS = 5
_FIRST_SPAN_SECONDS, _SPAN_FACTOR = 3600.0, 8
"""The first span in which the newest tick is searched, and the factor of each next span."""
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d)?(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)?")


class Times(Struct, frozen=True):
    """The ticks of a schedule: those of a `cron` expression in a time zone, or the one `at` a time."""

    cron: str | None = None
    time_zone: str = DEFAULT_TIME_ZONE
    at: float | None = None

    @property
    def problem(self) -> str | None:
        """The reason why this process does not know the ticks, as a sentence; None if it knows them.

        Times were read when they were made. The tz database of another machine, or of another day, has other zones, and
        another version of the app may read other expressions.
        """
        if self.at is not None:
            return None
        try:
            CronSim(self.cron or "", self._local(0.0))
        except CronSimError:
            return f"This version of the app cannot read the expression {self.cron!r}. Delete the schedule, or update."
        except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
            return (
                f"The tz database of this machine has no time zone {self.time_zone!r}. Update the package tzdata, or "
                "delete the schedule and create it with another zone."
            )
        return None

    def after(self, moment: float) -> float | None:
        """Return the first tick after that moment, None where there is none."""
        if self.at is not None:
            return self.at if self.at > moment else None
        simulated = CronSim(self.cron or "", self._local(moment))
        while (found := next(simulated, None)) is not None and found.timestamp() <= moment:
            pass  # in the hour that comes twice, the simulated expression begins in the first
        return None if found is None else found.timestamp()

    def newest(self, after: float, until: float) -> float | None:
        """Return the newest tick after one moment and not after the other, None where there is none."""
        if self.at is not None:
            return self.at if after < self.at <= until else None
        span = _FIRST_SPAN_SECONDS
        while (newest := self._last(max(after, until - span), until)) is None and until - span > after:
            span *= _SPAN_FACTOR
        return newest

    def _last(self, after: float, until: float) -> float | None:
        """Return the newest tick by following each: cronsim's own way back confuses the two hours of one name."""
        newest, following = None, self.after(after)
        while following is not None and following <= until:
            newest, following = following, self.after(following)
        return newest

    def _local(self, moment: float) -> datetime:
        return datetime.fromtimestamp(math.floor(moment), tz=zoneinfo.ZoneInfo(self.time_zone))


class Due(Struct, frozen=True):
    """The work of a schedule at a moment: the tick with a run, the newest missed tick, and the next tick."""

    tick: float | None
    missed: float | None
    next: float | None


def due(times: Times, done: float, now: float, policy: Missed) -> Due:
    """Return the due ticks, if the ticks up to `done` are handled."""
    newest, following = times.newest(done, now), times.after(max(done, now))
    if newest is None:
        return Due(None, None, following)
    if now - newest > LATE_SECONDS and policy == "skip":
        return Due(None, newest, following)
    return Due(newest, None, following)


def read_times(cron: str | None, time_zone: str, at: str | None) -> Times:
    """Return the times in a request; raises `InvalidFieldError` for invalid ones."""
    if time_zone not in _zones():
        raise InvalidFieldError(
            f"The field 'time_zone' is {time_zone[:80]!r}. Send a name of the tz database, as 'Europe/Berlin' or 'UTC'."
        )
    if (cron is None) == (at is None):
        raise InvalidFieldError("A schedule has 'cron' or 'at'. Send one of them.")
    if at is not None:
        return Times(None, time_zone, _moment(at, time_zone))
    return Times(_checked_cron(cron or ""), time_zone)


def _checked_cron(text: str) -> str:
    """Return a cron expression of five fields that comes to a tick, its blanks made single ones."""
    shown = f"The field 'cron' is {text[:MOST_CHARACTERS]!r}"
    advice = "Send five fields: minute, hour, day of the month, month, day of the week, as '0 9 * * 1-5'."
    if len(text) > MOST_CHARACTERS:
        raise InvalidFieldError(f"The field 'cron' has {len(text)} characters; the limit is {MOST_CHARACTERS}.")
    cron = " ".join(text.split())
    if not cron.isascii() or len(cron.split()) != _FIELDS:
        raise InvalidFieldError(f"{shown}. {advice}")
    try:
        comes = next(CronSim(cron, datetime(2026, 1, 1, tzinfo=UTC)), None)
    except (CronSimError, ValueError, AssertionError) as error:
        fault = f" ({error})" if isinstance(error, CronSimError) else ""
        raise InvalidFieldError(f"{shown}, which cannot be read{fault}. {advice}") from None
    if comes is None:
        raise InvalidFieldError(f"{shown}, which never comes. {advice}")
    return cron


def _moment(text: str, time_zone: str) -> float:
    """Return a time in whole seconds since 1970; without an offset it is in the time zone."""
    if _TIME.fullmatch(text):
        try:
            found = datetime.fromisoformat(text.upper())
            local = found if found.tzinfo else found.replace(tzinfo=zoneinfo.ZoneInfo(time_zone))
            return math.floor(local.astimezone(UTC).timestamp())  # one that UTC has too: it is shown so
        except (ValueError, OverflowError):
            pass
    raise InvalidFieldError(
        f"The field 'at' is {text[:80]!r}. Send a time, as '2026-12-24T18:00:00Z'; without an offset it is local."
    )


@lru_cache(maxsize=1)
def _zones() -> frozenset[str]:
    """Return the names of all time zones, which takes a look at each of their files.

    Not those that are none of a place: another machine's `localtime` is another zone.
    """
    return frozenset(zoneinfo.available_timezones() - _OF_NO_PLACE | {DEFAULT_TIME_ZONE})
