"""What the engine does in a second, and how soon a signal is an operation."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial

from benchmarks.app_folder import ENGINE, copied
from benchmarks.connection import Connection
from benchmarks.figures import Figure, milliseconds
from benchmarks.host_process import HostProcess, hosted
from benchmarks.samples import median, percentile
from benchmarks.sizes import Sizes
from benchmarks.turns import WrongAnswerError

API = "/runtime/webhooks/durabletask"


async def measure(sizes: Sizes) -> tuple[Figure, ...]:
    with copied(ENGINE) as folder:
        async with hosted(folder) as host:
            await orchestrations_per_second(host, "warm-up", sizes.warm_up_turns)
            rate = await orchestrations_per_second(host, "run", sizes.orchestrations)
            delays = await signal_seconds(host, sizes.signals)
    return (
        Figure("orchestrations of 10 activities", rate, "/s"),
        milliseconds("signal to operation, p50", median(delays)),
        milliseconds("signal to operation, p99", percentile(delays, 99)),
    )


async def orchestrations_per_second(host: HostProcess, prefix: str, count: int) -> float:
    began = time.perf_counter()
    await start_instances(host, "ten", prefix, count)
    async with host.connection() as connection:
        await until(lambda: none_runs(connection, prefix), 0.02)
    return count / (time.perf_counter() - began)


async def start_instances(host: HostProcess, name: str, prefix: str, count: int) -> None:
    """Start so many instances over sixteen connections; raises WrongAnswerError unless each is answered 202."""
    numbers = iter(range(count))
    async with host.connections(16) as connections:
        await asyncio.gather(*(start_some(connection, name, prefix, numbers) for connection in connections))


async def start_some(connection: Connection, name: str, prefix: str, numbers: Iterator[int]) -> None:
    for number in numbers:
        await received(connection, "POST", f"{API}/orchestrators/{name}/{prefix}-{number:05}", 202)


async def until(is_true: Callable[[], Awaitable[bool]], every_seconds: float) -> None:
    """Return once it is true, asked again and again: nobody tells us."""
    while True:
        if await is_true():
            return
        await asyncio.sleep(every_seconds)


async def none_runs(connection: Connection, prefix: str) -> bool:
    query = f"runtimeStatus=Running,Pending&instanceIdPrefix={prefix}-&top=1&showInput=false"
    return not json.loads(await received(connection, "GET", f"{API}/instances?{query}", 200))


async def signal_seconds(host: HostProcess, count: int) -> list[float]:
    """Return how long after its sending each signal was an operation; the next is sent when the one before has run."""
    path = f"{API}/entities/stopwatch/one"
    async with host.connection() as connection:
        for number in range(count):
            now = json.dumps(json.dumps(time.time())).encode()
            await received(connection, "POST", f"{path}?op=tick", 202, now)
            await until(partial(has_counted, connection, path, number + 1), 0)
        delays: list[float] = json.loads(await received(connection, "GET", path, 200))
    return delays


async def has_counted(connection: Connection, path: str, count: int) -> bool:
    answer = await connection.request("GET", path)
    return answer.status == 200 and len(json.loads(answer.body)) >= count


async def received(connection: Connection, method: str, path: str, status: int, body: bytes = b"") -> bytes:
    """Return the body of the answer; raises WrongAnswerError when its status is another one."""
    answer = await connection.request(method, path, body)
    if answer.status != status:
        raise WrongAnswerError(f"{method} {path} was answered {answer.status}: {answer.body[:300]!r}")
    return answer.body
