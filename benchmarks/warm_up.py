"""The measured app, hosted and warm, with the time of its empty route."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.app_folder import MEASURED, copied
from benchmarks.connection import Connection
from benchmarks.host_process import HostProcess, hosted
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from benchmarks.turns import WrongAnswerError, take_turn


@dataclass(frozen=True)
class WarmHost:
    """The host, and the times of its empty route: half of them taken before the measure, half after it."""

    process: HostProcess
    empty_requests: list[float]

    @property
    def empty_route_seconds(self) -> float:
        """The p50 of the empty route; of both halves once the measure is over."""
        return median(self.empty_requests)


@asynccontextmanager
async def warm_host(
    sizes: Sizes, settings: Mapping[str, str] | None = None, parts: Sequence[Path] = MEASURED
) -> AsyncIterator[WarmHost]:
    """Yield a host of the measured app that has taken its first turns, which cost more than all that follow."""
    with copied(parts) as folder:
        async with hosted(folder, settings=settings) as process, warmed(process, sizes) as host:
            yield host


@asynccontextmanager
async def warmed(process: HostProcess, sizes: Sizes) -> AsyncIterator[WarmHost]:
    """Yield a host of the measured app, that runs already, behind its first turns."""
    async with process.connection() as connection:
        for number in range(sizes.warm_up_turns):
            await take_turn(connection, "assistant", f"Warm-up {number}.")
        host = WarmHost(process, await request_empty_route(connection, sizes.empty_requests))
        yield host
        host.empty_requests.extend(await request_empty_route(connection, sizes.empty_requests))


async def request_empty_route(connection: Connection, requests: int) -> list[float]:
    """Return the seconds of each request; raises WrongAnswerError unless it was answered 200."""
    return [await one_empty_request(connection) for _ in range(requests)]


async def one_empty_request(connection: Connection) -> float:
    began = time.perf_counter()
    answer = await connection.request("GET", "/api/empty")
    seconds = time.perf_counter() - began
    if answer.status != 200:
        raise WrongAnswerError(f"The empty route was answered {answer.status}.")
    return seconds
