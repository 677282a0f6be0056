"""The protocol's server conformance suite, as far as it reads, against runs that a writer of ours writes for it."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from hosting.core.stores.memory import MemoryObjects
from hosting.core.stores.sqlite import SqliteThreadStore
from hosting.core.thread_log import ThreadLog
from hosting.host_settings import task_hub
from tests.durable_streams.written_streams import Writer
from tests.support.node_packages import node
from tests.support.running_host import RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("streams.conformance")]

RUN_SECONDS = 240
WAIT_MILLISECONDS = 60_000
"""For one scenario: the longest wait for news, twice and more."""

NOT_OURS = {
    "Fork": "forks are made by writers",
    "TTL|Expir": "a stream's lifetime is a writer's choice; a run is kept as long as its thread",
    "Producer|[Ss]equence|seq ": "how writers keep their order; a run has one writer",
    "subscription": "subscriptions are not served; the protocol keeps them apart from reading",
    "PUT|POST|DELETE|[Dd]elet|[Cc]reate|append-(to|and)|on append|close-|409|reject (invalid|empty) JSON": "answers to "
    "writers: runs are written by the app",
    "[Bb]inary|base64|Byte-Exactness|chunk-size|protobuf|image/png": "runs are JSON, the suite's bytes are none",
    "CORS preflight": "preflights are the host's",
}
"""What of the suite does not read, by a part of the scenarios' names, and why."""


@asynccontextmanager
async def written(host: RunningHost, folder: Path) -> AsyncIterator[str]:
    """The address under which the suite writes its streams and reads runs of the host."""
    hub = task_hub(folder, {})
    log = ThreadLog(SqliteThreadStore(folder / ".agents" / "log.sqlite", hub), MemoryObjects(), hub)
    async with httpx.AsyncClient(base_url=host.origin, timeout=None) as reads:
        writer = Writer(log, reads)
        server = uvicorn.Server(uvicorn.Config(writer.asgi, port=0, log_level="error", lifespan="off"))
        serving = asyncio.ensure_future(server.serve())
        while not server.started:  # noqa: ASYNC110 - uvicorn tells by this alone
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        server.should_exit = True
        await serving
    await log.close()


async def run_suite(node_modules: Path, url: str, report: Path) -> list[dict[str, Any]]:
    """Return the suite's scenarios, those that are not ours skipped."""
    process = await asyncio.create_subprocess_exec(
        *(node(), str(node_modules / "node_modules" / "vitest" / "vitest.mjs"), "run", "conformance.test.mjs"),
        *("--reporter=json", f"--outputFile={report}", f"--testTimeout={WAIT_MILLISECONDS}"),
        *("-t", f"^(?!.*({'|'.join(NOT_OURS)}))"),
        cwd=node_modules,
        env={**os.environ, "STREAMS_URL": url},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    await asyncio.wait_for(process.wait(), RUN_SECONDS)
    (file,) = json.loads(report.read_text(encoding="utf-8"))["testResults"]
    return list(file["assertionResults"])


async def test_every_scenario_that_reads_passes(
    host: RunningHost, app_folder: Path, node_modules: Path, tmp_path: Path
) -> None:
    """A scenario that a later version of the suite adds is run, too, unless it is named above."""
    async with written(host, app_folder) as url:
        scenarios = await run_suite(node_modules, url, tmp_path / "report.json")

    ours = {
        each["fullName"]: (each["status"], each["failureMessages"])
        for each in scenarios
        if not any(re.search(part, each["fullName"]) for part in NOT_OURS)
    }
    assert {name: received for name, received in ours.items() if received[0] != "passed"} == {}
    assert len(ours) >= 90
    assert all(any(re.search(part, each["fullName"]) for each in scenarios) for part in NOT_OURS)
