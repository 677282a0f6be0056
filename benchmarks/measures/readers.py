"""Streams that are read at another process than the one that runs the agent: how long a word is under way, by log.

Two processes take requests beside the one that has the entities. The first runs the agent for the caller that streams
from it; a second caller reads the same run at the other process, from the log.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time

from benchmarks.app_folder import MEASURED, copied
from benchmarks.connection import Connection
from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.host_process import hosted
from benchmarks.measures.groups import DURABLE, HTTP, WORDS, WORDS_PER_SECOND
from benchmarks.measures.logs import Settings, logs
from benchmarks.measures.streams import words_in
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from benchmarks.turns import WrongAnswerError
from benchmarks.warm_up import warmed

BEFORE_SECONDS = 0.2
HERE_SECONDS = 0.02
RUN = "/api/agents/timed/run"


async def measure(sizes: Sizes) -> Result:
    """Some streams over each log, one after the other."""
    figures: list[Figure] = []
    empty = 0.0
    with logs() as found:
        for name, settings in found.items():
            delays, empty = await delays_over(settings, sizes)
            figures.append(milliseconds(f"{name}: word, p50", median(list(itertools.chain(*delays)))))
            figures.append(milliseconds(f"{name}: word, slowest", max(itertools.chain(*delays))))
    return Result(tuple(figures), empty)


async def delays_over(settings: Settings, sizes: Sizes) -> tuple[list[list[float]], float]:
    """Return the delays of each stream's words in seconds, and the empty route's p50."""
    with copied(MEASURED) as folder:
        async with (
            hosted(folder, DURABLE, settings),
            hosted(folder, HTTP, settings) as front,
            warmed(front, sizes) as host,
            front.connection() as connection,
            hosted(folder, HTTP, settings) as beside,
            beside.connection() as other,
        ):
            streams = [await delays_of(connection, other) for _ in range(sizes.read_streams)]
            return streams, host.empty_route_seconds


async def delays_of(connection: Connection, other: Connection) -> list[float]:
    """Return for each word of one stream, said after the other began to read, how long it was under way in seconds."""
    body = {"message": f"speak {WORDS} {WORDS_PER_SECOND}", "wait_for_response": False, "stream": True}
    begun = json.loads((await connection.request("POST", RUN, json.dumps(body).encode())).body)
    path = f"/api/agents/timed/threads/{begun['thread_id']}/runs/{begun['run_id']}/events"
    here = asyncio.ensure_future(connection.request("GET", path, accept="text/event-stream"))
    await asyncio.sleep(BEFORE_SECONDS)
    began_at = time.perf_counter()
    there, answer = await asyncio.gather(here, other.request("GET", path, accept="text/event-stream"))
    if sum(1 for _ in words_in(answer)) != WORDS:
        raise WrongAnswerError(f"A stream of {WORDS} words has others: {answer.body[-300:].decode()}")
    own = [came_at - said_at for came_at, said_at in words_in(there)]
    if median(own) > HERE_SECONDS:
        raise WrongAnswerError(f"The run was not at the process that was asked: a word took {median(own):.3f} s.")
    return [came_at - said_at for came_at, said_at in words_in(answer) if said_at > began_at]
