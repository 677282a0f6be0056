"""Streams of a model whose words tell when they were said: how long until they are read, and whether that grows.

A word goes out when it comes and is logged with others, so what it takes is the way from the model to the reader.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator, Sequence

from benchmarks.connection import Answer, Connection
from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.samples import median, percentile
from benchmarks.sizes import Sizes
from benchmarks.turns import WrongAnswerError
from benchmarks.warm_up import warm_host

WORDS_PER_SECOND = 50


async def measure(sizes: Sizes) -> Result:
    """One stream after the other, for the first word; then many at once."""
    async with warm_host(sizes) as host, host.process.connections(sizes.streams) as connections:
        alone = [await word_delays(connections[0], 1) for _ in range(sizes.streamed_runs)]
        together = await asyncio.gather(*(word_delays(each, sizes.streamed_words) for each in connections))
    first = [delays[0] for delays in alone]
    begin, end = quarter(together, 0), quarter(together, 3)
    figures = (
        milliseconds("first word, p50", median(first)),
        milliseconds("first word, p99", percentile(first, 99)),
        milliseconds(f"{sizes.streams} at once, word p50", median(list(itertools.chain(*together)))),
        milliseconds(f"{sizes.streams} at once, word p99", percentile(list(itertools.chain(*together)), 99)),
        Figure("behind: end over begin", median(end) / median(begin)),
    )
    return Result(figures, host.empty_route_seconds)


async def word_delays(connection: Connection, count: int) -> list[float]:
    """Return for each word of one stream the seconds between its being said and its being here."""
    body = json.dumps({"message": f"speak {count} {WORDS_PER_SECOND}"}).encode()
    answer = await connection.request("POST", "/api/agents/timed/run", body, accept="text/event-stream")
    delays = [came_at - output for came_at, output in words_in(answer)]
    if len(delays) != count:
        raise WrongAnswerError(f"A stream of {count} words had {len(delays)}: {answer.body[-300:].decode()}")
    return delays


def words_in(answer: Answer) -> Iterator[tuple[float, float]]:
    """Iterate over the words of a stream: when each came, and when its model said it."""
    text = b""
    for came_at, piece in answer.pieces:
        *frames, text = (text + piece).split(b"\n\n")
        for words in (frame.partition(b"data: ")[2] for frame in frames if b"event: delta" in frame):
            yield from ((came_at, float(output)) for output in json.loads(words)["text"].split())


def quarter(streams: Sequence[Sequence[float]], number: int) -> list[float]:
    """Return the delays of that quarter of every stream, counted from 0."""
    return [
        delay for delays in streams for delay in delays[number * len(delays) // 4 : (number + 1) * len(delays) // 4]
    ]
