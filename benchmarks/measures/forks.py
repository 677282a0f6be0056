"""Forks of threads of 100 to 100,000 messages, at their end and long before it: what one costs whatever was said."""

from __future__ import annotations

import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.long_thread import long_thread
from benchmarks.samples import median
from benchmarks.sizes import Sizes

POINTS = {"at the end": 1, "at a quarter": 4}
"""A fork has one of so many of its origin's turns."""


async def measure(sizes: Sizes) -> Result:
    """In this process, over SQLite files; the threads take turns, so that a busy moment meets all of them.

    Raises the `HostingError` of a fork that is refused.
    """
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        threads = {
            messages: await stack.enter_async_context(long_thread(folder / str(messages), messages))
            for messages in sizes.forked_messages
        }
        taken: dict[tuple[int, str], list[float]] = {(one, point): [] for one in threads for point in POINTS}
        for number in range(sizes.forks + 1):
            for (messages, point), seconds in taken.items():
                took = await threads[messages].fork(2 * (messages // 2 // POINTS[point]))
                if number:  # the first one opens files
                    seconds.append(took)
    middle = {case: median(seconds) for case, seconds in taken.items()}
    figures = [milliseconds(f"{messages:,}: {point}, p50", seconds) for (messages, point), seconds in middle.items()]
    before, longest = sorted(threads)[-2:]
    over = f"{longest:,} over {before:,}"
    ratios = [Figure(f"{point}, {over}", middle[longest, point] / middle[before, point]) for point in POINTS]
    return Result((*figures, *ratios))
