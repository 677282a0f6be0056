"""docs/reference/waits.md: what it says of others is what their packages have, and what it says of us is what we do."""

from __future__ import annotations

import re

import pytest

from hosting.core.following import QUIET_SECONDS
from hosting.core.runs import PROTOCOL_WAIT_SECONDS
from hosting.http.pings import PING_SECONDS
from hosting.http.wire_runs import CANCEL_SECONDS
from hosting.settings import read_settings
from tests.support.pages import page, part

PAGE = page("docs/reference/waits.md")
ROWS = [
    [cell.strip() for cell in row.split("|")[1:4]]
    for row in part(PAGE, "## Time limits of clients and gateways").splitlines()
    if row.startswith("| ")
][1:]
MARGIN_SECONDS = 10.0
"""What is between us and a client may take so long."""

pytestmark = pytest.mark.behaviour("hosting.waits-that-fit")


def of(name: str) -> float | None:
    """Return after how long the page says that a client gives up; None for never."""
    (row,) = [row for row in ROWS if name in row[0]]
    seconds = re.match(r"(\d+) s", row[1])
    assert seconds or row[1] == "never", row
    return float(seconds[1]) if seconds else None


def test_no_request_of_ours_waits_for_as_long_as_who_waits_for_a_minute() -> None:
    """Whoever gives up after that has the ids before, with some time for the way."""
    ours = read_settings({}).wait_seconds
    minute = {row[0] for row in ROWS if row[1].startswith("60 s")}

    assert len(minute) == 4
    assert max(ours, PROTOCOL_WAIT_SECONDS) + MARGIN_SECONDS <= 60.0
    assert f"waits for longer than {ours:g} s" in PAGE
    assert f"never longer than {PROTOCOL_WAIT_SECONDS:g} s" in PAGE


def test_no_stream_is_silent_for_as_long_as_anybody_who_minds_silence() -> None:
    """A second is left for the way."""
    least = min(float(row[1].split()[0]) for row in ROWS if "silence" in row[1])

    assert least - 1.0 > PING_SECONDS
    assert f"silent for longer than {least - 1:g} s" in PAGE


def test_the_page_says_how_long_a_cancel_and_a_poll_wait() -> None:
    """A cancel for less than the shortest time in which a client gives up."""
    assert CANCEL_SECONDS < 5.0
    assert f"the end of the run | {CANCEL_SECONDS:g} s |" in PAGE
    assert f"about {QUIET_SECONDS:g} s |" in PAGE
