"""A host as its own process: started, waited for, and ended; nothing else on the machine is touched."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agents.models import SETTINGS
from benchmarks.app_folder import ROOT
from benchmarks.connection import Connection, connect

DEVHOST = (sys.executable, "-m", "devhost", "start", "--port", "0")
START_GUARD_SECONDS = 300
STOP_GUARD_SECONDS = 20
_ADDRESS = re.compile(rb"https?://(localhost|127\.0\.0\.1):(\d+)")


class HostStartError(Exception):
    """The host ended, or said nothing, before it served; the message holds what it said."""


@dataclass(frozen=True)
class HostProcess:
    """A host that serves: its process, its port, and when it was started (seconds of `time.perf_counter`)."""

    pid: int
    port: int
    started_at: float

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Yield an open connection, closed at the end."""
        connection = await connect("127.0.0.1", self.port)
        try:
            yield connection
        finally:
            connection.close()

    @asynccontextmanager
    async def connections(self, count: int) -> AsyncIterator[Sequence[Connection]]:
        """Yield that many open connections, closed at the end."""
        async with contextlib.AsyncExitStack() as stack:
            yield [await stack.enter_async_context(self.connection()) for _ in range(count)]


@asynccontextmanager
async def hosted(
    folder: Path, command: Sequence[str] = DEVHOST, settings: Mapping[str, str] | None = None
) -> AsyncIterator[HostProcess]:
    """Yield the host of the app in the folder once it has told its address; it is ended as by Ctrl-C or a kill.

    What it logs goes into the folder's host.log. Raises HostStartError when it does not come to serve.
    """
    with (folder / "host.log").open("wb") as log:
        began = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, env={**environment(), **(settings or {})}, stdout=asyncio.subprocess.PIPE, stderr=log
        )
        try:
            port = await asyncio.wait_for(announced_port(process, folder), START_GUARD_SECONDS)
            discarding = asyncio.ensure_future(discard(process))
            yield HostProcess(process.pid, port, began)
            discarding.cancel()
        finally:
            await end(process)


def environment() -> dict[str, str]:
    """The variables of this process without those that choose a model: the offline one is what is measured.

    A conversation may grow to its thousandth turn, which is more than the default limit has room for.
    """
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", "AGENT_STATE_LIMIT_BYTES": str(16 * 1024 * 1024)}


async def announced_port(process: asyncio.subprocess.Process, folder: Path) -> int:
    """Return the port in the first line that tells an address."""
    assert process.stdout is not None
    output: list[bytes] = []
    while line := await process.stdout.readline():
        output.append(line)
        if found := _ADDRESS.search(line):
            return int(found[2])
    text = b"".join(output[-20:]) + (folder / "host.log").read_bytes()[-3000:]
    raise HostStartError(f"The host did not start. It said:\n{text.decode(errors='replace')}")


async def discard(process: asyncio.subprocess.Process) -> None:
    """Read what the host goes on to print, so that a full pipe never stops it."""
    assert process.stdout is not None
    while await process.stdout.read(65536):
        pass


async def end(process: asyncio.subprocess.Process) -> None:
    """Ask the process to stop, and kill it if it does not within the guard."""
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_GUARD_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
