"""What a host keeps of connections: those that wait, and those on which requests are refused, cost it little."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from statistics import median

import httpx
import pytest

from tests.faults.app_process import AppFolder
from tests.support.running_host import GUARD_SECONDS, RunningHost
from tests.support.seeds import repeated

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("seed"),  # a run that explores takes it too, with more of each
    pytest.mark.skipif(sys.platform != "linux", reason="what a process keeps is read from /proc"),
]

RUN = "/api/agents/Joker/run"
REFUSED = repeated(400, exploring=4000)
IDLE = repeated(500, exploring=2000)
MOST_IDLE_BYTES = 20 * 1024
"""For each connection that waits: 40 MiB for two thousand."""
MOST_HEALTH_SECONDS = 1.0
"""Alone it is 50 ms at most; a machine that does much else takes its time."""
REFUSALS = [
    (RUN, "{", 400),
    (RUN, json.dumps({"message": ""}), 400),
    ("/api/agents/Nobody/run", json.dumps({"message": "hi"}), 404),
    (RUN, json.dumps({"message": "hi", "thread_id": "full"}), 429),
]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[RunningHost]:
    """The app under test, where a thread takes one run at a time."""
    with AppFolder(tmp_path).host({"LEASE_SECONDS": "20", "AGENT_QUEUE_LIMIT": "1"}) as host:
        yield host


def resident_bytes(host: RunningHost) -> int:
    """Return how much memory the process has now."""
    lines = Path(f"/proc/{host.process.pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))


@pytest.mark.behaviour("devhost.idle-connections")
async def test_connections_that_wait_cost_little_memory_and_hold_up_nobody(host: RunningHost) -> None:
    """The health route answers while all of them wait."""
    address, port = host.origin.removeprefix("http://").split(":")
    async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
        await http.get("/api/health")
        before = resident_bytes(host)
        idle = [await asyncio.open_connection(address, int(port)) for _ in range(IDLE)]
        took = []
        for _ in range(5):
            began = time.monotonic()
            assert (await http.get("/api/health")).status_code == 200
            took.append(time.monotonic() - began)
        grown = resident_bytes(host) - before
        waiting = sum(not reader.at_eof() for reader, _ in idle)
    for _, writer in idle:
        writer.close()
    print(f"{grown / IDLE:.0f} bytes a connection, health in {median(took) * 1000:.0f} ms")

    assert waiting == IDLE
    assert grown < IDLE * MOST_IDLE_BYTES
    assert median(took) < MOST_HEALTH_SECONDS


@pytest.mark.behaviour("devhost.refused-and-next")
def test_the_request_behind_a_refused_one_is_answered_on_the_same_connection(host: RunningHost) -> None:
    """None of them is reset, whatever was refused before it."""
    httpx.post(f"{host.origin}{RUN}", json={"message": "sleep 500", "thread_id": "full", "wait_for_response": False})
    line = HTTPConnection(host.origin.removeprefix("http://"), timeout=GUARD_SECONDS)
    line.connect()
    socket, answers = line.sock, Counter[tuple[int, int]]()
    for number in range(REFUSED):
        path, body, _ = REFUSALS[number % len(REFUSALS)]
        answers[status_of(line, "POST", path, body), status_of(line, "GET", "/api/health")] += 1
        assert line.sock is socket
    line.close()

    expected = Counter({(400, 200): REFUSED // 2, (404, 200): REFUSED // 4, (429, 200): REFUSED // 4})
    assert answers == expected


def status_of(line: HTTPConnection, method: str, path: str, body: str | None = None) -> int:
    """Return the status of a request on the connection, its answer read."""
    line.request(method, path, body, {"content-type": "application/json"} if body else {})
    answer = line.getresponse()
    answer.read()
    return answer.status
