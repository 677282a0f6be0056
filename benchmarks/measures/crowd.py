"""Many requests at once on one thread, and what the conversation holds afterwards."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence

from benchmarks.connection import Connection
from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from benchmarks.turns import take_turn
from benchmarks.warm_up import warm_host

CROWD = 16


async def measure(sizes: Sizes) -> Result:
    """Sixteen messages, each its own text; then the agent is asked what it was told. The worst round is reported."""
    async with warm_host(sizes) as host, host.process.connections(CROWD) as connections:
        rounds = [await one_round(connections, f"crowd-{number}") for number in range(sizes.crowd_rounds)]
    figures = (
        Figure(f"kept of {CROWD}", min(kept for kept, _, _ in rounds)),
        Figure("more than once", max(doubled for _, doubled, _ in rounds)),
        milliseconds("all answered, p50", median([seconds for _, _, seconds in rounds])),
    )
    return Result(figures, host.empty_route_seconds)


async def one_round(connections: Sequence[Connection], thread_id: str) -> tuple[int, int, float]:
    """Return how many messages were kept, how many of them more than once, and the seconds until all were answered."""
    sent = [f"Message {number}" for number in range(len(connections))]
    turns = await asyncio.gather(
        *(take_turn(connection, "timed", text, thread_id) for connection, text in zip(connections, sent, strict=True))
    )
    requested = await take_turn(connections[0], "timed", "recall", thread_id)
    kept = Counter(json.loads(requested.text))
    return (
        sum(1 for text in sent if kept[text]),
        sum(1 for text in sent if kept[text] > 1),
        max(turn.seconds for turn in turns),
    )
