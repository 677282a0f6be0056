"""The measure of long threads: what it makes is a long thread, and it gives every figure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.long_thread import long_thread
from benchmarks.measures import threads
from benchmarks.sizes import QUICK
from benchmarks.turns import WrongAnswerError
from state.codec import read
from state.extension import host_of


async def test_the_measured_thread_is_as_long_as_it_is_said_to_be_and_its_document_full(tmp_path: Path) -> None:
    """Most of it is archived, and a turn finds all of it."""
    async with long_thread(tmp_path, 1000) as thread:
        before = thread.state
        await thread.turn()

        assert thread.messages == 1002
        assert host_of(read(before)).archived.entries > 700
        assert 140_000 < len(before) < 210_000
        assert await thread.page(after=400) > 0


@pytest.mark.behaviour("benchmarks.nothing-from-a-wrong-answer")
async def test_a_thread_that_lost_messages_gives_no_figure(tmp_path: Path) -> None:
    """What forgets is not fast."""
    async with long_thread(tmp_path, 10) as thread:
        with pytest.raises(WrongAnswerError, match="counts 10"):
            threads.require_all(thread, 12)


@pytest.mark.slow
async def test_the_quick_measure_gives_every_figure() -> None:
    """The ratios are of the longest thread to one whose document was full for the first time."""
    sizes = replace(QUICK, thread_messages=(10, 1000, 1200), thread_turns=3, thread_pages=1)

    result = await threads.measure(sizes)

    names = [figure.name for figure in result.figures]
    assert names[-4:] == [
        "turn, 1,200 over 1,000",
        "bytes, 1,200 over 1,000",
        "memory of a turn, 1,200 over 1,000",
        "slowest page over fastest",
    ]
