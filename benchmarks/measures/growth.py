"""Threads that grow: what a turn costs late in a conversation, beside one of its thirtieth."""

from __future__ import annotations

from benchmarks.connection import Connection
from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from benchmarks.turns import WrongAnswerError, take_turn
from benchmarks.warm_up import warm_host

AROUND = 30
TURNS = (30, 150, 1000)


async def measure(sizes: Sizes) -> Result:
    """A thread for each of these turns grows until shortly before it; then the threads take turns until behind it.

    So a machine that becomes slower or faster meanwhile does so for all. A turn is the middle of those around it, each
    measured behind another one of its thread, whose document is still being stored when its answer is there.
    """
    async with warm_host(sizes) as host, host.process.connection() as connection:
        grown = [Growing(connection, turn) for turn in TURNS if turn + AROUND <= sizes.grown_turns]
        for thread in grown:
            while thread.turns < thread.turn - AROUND:
                await thread.grow()
        seconds = [[await thread.grow_twice() for thread in grown] for _ in range(AROUND)]
    first, *later = (median(found) for found in zip(*seconds, strict=True))
    figures = [milliseconds(f"turn {TURNS[0]}", first)]
    for thread, found in zip(grown[1:], later, strict=True):
        figures.append(milliseconds(f"turn {thread.turn:,}", found))
        figures.append(Figure(f"turn {thread.turn:,} over {TURNS[0]}", found / first))
    return Result(tuple(figures), host.empty_route_seconds)


class Growing:
    """A thread that is measured around one of its turns."""

    def __init__(self, connection: Connection, turn: int) -> None:
        self.turn = turn
        self.turns = 0
        self._connection = connection

    async def grow_twice(self) -> float:
        """Return the seconds of the second of two turns."""
        await self.grow()
        return await self.grow()

    async def grow(self) -> float:
        """Return the seconds of the thread's next turn; raises WrongAnswerError if it did not find all before it."""
        self.turns += 1
        turn = await take_turn(self._connection, "assistant", f"This is turn {self.turns}.", f"until-{self.turn}")
        if turn.message_count != 2 * self.turns:
            raise WrongAnswerError(f"Turn {self.turns} found {turn.message_count} messages.")
        return turn.seconds
