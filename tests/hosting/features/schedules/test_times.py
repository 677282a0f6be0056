"""When a schedule is to begin a run."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest

from hosting.errors import InvalidFieldError
from hosting.features.schedules.times import Times, read_times

BERLIN = "Europe/Berlin"


def at(text: str) -> float:
    """Return the seconds since 1970 of a time in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def ticks(times: Times, after: str, until: str) -> list[str]:
    """Return the ticks between two times in UTC, as such times."""
    found: list[str] = []
    moment = times.after(at(after))
    while moment is not None and moment <= at(until):
        found.append(f"{datetime.fromtimestamp(moment, UTC):%m-%d %H:%M}")
        moment = times.after(moment)
    return found


@pytest.mark.behaviour("schedules.times")
@pytest.mark.parametrize(
    ("cron", "time_zone", "after", "until", "expected"),
    [
        ("0 9 * * 1-5", "UTC", "2026-11-26", "2026-12-01", ["11-26 09:00", "11-27 09:00", "11-30 09:00"]),
        ("0 9 * * *", BERLIN, "2026-10-24", "2026-10-26", ["10-24 07:00", "10-25 08:00"]),
        ("30 2 * * *", BERLIN, "2026-03-28", "2026-03-30T12:00", ["03-28 01:30", "03-29 01:00", "03-30 00:30"]),
        ("30 2 * * *", BERLIN, "2026-10-24", "2026-10-26", ["10-24 00:30", "10-25 00:30"]),
        ("0 * * * *", BERLIN, "2026-10-24T23:30", "2026-10-25T02:30", ["10-25 00:00", "10-25 01:00", "10-25 02:00"]),
        ("0 * * * *", BERLIN, "2026-03-28T23:30", "2026-03-29T02:30", ["03-29 00:00", "03-29 01:00", "03-29 02:00"]),
        ("0 0 29 2 *", "UTC", "2026-01-01", "2030-01-01", ["02-29 00:00"]),
    ],
    ids=["weekdays", "nine is nine", "left out", "twice", "hourly, twice", "hourly, left out", "leap years"],
)
def test_the_ticks_of_a_cron_expression(cron: str, time_zone: str, after: str, until: str, expected: list[str]) -> None:
    """In the time zone: a fixed time comes once a day also when the clocks are set, an hourly one each hour."""
    assert ticks(read_times(cron, time_zone, None), after, until) == expected


@pytest.mark.parametrize("cron", ["30 2 * * *", "*/7 * * * *", "0,30 1,2,3 * * *", "59 23 * * *", "15 */2 * * *"])
@pytest.mark.parametrize("time_zone", [BERLIN, "America/St_Johns", "UTC"])
@pytest.mark.parametrize("day", ["2026-03-28", "2026-10-24", "2026-03-07", "2026-10-31"])
def test_the_newest_tick_is_the_one_that_comes_when_each_is_followed(cron: str, time_zone: str, day: str) -> None:
    """From wherever one looks back, on days when clocks are set; and a look ahead never finds an older one."""
    times, begin = Times(cron, time_zone), at(day)
    moments = [begin + minutes * 60 for minutes in range(0, 3 * 24 * 60, 37)]
    followed: list[float] = []
    tick = times.after(begin)
    while tick is not None and tick <= moments[-1]:
        followed.append(tick)
        tick = times.after(tick)

    assert all(one < other for one, other in pairwise(followed))
    for moment in moments:
        assert times.newest(begin, moment) == max((one for one in followed if one <= moment), default=None)
        ahead = times.after(moment)
        assert ahead is not None
        assert ahead == min((one for one in followed if one > moment), default=ahead)


@pytest.mark.parametrize(
    ("text", "time_zone", "expected"),
    [
        ("2026-12-24T18:00:00Z", BERLIN, "2026-12-24T18:00"),
        ("2026-12-24t18:00:00.250z", "UTC", "2026-12-24T18:00"),
        ("2026-12-24T18:00:00+01:00", "UTC", "2026-12-24T17:00"),
        ("2026-12-24 18:00", BERLIN, "2026-12-24T17:00"),
        ("2026-03-29T02:30", BERLIN, "2026-03-29T01:30"),
        ("2026-10-25T02:30", BERLIN, "2026-10-25T00:30"),
    ],
)
def test_a_time_with_an_offset_or_of_the_time_zone(text: str, time_zone: str, expected: str) -> None:
    assert read_times(None, time_zone, text) == Times(None, time_zone, at(expected))


@pytest.mark.parametrize(
    ("cron", "time_zone", "time", "said"),
    [
        (None, "UTC", None, "'cron' or 'at'"),
        ("* * * * *", "UTC", "2026-12-24T18:00:00Z", "'cron' or 'at'"),
        ("* * * *", "UTC", None, "five fields"),
        ("* * * * * *", "UTC", None, "five fields"),
        ("61 * * * *", "UTC", None, "Bad minute"),
        ("@daily", "UTC", None, "five fields"),
        ("L/2 * * * *", "UTC", None, "five fields"),
        ("0 0 L/2 * L/2", "UTC", None, "five fields"),
        ("٠ * * * *", "UTC", None, "five fields"),
        ("0 0 30 2 *", "UTC", None, "'0 0 30 2 *'"),
        ("* * */20 * 1L", "UTC", None, "which never comes"),
        ("1," * 60 + "1 * * * *", "UTC", None, "the limit is 100"),
        ("* * * * *", "Berlin", None, "'Berlin'"),
        ("* * * * *", "../../etc/passwd", None, "tz database"),
        ("* * * * *", "Europe", None, "tz database"),
        (None, "UTC", "tomorrow", "'tomorrow'"),
        (None, "UTC", "2026-13-01T00:00:00Z", "'2026-13-01T00:00:00Z'"),
    ],
)
def test_what_is_no_time_is_refused_with_what_to_send(
    cron: str | None, time_zone: str, time: str | None, said: str
) -> None:
    with pytest.raises(InvalidFieldError) as refused:
        read_times(cron, time_zone, time)

    assert said in refused.value.detail
