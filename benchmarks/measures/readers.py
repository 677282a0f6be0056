"""Streams that are read at another process than the one that runs the agent: how long a word is under way, by log.

The run is begun without waiting, so the process that has the entities runs it, and the one for HTTP reads the log.
"""

from __future__ import annotations

import itertools
import json

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
        ):
            streams = [await delays_of(connection) for _ in range(sizes.read_streams)]
            return streams, host.empty_route_seconds


async def delays_of(connection: Connection) -> list[float]:
    """Return for each word of one stream the seconds between its being said and its being read."""
    body = {"message": f"speak {WORDS} {WORDS_PER_SECOND}", "wait_for_response": False, "stream": True}
    begun = json.loads((await connection.request("POST", RUN, json.dumps(body).encode())).body)
    path = f"/api/agents/timed/threads/{begun['thread_id']}/runs/{begun['run_id']}/events"
    answer = await connection.request("GET", path, accept="text/event-stream")
    delays = [came_at - said_at for came_at, said_at in words_in(answer)]
    if len(delays) != WORDS:
        raise WrongAnswerError(f"A stream of {WORDS} words had {len(delays)}: {answer.body[-300:].decode()}")
    return delays
