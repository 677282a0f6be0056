"""A copy of the app under test on a local host that is killed and started again, and what its model was asked."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.support.carriers import APP, GUARD_SECONDS, Api, socket_api
from tests.support.running_host import RunningHost
from tests.support.whole_lines import whole_lines

LEASE_SECONDS = 1.0


class AppFolder:
    """The folder of one app: its log, its durable state, and one line for each call of its model."""

    def __init__(self, folder: Path, environ: Mapping[str, str] | None = None) -> None:
        """`environ` says where its threads are kept."""
        self.path = shutil.copytree(APP, folder / "app")
        self.script_log = folder / "asked.txt"
        self.script_log.touch()
        self._environ = {"SCRIPT_LOG": str(self.script_log), "LEASE_SECONDS": str(LEASE_SECONDS), **(environ or {})}

    @contextlib.contextmanager
    def host(self, environ: Mapping[str, str] | None = None, port: int = 0) -> Iterator[RunningHost]:
        """Run the host until the end of the block, where it is killed without a chance to clean up."""
        with RunningHost(self.path, "--port", str(port), environ={**self._environ, **(environ or {})}) as host:
            yield host

    def api(self, host: RunningHost) -> Api:
        return socket_api(host.origin, self.path / ".agents" / "log.sqlite")

    def model_calls(self, message: str) -> int:
        """Return how often the model was asked this, in all processes."""
        return sum(line.partition(" ")[2] == message for line in whole_lines(self.script_log))

    async def until_model_called(self, message: str, times: int = 1) -> None:
        """Return once the model was asked this so often, under the guard."""
        await asyncio.wait_for(self._until_model_called(message, times), 6 * GUARD_SECONDS)

    async def _until_model_called(self, message: str, times: int) -> None:
        while self.model_calls(message) < times:  # noqa: ASYNC110 - another process writes the file
            await asyncio.sleep(0.01)


async def until_dead(host: RunningHost) -> int:
    """Return the exit code of a host that ends by itself, under the guard."""
    return await asyncio.wait_for(asyncio.to_thread(host.process.wait), 2 * GUARD_SECONDS)
