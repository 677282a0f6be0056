"""One thread that grows: what a turn costs late in a conversation, beside one of its thirtieth."""

from __future__ import annotations

from benchmarks.connection import Connection
from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from benchmarks.turns import WrongAnswerError, take_turn
from benchmarks.warm_up import warm_host

AROUND = 15
TURNS = (30, 150, 1000)
SHORT = TURNS[1] + AROUND


async def measure(sizes: Sizes) -> Result:
    """Several threads until behind turn 150, so that thirty turns are not all there is, and one to its last.

    A turn is the middle of the thirty around it.
    """
    async with warm_host(sizes) as host, host.process.connection() as connection:
        threads = [await grow(connection, f"short-{number}", SHORT) for number in range(sizes.grown_threads - 1)]
        threads.append(await grow(connection, "long", sizes.grown_turns))
    medians = {turn: median(found) for turn in TURNS if (found := around(threads, turn))}
    first = medians.pop(TURNS[0])
    figures = [milliseconds(f"turn {TURNS[0]}", first)]
    for turn, seconds in medians.items():
        figures.append(milliseconds(f"turn {turn:,}", seconds))
        figures.append(Figure(f"turn {turn:,} over {TURNS[0]}", seconds / first))
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


def around(threads: list[list[float]], turn: int) -> list[float]:
    """Return the seconds of the turns around that one."""
    return [seconds for thread in threads for seconds in thread[turn - AROUND : turn + AROUND]]
