"""Workflows: what a superstep costs early and late in a run, with a large state, and in many runs at once."""

from __future__ import annotations

import asyncio
import json
import time

from benchmarks.connection import Connection
from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from benchmarks.turns import parse_turn
from benchmarks.warm_up import warm_host

FEW = 100
LARGE_BYTES = 10_000_000
LARGE_SUPERSTEPS = 10


async def measure(sizes: Sizes) -> Result:
    """Each superstep ends with a checkpoint in the log. Short and long runs are taken in turn, on fresh threads."""
    async with warm_host(sizes) as host, host.process.connections(sizes.workflows) as connections:
        first = connections[0]
        await run(first, FEW)
        pairs = [(await run(first, FEW), await run(first, sizes.supersteps)) for _ in range(sizes.workflow_rounds)]
        large = await run(first, LARGE_SUPERSTEPS, LARGE_BYTES)
        began = time.perf_counter()
        await asyncio.gather(*(run(connection, LARGE_SUPERSTEPS) for connection in connections))
        elapsed = time.perf_counter() - began
    short, long = (median(seconds) for seconds in zip(*pairs, strict=True))
    figures = (
        milliseconds("a superstep", short),
        Figure(f"{sizes.supersteps:,} over {FEW}", long / short),
        milliseconds("one of 10 MB", large),
        Figure(f"{sizes.workflows} at once", elapsed, "s"),
    )
    return Result(figures, host.empty_route_seconds)


async def run(connection: Connection, supersteps: int, kept_bytes: int = 0) -> float:
    """Return the seconds of one superstep of a run; raises WrongAnswerError unless it was answered 200."""
    body = json.dumps({"input": [supersteps, kept_bytes]}).encode()
    began = time.perf_counter()
    answer = await connection.request("POST", "/api/workflows/counting/run", body)
    return parse_turn(answer, time.perf_counter() - began).seconds / supersteps
