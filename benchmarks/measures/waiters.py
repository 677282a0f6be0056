"""Runs that end in another process than the one that watches them: how late it learns of that, by log.

Two processes take requests beside the one that has the entities. The first runs the agent for its caller. At the other
one caller waits for the same run, and one streams it. A run that nobody waits for is queued behind it, and is begun by
the process that has the entities.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable
from dataclasses import dataclass

from benchmarks.app_folder import MEASURED, copied
from benchmarks.connection import Answer, Connection
from benchmarks.figures import Figure, Result, milliseconds
from benchmarks.host_process import hosted
from benchmarks.measures.groups import DURABLE, HTTP
from benchmarks.measures.logs import Settings, logs
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from benchmarks.turns import WrongAnswerError
from benchmarks.warm_up import warmed

SHORTEST_SECONDS, STEP_SECONDS = 1.0, 0.13
"""Each run takes a little longer than the one before it, so that none keeps step with a pause."""
POLL_SECONDS = 0.004
RUN, THREADS = "/api/agents/timed/run", "/api/agents/timed/threads"


@dataclass(frozen=True)
class Late:
    """How long after the answer to the first caller, in seconds: the other answer, the stream's end, the next end."""

    waiter: float
    stream: float
    queued: float


async def measure(sizes: Sizes) -> Result:
    """Some runs over each log, one after the other."""
    figures: list[Figure] = []
    empty = 0.0
    with logs() as found:
        for name, settings in found.items():
            late, empty = await late_over(settings, sizes)
            for who in ("waiter", "stream", "queued"):
                seconds = [getattr(one, who) for one in late]
                figures.append(milliseconds(f"{name}: {who}, p50", median(seconds)))
                figures.append(milliseconds(f"{name}: {who}, slowest", max(seconds)))
    return Result(tuple(figures), empty)


async def late_over(settings: Settings, sizes: Sizes) -> tuple[list[Late], float]:
    """Return how late each run's end was known, and the empty route's p50."""
    with copied(MEASURED) as folder:
        async with (
            hosted(folder, DURABLE, settings),
            hosted(folder, HTTP, settings) as front,
            warmed(front, sizes) as host,
            front.connection() as connection,
            hosted(folder, HTTP, settings) as beside,
            beside.connections(3) as others,
        ):
            seconds = [SHORTEST_SECONDS + STEP_SECONDS * number for number in range(sizes.long_waits)]
            return [await late_of(one, connection, *others) for one in seconds], host.empty_route_seconds


async def late_of(
    seconds: float, connection: Connection, waiter: Connection, reader: Connection, asker: Connection
) -> Late:
    """Return how late the end of one run of so long was known."""
    thread = f"late-{seconds:.2f}"
    body = json.dumps({"message": f"wait {seconds}", "thread_id": thread}).encode()
    here = asyncio.ensure_future(timed(connection.request("POST", RUN, body, key=thread)))
    run_id = await begun(asker, thread)
    there = asyncio.ensure_future(timed(waiter.request("POST", RUN, body, key=thread)))
    events = f"{THREADS}/{thread}/runs/{run_id}/events"
    stream = asyncio.ensure_future(timed(reader.request("GET", events, accept="text/event-stream")))
    later = json.dumps({"message": "wait 0", "thread_id": thread, "wait_for_response": False}).encode()
    queued = json.loads((await asker.request("POST", RUN, later)).body)["run_id"]
    (answer, ended_at), (other, waited_at), (_, streamed_at) = await asyncio.gather(here, there, stream)
    if answer.status != 200 or other.body != answer.body:
        raise WrongAnswerError(f"The waiter has another answer: {other.body[:300].decode(errors='replace')}")
    path = f"{THREADS}/{thread}/runs/{queued}"
    while json.loads((await asker.request("GET", path)).body)["status"] != "success":  # noqa: ASYNC110 - a client sees no event
        await asyncio.sleep(POLL_SECONDS)
    return Late(waited_at - ended_at, streamed_at - ended_at, time.perf_counter() - ended_at)


async def timed(request: Awaitable[Answer]) -> tuple[Answer, float]:
    """Return the answer, and when it came."""
    return await request, time.perf_counter()


async def begun(connection: Connection, thread: str) -> str:
    """Return the id of the thread's run as soon as it is there."""
    while (answer := await connection.request("GET", f"{THREADS}/{thread}/runs")).status != 200:  # noqa: ASYNC110
        await asyncio.sleep(POLL_SECONDS)
    return str(json.loads(answer.body)["runs"][0]["run_id"])
