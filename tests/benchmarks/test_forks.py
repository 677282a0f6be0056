"""The measure of forks: it gives every figure, and none of a fork that was not made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.long_thread import long_thread
from benchmarks.measures import forks
from benchmarks.sizes import QUICK
from hosting.errors import InvalidFieldError


async def test_the_quick_measure_gives_every_figure() -> None:
    """Each length at its end and at a quarter, and the longest over the one before."""
    result = await forks.measure(replace(QUICK, forked_messages=(10, 400, 1200), forks=1))

    names = [figure.name for figure in result.figures]
    each = [f"{messages}: {point}, p50" for messages in ("10", "400", "1,200") for point in forks.POINTS]
    assert names == [*each, "at the end, 1,200 over 400", "at a quarter, 1,200 over 400"]
    assert all(figure.value > 0 for figure in result.figures)


@pytest.mark.behaviour("benchmarks.nothing-from-a-wrong-answer")
async def test_a_fork_that_is_refused_gives_no_figure(tmp_path: Path) -> None:
    """A refusal is not fast."""
    async with long_thread(tmp_path, 10) as thread:
        assert await thread.fork(10) > 0
        with pytest.raises(InvalidFieldError, match="has 10 entries"):
            await thread.fork(12)
