"""What a host keeps of connections: those that wait, and those on which requests are refused, cost it little."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

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
