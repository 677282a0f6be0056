"""From starting the process to the first answer of the template's agent."""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.app_folder import TEMPLATE, copied
from benchmarks.figures import Figure, Result
from benchmarks.host_process import hosted
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from benchmarks.turns import take_turn


async def measure(sizes: Sizes) -> Result:
    """The app as it is cloned; the first start compiles what Python had not compiled yet and is not counted."""
    with copied(TEMPLATE) as folder:
        await first_answer_seconds(folder)
        samples = [await first_answer_seconds(folder) for _ in range(sizes.starts)]
    return Result((Figure("p50", median(samples), "s"), Figure("slowest", max(samples), "s")))


async def first_answer_seconds(folder: Path) -> float:
    async with hosted(folder) as host, host.connection() as connection:
        await take_turn(connection, "assistant", "What is the weather in Paris?")
        return time.perf_counter() - host.started_at
