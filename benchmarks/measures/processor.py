"""Plain turns over tables in Azurite, by this app and by the app at another commit: the processor time of each."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

from benchmarks.app_folder import measured
from benchmarks.connection import Connection
from benchmarks.cpu_time import cpu_seconds
from benchmarks.figures import Figure, NotMeasuredError, Result, milliseconds
from benchmarks.host_process import HostProcess
from benchmarks.measures.before import checkout
from benchmarks.measures.fresh import PLAIN
from benchmarks.measures.groups import emulator, settings_of
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from benchmarks.turns import take_turn
from benchmarks.warm_up import warm_host
from tests.support.node_packages import RegistryUnreachableError

BEFORE = os.environ.get("BENCHMARK_BEFORE", "3028fa5")
"""The commit to compare with."""
AT_ONCE = 100
"""Turns of one host, before the other takes as many."""


async def measure(sizes: Sizes) -> Result:
    """Both hosts take turns of many clients by turns, so that a busy moment meets both.

    Processor time is a host's alone: the run, the entity, and the local engine, but not Azurite. Raises
    NotMeasuredError without Azurite, and without the commit.
    """
    try:
        with checkout(BEFORE) as root, emulator() as azurite:
            old_settings = {**settings_of(azurite, "old"), "PYTHONPATH": str(root)}
            async with warm_host(sizes, settings_of(azurite, "new")) as new:
                async with warm_host(sizes, old_settings, measured(root)) as old:
                    samples = [
                        (await spent(old.process, sizes.clients), await spent(new.process, sizes.clients))
                        for _ in range(max(1, sizes.fresh_turns // AT_ONCE))
                    ]
                position = azurite.position()
                await spent(new.process, sizes.clients)
                calls = len(azurite.calls_since(position)) / AT_ONCE
    except RegistryUnreachableError as error:
        raise NotMeasuredError(f"Azurite cannot be installed: {error}") from None
    before, now = (median(seconds) for seconds in zip(*samples, strict=True))
    figures = (
        milliseconds(f"processor of a turn at {BEFORE}", before),
        milliseconds("processor of a turn", now),
        Figure("processor over before", median([new / old for old, new in samples])),
        Figure("storage calls", calls),
    )
    return Result(figures, new.empty_route_seconds)


async def spent(host: HostProcess, clients: int) -> float:
    """Return the processor seconds of a turn on a fresh thread, as the middle of many by so many clients."""
    began, turns = cpu_seconds(host.pid), iter(range(AT_ONCE))
    async with host.connections(clients) as connections:
        await asyncio.gather(*(take_some(connection, turns) for connection in connections))
    return (cpu_seconds(host.pid) - began) / AT_ONCE


async def take_some(connection: Connection, turns: Iterator[int]) -> None:
    for _ in turns:
        await take_turn(connection, "assistant", PLAIN)
