"""Many clients at once, each on threads of its own: how many turns the host takes in a second."""

from __future__ import annotations

import asyncio
import itertools
import time

from benchmarks.connection import Connection
from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.samples import median, percentile
from benchmarks.sizes import Sizes
from benchmarks.turns import take_turn
from benchmarks.warm_up import warm_host

TURNS_ON_A_THREAD = 10


async def measure(sizes: Sizes) -> Result:
    """Each client sends its next turn when it has the answer to its last; a new thread after every tenth turn."""
    async with warm_host(sizes) as host, host.process.connections(sizes.clients) as connections:
        began = time.perf_counter()
        end = began + sizes.clients_seconds
        clients = [converse(connection, f"client-{n}", end) for n, connection in enumerate(connections)]
        turns = list(itertools.chain.from_iterable(await asyncio.gather(*clients)))
        elapsed = time.perf_counter() - began
    figures = (
        Figure("throughput", len(turns) / elapsed, "turns/s"),
        milliseconds("p50", median(turns)),
        milliseconds("p95", percentile(turns, 95)),
    )
    return Result(figures, host.empty_route_seconds)


async def converse(connection: Connection, name: str, end: float) -> list[float]:
    """Return the seconds of each turn begun before `end` (of `time.perf_counter`)."""
    seconds: list[float] = []
    while time.perf_counter() < end:
        thread_id = f"{name}-{len(seconds) // TURNS_ON_A_THREAD}"
        seconds.append((await take_turn(connection, "assistant", "Hello, how are you?", thread_id)).seconds)
    return seconds
