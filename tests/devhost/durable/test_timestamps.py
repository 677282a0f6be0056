"""The protocol's times, in every form that was seen."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from devhost.durable.texts import format_seconds, format_utc, parse_utc

NINE = datetime(2026, 11, 21, 9, 48, 20, 833835, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-21T09:48:20.8338351Z", NINE),
        ("2026-11-21T09:48:20.833835+00:00", NINE),
        ("2026-11-21T10:48:20.833835+0100", NINE),
        ("2026-11-21t09:48:20.833835", NINE),
        ("2026-11-21T09:48:20.5Z", NINE.replace(microsecond=500000)),
        ("2026-11-21", datetime(2026, 11, 21, tzinfo=UTC)),
    ],
)
def test_every_form_names_its_moment(text: str, moment: datetime) -> None:
    """Seven decimals are cut to six; no zone is UTC."""
    assert parse_utc(text) == moment


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-13-01", "2026-11-21T09:48:20.5Zx", "0001-01-01T00:00:00+01:00"]
)
def test_what_is_no_date_is_refused(text: str) -> None:
    """ValueError, whatever is wrong with it."""
    with pytest.raises(ValueError):
        parse_utc(text)


def test_trailing_zeros_are_cut() -> None:
    """As the real host writes them; status answers show whole seconds."""
    assert format_utc(NINE.replace(microsecond=670160)) == "2026-11-21T09:48:20.67016Z"
    assert format_utc(NINE.replace(microsecond=0)) == "2026-11-21T09:48:20Z"
    assert format_seconds(NINE) == "2026-11-21T09:48:20Z"
