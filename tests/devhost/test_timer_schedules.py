"""When a timer is due."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from devhost.timer_schedules import ScheduleError, parse_schedule

# A Thursday.
NOW = datetime(2026, 1, 1, 10, 20, 30, 500_000, tzinfo=UTC)


@pytest.mark.behaviour("devhost.timer-schedules")
@pytest.mark.parametrize(
    ("schedule", "due"),
    [
        ("* * * * * *", "2026-01-01T10:20:31"),
        ("*/15 * * * * *", "2026-01-01T10:20:45"),
        ("0 */5 * * * *", "2026-01-01T10:25:00"),
        ("*/5 * * * *", "2026-01-01T10:25:00"),
        ("0 0 * * * *", "2026-01-01T11:00:00"),
        ("0 30 9 * * *", "2026-01-02T09:30:00"),
        ("0 30 9 * * 1-5", "2026-01-02T09:30:00"),
        ("0 30 9 * * Mon", "2026-01-05T09:30:00"),
        ("0 0 0 * * 7", "2026-01-04T00:00:00"),
        ("0 0 0 * * 5-7", "2026-01-02T00:00:00"),
        ("0 0 0 1 Jan *", "2027-01-01T00:00:00"),
        ("0 0 12 29 2 *", "2028-02-29T12:00:00"),
        ("0 0 0 13 * Fri", "2026-02-13T00:00:00"),
        ("0 5,10,25-27 10 * * *", "2026-01-01T10:25:00"),
        ("59 59 23 31 dec *", "2026-12-31T23:59:59"),
        ("0 10/20 * * * *", "2026-01-01T10:30:00"),
        ("00:00:05", "2026-01-01T10:20:35.500000"),
        ("1.00:00:00", "2026-01-02T10:20:30.500000"),
    ],
)
def test_a_schedule_names_its_next_moment(schedule: str, due: str) -> None:
    """Expressions with and without seconds, names, lists, ranges, steps, and plain intervals."""
    assert parse_schedule(schedule).next_after(NOW) == datetime.fromisoformat(due).replace(tzinfo=UTC)


@pytest.mark.behaviour("devhost.timer-schedules")
@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        ("", "0 fields"),
        ("* * *", "3 fields"),
        ("60 * * * * *", "field second has '60'; give values from 0 to 59"),
        ("* * * 0 * *", "field day has '0'; give values from 1 to 31"),
        ("* * * * Foo *", "field month has 'Foo'"),
        ("٣ * * * * *", "field second has '٣'"),
        ("*/0 * * * * *", "field second has '*/0'"),
        ("9-5 * * * * *", "field second has '9-5'"),
    ],
)
def test_what_is_no_schedule_is_refused_by_its_part(schedule: str, reason: str) -> None:
    with pytest.raises(ScheduleError, match=reason.replace("*", r"\*")):
        parse_schedule(schedule)


@pytest.mark.behaviour("devhost.timer-schedules")
def test_a_date_that_never_comes_is_refused() -> None:
    with pytest.raises(ScheduleError, match="never comes"):
        parse_schedule("0 0 0 30 2 *").next_after(NOW)
