"""The local host's durable engine: orchestrations, signals, and thousands of instances that wait."""

from __future__ import annotations

from benchmarks.figures import Result
from benchmarks.measures import throughput, waiting
from benchmarks.sizes import Sizes


async def measure(sizes: Sizes) -> Result:
    """Two hosts of the engine's own app: one works, the other waits, is stopped and started again."""
    return Result((*await throughput.measure(sizes), *await waiting.measure(sizes)))
