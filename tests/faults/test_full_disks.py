"""A disk that fills under a host: whoever asks is answered in time, nobody is told that it is ready, and what was
promised is done when there is room again.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from tests.faults.app_process import AppFolder
from tests.support.running_host import RunningHost

if sys.platform == "linux":
    import resource

    _, NO_LIMIT = resource.getrlimit(resource.RLIMIT_FSIZE)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("http.full-disk"),
    pytest.mark.skipif(sys.platform != "linux", reason="the limit of another process is set by Linux only"),
]

RUN = "/api/agents/Joker/run"
READY = "/api/health/ready"
MOST_SECONDS = 20.0
"""Within which a turn has an answer; the guards are longer, so that one without it is told by its time."""
GUARD_SECONDS = 60.0
CLIENT = httpx.Timeout(GUARD_SECONDS)


@pytest.fixture
def app(tmp_path: Path) -> AppFolder:
    return AppFolder(tmp_path)


@pytest.fixture
def host(app: AppFolder) -> Iterator[RunningHost]:
    with app.host({"LEASE_SECONDS": "2"}) as host:
        yield host


@pytest.fixture
async def http(host: RunningHost) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the host, which has answered a turn."""
    async with httpx.AsyncClient(base_url=host.origin, timeout=CLIENT) as http:
        assert (await http.post(RUN, json={"message": "hi"})).status_code == 200
        yield http


def leave_room(host: RunningHost, size: int) -> None:
    """Let no file of the host grow beyond so many bytes, nor be written behind them."""
    resource.prlimit(host.process.pid, resource.RLIMIT_FSIZE, (size, NO_LIMIT))


async def timed(http: httpx.AsyncClient, message: str) -> tuple[httpx.Response, float]:
    """Return the answer of a turn on a thread of its own, and how many seconds it took."""
    began = time.monotonic()
    answer = await http.post(RUN, json={"message": message})
    return answer, time.monotonic() - began


async def until_over(http: httpx.AsyncClient, place: str) -> httpx.Response:
    """Return the answer of a run's address once it has ended, under the guard."""
    end = time.monotonic() + GUARD_SECONDS
    while (answer := await http.get(place)).status_code == 202:
        assert time.monotonic() < end, answer.text
        await asyncio.sleep(0.05)
    return answer


async def test_a_turn_is_answered_when_the_disk_fills_under_it_and_the_host_is_not_ready(
    app: AppFolder, host: RunningHost, http: httpx.AsyncClient
) -> None:
    """It goes on when there is room; one that came on the full disk was refused, and its agent was never asked."""
    running = asyncio.create_task(timed(http, "sleep 0.5"))
    await app.until_model_called("sleep 0.5")
    leave_room(host, 0)
    refused, refused_in = await timed(http, "too late")
    kept, kept_in = await running
    full = await http.get(READY)
    leave_room(host, NO_LIMIT)
    ended = await until_over(http, kept.headers["location"])
    again, _ = await timed(http, "again")
    ready = await http.get(READY)
    print(f"refused in {refused_in:.1f} s, accepted in {kept_in:.1f} s")

    assert (refused.status_code, refused.json()["code"]) == (503, "log_unavailable")
    assert (full.status_code, full.json()["code"]) == (503, "log_unavailable")
    assert max(refused_in, kept_in) < MOST_SECONDS
    assert (kept.status_code, ended.status_code, ended.json()["response"]) == (202, 200, "echo: sleep 0.5")
    assert (again.status_code, ready.status_code) == (200, 200)
    assert app.model_calls("too late") == 0
