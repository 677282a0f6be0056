"""The search in many threads: the first one of an app, the next one, one after some turns, and one for a phrase."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from urllib.parse import quote

from benchmarks.connection import Connection
from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from benchmarks.turns import WrongAnswerError, take_turn
from benchmarks.warm_up import warm_host

AGENT = "assistant"
SEARCHES = 9
LATER_TURNS = 10
LONGEST_SECONDS = 300.0
NEEDLE = "heliotrope"
PHRASE = '"violet heliotrope"'


async def measure(sizes: Sizes) -> Result:
    """Over HTTP, in threads of one turn each by all clients. One of the oldest has the word that is searched for.

    The oldest of all are those of the warm-up: an agent's newest 10,000 threads are searched.

    A search that is not whole is sent again: the first ones make the index. Raises WrongAnswerError for an answer that
    has other threads than those with the word, and where none is whole after minutes.
    """
    async with warm_host(sizes) as host, host.process.connections(sizes.clients) as connections:
        began, early = time.perf_counter(), sizes.searched_threads // 20
        await say_all(connections, early)
        await take_turn(connections[0], AGENT, f"A violet {NEEDLE}", "needle")
        await say_all(connections, sizes.searched_threads - early - 1)
        said = time.perf_counter() - began
        first_answer, first = await until_whole(connections[0], NEEDLE, ["needle"])
        again = [(await until_whole(connections[0], NEEDLE, ["needle"]))[1] for _ in range(SEARCHES)]
        phrase = [(await until_whole(connections[0], PHRASE, ["needle"]))[1] for _ in range(SEARCHES)]
        for number in range(LATER_TURNS):
            await take_turn(connections[0], AGENT, f"A {NEEDLE}too", f"later-{number}")
        later = sorted(f"later-{number}" for number in range(LATER_TURNS))
        _, after = await until_whole(connections[0], f"{NEEDLE}too", later)
    figures = (
        Figure("threads", sizes.searched_threads, ""),
        Figure("a turn of theirs, by all clients", said / sizes.searched_threads * 1000, "ms"),
        milliseconds("first search: its answer", first_answer),
        Figure("first search: until it is whole", first, "s"),
        milliseconds("next search, p50", median(again)),
        milliseconds("search for a phrase, p50", median(phrase)),
        milliseconds(f"search after {LATER_TURNS} turns: until it has them", after),
    )
    return Result(figures, host.empty_route_seconds)


async def say_all(connections: Sequence[Connection], count: int) -> None:
    """Take a turn on so many threads, spread over the connections."""
    numbers = iter(range(count))

    async def say(connection: Connection) -> None:
        for number in numbers:
            await take_turn(connection, AGENT, f"Hello, this is order {number} of about {number % 97} roses.")

    await asyncio.gather(*map(say, connections))


async def until_whole(connection: Connection, text: str, expected: Sequence[str]) -> tuple[float, float]:
    """Return after how many seconds the first answer came, and the one that has all threads with the text.

    Raises WrongAnswerError for an answer with others.
    """
    began, first = time.perf_counter(), 0.0
    while True:
        answer = await connection.request("GET", f"/api/threads?limit=50&search={quote(text)}")
        took = time.perf_counter() - began
        first = first or took
        if answer.status != 200:
            raise WrongAnswerError(f"A search was answered {answer.status}: {answer.body[:300]!r}")
        fields = json.loads(answer.body)
        threads = sorted(thread["thread_id"] for thread in fields["threads"])
        if threads == list(expected) and not fields["behind"]:
            return first, took
        if not set(threads) <= set(expected) or took > LONGEST_SECONDS:
            raise WrongAnswerError(f"A search for {text!r} found {threads[:5]} after {took:.0f} s.")
