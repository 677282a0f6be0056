"""The host's resident memory before and after many turns: what finished work leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from benchmarks.connection import Connection
from benchmarks.figures import Figure, Result
from benchmarks.resident import resident_megabytes
from benchmarks.sizes import Sizes
from benchmarks.turns import take_turn
from benchmarks.warm_up import warm_host


async def measure(sizes: Sizes) -> Result:
    """Turns on fresh threads by all clients, in two halves: a cache that fills shows in the first, a leak in both."""
    async with warm_host(sizes) as host, host.process.connections(sizes.clients) as connections:
        pid, half = host.process.pid, sizes.memory_turns // 2
        before = resident_megabytes(pid)
        await take_turns(connections, half)
        midway = resident_megabytes(pid)
        await take_turns(connections, half)
        after = resident_megabytes(pid)
    figures = (
        Figure("before", before, "MB"),
        Figure(f"after {half:,} turns", midway, "MB"),
        Figure(f"after {2 * half:,} turns", after, "MB"),
    )
    return Result(figures, host.empty_route_seconds)


async def take_turns(connections: Sequence[Connection], count: int) -> None:
    """Take at least that many turns, spread evenly."""
    await asyncio.gather(*(take_several(connection, -(-count // len(connections))) for connection in connections))


async def take_several(connection: Connection, count: int) -> None:
    for _ in range(count):
        await take_turn(connection, "assistant", "Hello, how are you?")
