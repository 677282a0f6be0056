"""One thread that grows: what a turn costs after a hundred and after a thousand others."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.connection import Connection
from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from benchmarks.turns import WrongAnswerError, take_turn
from benchmarks.warm_up import warm_host

SPANS: Mapping[str, slice] = {"1-30": slice(0, 30), "70-100": slice(69, 100), "970-1,000": slice(969, 1000)}
HUNDRED = 100


async def measure(sizes: Sizes) -> Result:
    """Several threads to their hundredth turn, so that thirty turns are not all there is, and one to its last."""
    async with warm_host(sizes) as host, host.process.connection() as connection:
        threads = [await grow(connection, f"short-{number}", HUNDRED) for number in range(sizes.grown_threads - 1)]
        threads.append(await grow(connection, "long", sizes.grown_turns))
    medians = {name: median(found) for name, span in SPANS.items() if (found := spanned(threads, span))}
    first = medians.pop("1-30")
    figures = [milliseconds("p50 of turns 1-30", first)]
    for name, seconds in medians.items():
        figures.append(milliseconds(f"p50 of turns {name}", seconds))
        figures.append(Figure(f"turns {name} over 1-30", seconds / first))
    return Result(tuple(figures), host.empty_route_seconds)


async def grow(connection: Connection, thread_id: str, turns: int) -> list[float]:
    """Return the seconds of each turn of a thread; raises WrongAnswerError if a turn did not find all before it."""
    seconds = []
    for number in range(1, turns + 1):
        turn = await take_turn(connection, "assistant", f"This is turn {number}.", thread_id)
        if turn.message_count != 2 * number:
            raise WrongAnswerError(f"Turn {number} of {thread_id} found {turn.message_count} messages.")
        seconds.append(turn.seconds)
    return seconds


def spanned(threads: list[list[float]], span: slice) -> list[float]:
    return [seconds for thread in threads for seconds in thread[span]]
