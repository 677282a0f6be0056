"""What recording steps costs: the same turns by an agent whose model answers and tool calls are recorded, and by one
whose are not."""

from __future__ import annotations

from benchmarks.connection import Connection
from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from benchmarks.turns import WrongAnswerError, take_turn
from benchmarks.warm_up import warm_host

TOOL_CALLS = 10
STEPS = 2 * TOOL_CALLS  # each with the model's answer that asks for it


async def measure(sizes: Sizes) -> Result:
    """Turns of ten tool calls, one after another, and turns without any."""
    async with warm_host(sizes) as host, host.process.connection() as connection:
        recorded, unrecorded = await paired_medians(connection, TOOL_CALLS, sizes.step_turns)
        plain_recorded, plain_unrecorded = await paired_medians(connection, 0, sizes.step_turns)
    figures = (
        milliseconds("10 tools, p50", recorded),
        milliseconds("10 tools unrecorded, p50", unrecorded),
        milliseconds("a step", (recorded - unrecorded) / STEPS),
        Figure("no tools, over unrecorded", plain_recorded / plain_unrecorded),
    )
    return Result(figures, host.empty_route_seconds)


async def paired_medians(connection: Connection, calls: int, turns: int) -> tuple[float, float]:
    """Return the p50 of both agents, in seconds; they take turns, so that a busy moment meets both."""
    samples = [
        (await seconds_of(connection, "recorded", calls), await seconds_of(connection, "unrecorded", calls))
        for _ in range(turns)
    ]
    recorded, unrecorded = zip(*samples, strict=True)
    return median(recorded), median(unrecorded)


async def seconds_of(connection: Connection, agent: str, calls: int) -> float:
    """Return what a turn on a fresh thread took; raises WrongAnswerError unless it called its tool so often."""
    turn = await take_turn(connection, agent, f"step {calls}")
    if turn.text != f"Took {calls}.":
        raise WrongAnswerError(f"A turn of {calls} tool calls was answered {turn.text!r}.")
    return turn.seconds
