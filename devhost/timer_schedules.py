"""When a timer trigger fires: NCRONTAB expressions and plain intervals, in UTC.

An expression has the fields second (may be left out), minute, hour, day of month, month, day of week. A moment fits
when every field does; unlike in Unix' cron, day of month and day of week must both fit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_INTERVAL = re.compile(r"(?:(\d+)\.)?(\d{1,2}):([0-5]?\d):([0-5]?\d)")
_ITEM = re.compile(r"(?:(?P<all>\*)|(?P<first>\w+)(?:-(?P<last>\w+))?)(?:/(?P<step>\d+))?")
_FAR_YEARS = 8  # holds every leap day: 29 February comes at least once in eight years


class ScheduleError(ValueError):
    """The text is no schedule; the message says which part of it, and what is accepted."""


class Schedule(Protocol):
    """Answers when a timer is due."""

    def next_after(self, moment: datetime) -> datetime:
        """Return the first due moment later than this one."""
        ...

    @property
    def is_frequent(self) -> bool:
        """Return whether it is due more than once a minute; such timers are not remembered across restarts."""
        ...


@dataclass(frozen=True)
class Every:
    """A plain interval: due so long after the last time."""

    interval: timedelta

    def next_after(self, moment: datetime) -> datetime:
        return moment + self.interval

    @property
    def is_frequent(self) -> bool:
        return self.interval < timedelta(minutes=1)


@dataclass(frozen=True)
class Cron:
    """An expression as the sets of the values that fit; days of the week count from Sunday, 0."""

    seconds: Sequence[int]
    minutes: Sequence[int]
    hours: Sequence[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]

    def next_after(self, moment: datetime) -> datetime:
        """Return the next due moment; raise `ScheduleError` for a date that never comes, such as 30 February."""
        start = moment.replace(microsecond=0) + timedelta(seconds=1)
        time = self._time_from(start.hour, start.minute, start.second) if self._fits(start) else None
        day = start
        while time is None:
            day = day.replace(hour=0, minute=0, second=0) + timedelta(days=1)
            if day.year > start.year + _FAR_YEARS:
                raise ScheduleError("it names a date that never comes.")
            time = (self.hours[0], self.minutes[0], self.seconds[0]) if self._fits(day) else None
        return day.replace(hour=time[0], minute=time[1], second=time[2])

    def _fits(self, day: datetime) -> bool:
        return day.month in self.months and day.day in self.days and day.isoweekday() % 7 in self.weekdays

    def _time_from(self, hour: int, minute: int, second: int) -> tuple[int, int, int] | None:
        """Return the first time of day that fits from this one on."""
        if hour in self.hours:
            if minute in self.minutes and (found := _first_from(self.seconds, second)) is not None:
                return hour, minute, found
            if (found := _first_from(self.minutes, minute + 1)) is not None:
                return hour, found, self.seconds[0]
        if (found := _first_from(self.hours, hour + 1)) is not None:
            return found, self.minutes[0], self.seconds[0]
        return None

    @property
    def is_frequent(self) -> bool:
        return len(self.seconds) > 1


def _first_from(values: Sequence[int], least: int) -> int | None:
    return next((value for value in values if value >= least), None)


@dataclass(frozen=True)
class _Field:
    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()

    def parse(self, text: str) -> list[int]:
        """Return the field's values, in order; raise `ScheduleError` naming the field."""
        found = sorted({value for item in text.split(",") for value in self._item(item)})
        return sorted({value % 7 for value in found}) if self.names is _DAYS else found

    def _item(self, item: str) -> range:
        parts = _ITEM.fullmatch(item)
        if parts is None:
            raise self._refusal(item)
        step = int(parts["step"] or 1)
        first = self.low if parts["all"] else self._value(parts["first"])
        is_open = parts["all"] or (parts["step"] and not parts["last"])
        last = self.high if is_open else self._value(parts["last"] or parts["first"])
        if step < 1 or last < first:
            raise self._refusal(item)
        return range(first, last + 1, step)

    def _value(self, text: str) -> int:
        prefix = text.lower()[:3]
        if prefix in self.names:
            return self.names.index(prefix) + self.low
        if text.isascii() and text.isdigit() and self.low <= int(text) <= self.high:
            return int(text)
        raise self._refusal(text)

    def _refusal(self, text: str) -> ScheduleError:
        return ScheduleError(f"its field {self.name} has {text!r}; give values from {self.low} to {self.high}.")


_SECOND = _Field("second", 0, 59)
_MINUTE = _Field("minute", 0, 59)
_HOUR = _Field("hour", 0, 23)
_DAY = _Field("day", 1, 31)
_MONTH = _Field("month", 1, 12, _MONTHS)
_WEEKDAY = _Field("day of week", 0, 7, _DAYS)


def parse_schedule(text: str) -> Schedule:
    """Return the schedule; raise `ScheduleError` by what cannot be read."""
    interval = _INTERVAL.fullmatch(text.strip())
    if interval:
        days, hours, minutes, seconds = (int(part or 0) for part in interval.groups())
        return Every(timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds) or timedelta(seconds=1))
    fields = text.split()
    if len(fields) == 5:
        fields = ["0", *fields]
    if len(fields) != 6:
        raise ScheduleError(f"it has {len(fields)} fields; give six, from second to day of week, or hh:mm:ss.")
    second, minute, hour, day, month, weekday = fields
    return Cron(
        _SECOND.parse(second),
        _MINUTE.parse(minute),
        _HOUR.parse(hour),
        frozenset(_DAY.parse(day)),
        frozenset(_MONTH.parse(month)),
        frozenset(_WEEKDAY.parse(weekday)),
    )
