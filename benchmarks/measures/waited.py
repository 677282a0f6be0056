"""Many clients that wait for an agent of a known time: what the app adds to it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence

from benchmarks.connection import Connection
from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.samples import median, percentile
from benchmarks.sizes import Sizes
from benchmarks.turns import take_turn
from benchmarks.warm_up import warm_host

LONG_SECONDS = 1.0
SHORT_SECONDS = 0.05


async def measure(sizes: Sizes) -> Result:
    """The same clients ask an agent that takes a second, which leaves the host time, and one that leaves it none."""
    async with warm_host(sizes) as host, host.process.connections(sizes.clients) as connections:
        long = await added_seconds(connections, LONG_SECONDS, sizes.long_waits)
        short = await added_seconds(connections, SHORT_SECONDS, sizes.short_waits)
    return Result((*figures("1 s", long), *figures("50 ms", short)), host.empty_route_seconds)


def figures(model: str, added: Sequence[float]) -> tuple[Figure, ...]:
    return (
        milliseconds(f"added to {model}, p50", median(added)),
        milliseconds(f"added to {model}, p99", percentile(added, 99)),
    )


async def added_seconds(connections: Sequence[Connection], model_seconds: float, runs: int) -> list[float]:
    """Return for each run by how much it took longer than its model; the clients begin evenly within its time."""
    apart = model_seconds / len(connections)
    clients = [wait_for_runs(each, model_seconds, runs, n * apart) for n, each in enumerate(connections)]
    return list(itertools.chain.from_iterable(await asyncio.gather(*clients)))


async def wait_for_runs(connection: Connection, model_seconds: float, runs: int, begin_after: float) -> list[float]:
    """Send a run, on a fresh thread, when the one before is answered."""
    await asyncio.sleep(begin_after)
    turns = [await take_turn(connection, "timed", f"wait {model_seconds}") for _ in range(runs)]
    return [turn.seconds - model_seconds for turn in turns]
