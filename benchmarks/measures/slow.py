"""Many runs at once of a model that takes its time: none may wait for another."""

from __future__ import annotations

import asyncio
import time

from benchmarks.figures import Figure, Result
from benchmarks.sizes import Sizes
from benchmarks.turns import take_turn
from benchmarks.warm_up import warm_host


async def measure(sizes: Sizes) -> Result:
    """The wall time from the first request to the last answer, each run on a fresh thread."""
    async with warm_host(sizes) as host, host.process.connections(sizes.slow_runs) as connections:
        began = time.perf_counter()
        waits = (take_turn(connection, "timed", f"wait {sizes.slow_seconds}") for connection in connections)
        await asyncio.gather(*waits)
        elapsed = time.perf_counter() - began
    return Result((Figure("wall time", elapsed, "s"),), host.empty_route_seconds)
