"""The clock that a file sets ahead."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from devhost.moved_clock import MovedClock

GUARD_SECONDS = 5.0
HOUR = 3600.0


def move(file: Path, ahead: float) -> None:
    """Set the time ahead by so many seconds in all, as another process does."""
    with file.open("a", encoding="utf-8") as lines:
        lines.write(f"{ahead}\n")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file, which is not there yet."""
    return tmp_path / "clock.jsonl"


def test_it_shows_the_time_of_the_machine_and_what_the_last_whole_line_adds(file: Path) -> None:
    clock = MovedClock(file)
    seen = [clock.now() - datetime.now(UTC)]
    move(file, HOUR)
    move(file, 2 * HOUR)
    file.write_text(f"{file.read_text(encoding='utf-8')}9", encoding="utf-8")
    seen.append(clock.now() - datetime.now(UTC))

    assert [round(ahead / timedelta(hours=1), 3) for ahead in seen] == [0, 2]


async def test_a_call_comes_once_the_time_was_moved_to_it(file: Path) -> None:
    """One that is due later, or that nobody waits for, does not."""
    clock, called, over = MovedClock(file), list[str](), asyncio.Event()
    clock.call_later(HOUR, over.set)
    clock.call_later(3 * HOUR, lambda: called.append("late"))
    clock.call_later(HOUR / 2, lambda: called.append("cancelled")).cancel()
    move(file, 2 * HOUR)
    await asyncio.wait_for(over.wait(), GUARD_SECONDS)

    assert called == []
