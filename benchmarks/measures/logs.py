"""The same turns over each backend of the threads' log: what it adds to one."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.app_folder import ROOT
from benchmarks.figures import Result, milliseconds
from benchmarks.measures.fresh import PLAIN, fresh_turns
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from benchmarks.warm_up import warm_host
from tests.support.azurite import LOCK, Azurite
from tests.support.node_packages import RegistryUnreachableError, install
from tests.support.redis_server import RedisServer, find_server

Settings = Mapping[str, str]


async def measure(sizes: Sizes) -> Result:
    """All hosts stand beside each other and take turns in turn, so that whatever else the machine does meets each.

    Redis and Azurite (tables) are servers on this machine, where they can be had.
    """
    async with contextlib.AsyncExitStack() as stack:
        hosts = {
            name: await stack.enter_async_context(warm_host(sizes, settings))
            for name, settings in stack.enter_context(logs()).items()
        }
        connections = {name: await stack.enter_async_context(host.process.connection()) for name, host in hosts.items()}
        turns: dict[str, list[float]] = {name: [] for name in hosts}
        for _ in range(sizes.log_turns):
            for name, connection in connections.items():
                turns[name] += await fresh_turns(connection, PLAIN, 1)
    middle = {name: median(seconds) for name, seconds in turns.items()}
    over = {f"{name} over SQLite": seconds - middle["SQLite"] for name, seconds in middle.items() if name != "SQLite"}
    figures = [milliseconds(f"{name}, p50", seconds) for name, seconds in middle.items()]
    figures += [milliseconds(name, seconds) for name, seconds in over.items()]
    return Result(tuple(figures), hosts["SQLite"].empty_route_seconds)


@contextmanager
def logs() -> Iterator[dict[str, Settings]]:
    """Yield the settings of each log that can be had here."""
    found: dict[str, Settings] = {"SQLite": {"AGENT_LOG": "sqlite"}}
    with contextlib.ExitStack() as servers:
        folder = Path(servers.enter_context(tempfile.TemporaryDirectory()))
        command = find_server()
        if command is not None:
            redis = RedisServer(command, folder)
            servers.callback(redis.stop)
            found["Redis"] = {"AGENT_LOG": redis.url}
        with contextlib.suppress(RegistryUnreachableError):
            azurite = Azurite(install(LOCK, ROOT / ".pytest_cache" / "d" / "azurite"), folder)
            servers.callback(azurite.stop)
            found["tables"] = {"AGENT_LOG": "tables", "AzureWebJobsStorage": azurite.connection_string}
        yield found
