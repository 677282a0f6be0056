"""Thousands of instances that wait for an event or a month: what they cost, and how soon a host with them is ready."""

from __future__ import annotations

import asyncio
import time

from benchmarks.app_folder import ENGINE, copied
from benchmarks.connection import Connection
from benchmarks.cpu_time import cpu_seconds
from benchmarks.figures import Figure
from benchmarks.host_process import HostProcess, hosted
from benchmarks.measures.throughput import API, received, start_instances, until
from benchmarks.resident import resident_megabytes
from benchmarks.sizes import Sizes


async def measure(sizes: Sizes) -> tuple[Figure, ...]:
    """Memory and idle processor time are the process's, told by the system; the restart is until the first answer."""
    with copied(ENGINE) as folder:
        async with hosted(folder) as host:
            await start_instances(host, "waits", "warm-up", 100)
            before = resident_megabytes(host.pid)
            await start_instances(host, "waits", "w", sizes.waiting_instances)
            await all_wait(host, sizes.waiting_instances - 1)
            grown = resident_megabytes(host.pid) - before
            idle = await idle_share(host, sizes.idle_seconds)
        async with hosted(folder) as host:
            await all_wait(host, 0)
            ready = time.perf_counter() - host.started_at
            restarted = resident_megabytes(host.pid)
    return (
        Figure(f"{sizes.waiting_instances:,} wait: memory", grown, "MB"),
        Figure("waiting: processor", idle * 100, "%"),
        Figure("waiting: restart", ready, "s"),
        Figure("waiting: memory after the restart", restarted, "MB"),
    )


async def all_wait(host: HostProcess, number: int) -> None:
    """Return once the instance of that number runs; those before it do, too."""
    path = f"{API}/instances/w-{number:05}"
    async with host.connection() as connection:
        await until(lambda: is_running(connection, path), 0.05)


async def is_running(connection: Connection, path: str) -> bool:
    return b'"Running"' in await received(connection, "GET", path, 202)


async def idle_share(host: HostProcess, seconds: float) -> float:
    """Return which share of one processor the host uses while nothing happens."""
    await asyncio.sleep(1)
    began, used = time.perf_counter(), cpu_seconds(host.pid)
    await asyncio.sleep(seconds)
    return (cpu_seconds(host.pid) - used) / (time.perf_counter() - began)
