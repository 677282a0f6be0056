"""A task hub without an app, for workers of the Durable Task SDK: `python -m devhost workers`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from devhost.durable.clock import SystemClock
from devhost.durable.engine import DurableTask
from devhost.durable.grpc.service import TaskHubServer
from devhost.durable.grpc.workers import WORKERS, WorkerFunctions
from devhost.durable.settings import DurableSettings
from devhost.durable.store.sqlite import SqliteStore
from devhost.host import GRACE_SECONDS, StopRequest

_MOST_AT_ONCE = 500
"""Of each kind: how much of it a worker takes at once, the worker says."""


async def serve_workers(folder: Path, port: int, announce: Callable[[str], None]) -> None:
    """Serve workers and clients until a signal asks to stop; `announce` gets the address once they are answered.

    What they have asked for is kept in the folder. Raises an error of `devhost.errors` where that, or the port, is not
    to be had.
    """
    stop = StopRequest()
    stop.install()
    functions, clock = WorkerFunctions(), SystemClock()
    settings = DurableSettings(
        max_concurrent_activities=_MOST_AT_ONCE,
        max_concurrent_orchestrators=_MOST_AT_ONCE,
        max_concurrent_entities=_MOST_AT_ONCE,
    )
    engine = DurableTask(functions, SqliteStore(folder), settings, clock, folder=folder, protocol=WORKERS)
    server = TaskHubServer(engine.hub, clock, functions)
    await engine.start()
    try:
        announce((await server.start(port)).removeprefix("http://"))
        await stop.wait()
        print("Stopping. Press Ctrl-C again to stop at once.", flush=True)
    finally:
        await engine.stop(GRACE_SECONDS if functions.has_workers else 0)
        await server.stop()
