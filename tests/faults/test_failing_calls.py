"""Each call of a turn to its log fails, is late, or is done and its answer lost: over an account and over Redis.

One host has all the turns at once, each on a thread of its own, and in each another call is the one that fails.
"""

from __future__ import annotations

import asyncio
import math
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.event_stream import Frame, parse
from tests.support.failing_log import Faults, Proxy, in_each_way, proxied, set_for_each_call
from tests.support.kept_in import settings_of
from tests.support.running_host import ROOT, RunningHost

pytestmark = pytest.mark.slow

GUARD_SECONDS = 60.0
RUN = "/api/agents/Storm/run"
THREADS = "/api/agents/Storm/threads"


@dataclass(frozen=True)
class FailingApp:
    """The app on a host whose log is behind a proxy, and the file that counts what its tool did."""

    proxy: Proxy
    http: httpx.AsyncClient
    charges: Path

    async def charged(self, name: str) -> None:
        """Take a turn on the thread of that name, and check its answer."""
        body = {"message": f"charge 1 {name}", "thread_id": name}
        answer = await self._asked("POST", RUN, json=body, headers={"Idempotency-Key": name})
        assert answer.json().get("response") == f"charged {name}", (name, answer.text)

    async def told(self, name: str) -> tuple[list[str], list[str], list[str]]:
        """Return what the app tells of a thread: how its runs ended, on their streams too, and its entries."""
        thread = f"{THREADS}/{name}"
        runs = (await self._asked("GET", f"{thread}/runs")).json()["runs"]
        frames = await self._followed(f"{thread}/runs/{runs[0]['run_id']}/events")
        entries = (await self._asked("GET", f"{thread}/messages")).json()["entries"]
        ends = [frame.event for frame in frames if frame.event in ("completed", "failed", "cancelled")]
        return [run["status"] for run in runs], ends, [entry["type"] for entry in entries]

    async def _followed(self, path: str) -> list[Frame]:
        """Return the frames of a stream, read anew where it says that the log is away."""
        while (frames := parse((await self._asked("GET", path)).text))[-1].event == "unavailable":
            pass
        return frames

    async def _asked(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Return the answer, asked for again where a host says that its log is away."""
        while (answer := await self.http.request(method, path, **options)).status_code == 503:  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # the log fails for others meanwhile
        assert answer.status_code == 200, (path, answer.text)
        return answer


@pytest.fixture
def failing_log(request: pytest.FixtureRequest) -> Iterator[tuple[Proxy, dict[str, str]]]:
    """A proxy before a log, and the settings that name the log by way of it."""
    with proxied(settings_of(request.param, request), request) as made:
        yield made


@pytest.fixture
async def app(tmp_path: Path, failing_log: tuple[Proxy, dict[str, str]]) -> AsyncIterator[FailingApp]:
    folder, charges = tmp_path / "app", tmp_path / "charges.txt"
    folder.mkdir()
    charges.touch()
    shutil.copy(Path(__file__).parent / "storm_app" / "function_app.py", folder)
    shutil.copy(ROOT / "host.json", folder)
    proxy, environ = failing_log
    with RunningHost(folder, environ={**environ, "CHARGES": str(charges), "LEASE_SECONDS": "4"}) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            yield FailingApp(proxy, http, charges)


@pytest.mark.behaviour("turn.any-call-fails")
@in_each_way("failing_log")
async def test_a_turn_one_of_whose_calls_fails_ends_once_with_its_answer(app: FailingApp, faults: Faults) -> None:
    """Whichever call it is, and whether the log did what was asked or not; nothing is doubled."""
    plain = app.proxy.set("slow", text="plain-0", times=math.inf, seconds=0.0)
    await app.charged("plain-0")
    await app.told("plain-0")
    calls = plain.fired
    put = set_for_each_call(app.proxy, faults, calls)

    await asyncio.wait_for(asyncio.gather(*(app.charged(name) for name in put)), GUARD_SECONDS)
    told = await asyncio.gather(*(app.told(name) for name in put))

    fired = sum(fault.fired > 0 for fault in put.values())
    print(f"{calls} calls of a turn, {len(put)} turns, in {fired} of them one failed")
    once = (["success"], ["completed"], ["request", "response"])
    assert {name: one for name, one in zip(put, told, strict=True) if one != once} == {}
    assert Counter(app.charges.read_text(encoding="utf-8").split()) == Counter(["plain-0", *put])
