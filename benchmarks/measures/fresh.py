"""Turns on fresh threads, one after another on one connection: what one user waits for."""

from __future__ import annotations

from benchmarks.connection import Connection
from benchmarks.figures import Result, milliseconds
from benchmarks.samples import median, percentile
from benchmarks.sizes import Sizes
from benchmarks.turns import take_turn
from benchmarks.warm_up import warm_host

PLAIN = "Hello, how are you?"
WITH_TOOL = "What is the weather in Paris?"


async def measure(sizes: Sizes) -> Result:
    """A plain question, and one that makes the agent call its tool: two model calls."""
    async with warm_host(sizes) as host, host.process.connection() as connection:
        plain = await fresh_turns(connection, PLAIN, sizes.fresh_turns)
        with_tool = await fresh_turns(connection, WITH_TOOL, sizes.tool_turns)
    figures = (
        milliseconds("p50", median(plain)),
        milliseconds("p95", percentile(plain, 95)),
        milliseconds("p99", percentile(plain, 99)),
        milliseconds("p50 with a tool call", median(with_tool)),
    )
    return Result(figures, host.empty_route_seconds)


async def fresh_turns(connection: Connection, message: str, count: int) -> list[float]:
    return [(await take_turn(connection, "assistant", message)).seconds for _ in range(count)]
