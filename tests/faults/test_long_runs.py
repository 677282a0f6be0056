"""A run of half an hour, in processes that are killed and updated again and again: each step is made once."""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from hosting.core.thread.versions import NEWEST_VERSION, VERSION
from tests.support.code_versions import version_of_code
from tests.support.event_stream import Frame, frames
from tests.support.grouped_app import GroupedApp, GroupHost, grouped_app
from tests.support.running_host import ROOT
from tests.support.whole_lines import whole_lines

pytestmark = [pytest.mark.slow, pytest.mark.explore]

APP = Path(__file__).resolve().parent / "attempts_app"
STEPS, STEP_SECONDS, MINUTE = 500, 3.5, 60.0
UPDATES = {5: "ready", 10: "newest", 20: "ready"}
"""After so many minutes, and to which code: two upgrades, and the newest one is taken back."""
GUARD_SECONDS = 90.0
RUN = "/api/agents/Steps/run"


class Calls:
    """The calls of the tool that processes of the app made, as its notes have them: process, key and time."""

    def __init__(self, notes: Path) -> None:
        self._calls = [line.split(" ") for line in whole_lines(notes)]
        self.keys = [key for _, key, _ in self._calls]

    def waits(self) -> list[float]:
        """Return the seconds between each call and the one before it in the same process."""
        pairs = pairwise(self._calls)
        return [float(later[2]) - float(call[2]) for call, later in pairs if call[0] == later[0]]


async def ended(http: httpx.AsyncClient, place: str) -> dict[str, Any]:
    end = time.monotonic() + GUARD_SECONDS
    while (answer := await http.get(place)).status_code == 202:
        assert time.monotonic() < end, answer.text
        await asyncio.sleep(0.05)
    return dict(answer.json())


class Deployment:
    """The code that the processes of an app start from: `first` reads what all write, as does what follows it."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.link = folder, folder / "code"
        self._versions = {
            "first": (VERSION, NEWEST_VERSION),
            "ready": (VERSION, NEWEST_VERSION + 1),
            "newest": (NEWEST_VERSION + 1, NEWEST_VERSION + 1),
        }
        self.choose("first")

    def choose(self, name: str) -> None:
        """Have processes that are started from now on run that code."""
        code = version_of_code(self._folder, name, *self._versions[name])
        self.link.unlink(missing_ok=True)
        self.link.symlink_to(code)

    @property
    def environ(self) -> Mapping[str, str]:
        return {"PYTHONPATH": os.pathsep.join([str(self.link), str(ROOT)])}


async def followed(http: httpx.AsyncClient, place: str) -> AsyncIterator[Frame]:
    """Yield what a client sees of a run that comes again behind the newest position whenever its stream ends."""
    newest = ""
    while True:
        try:
            headers = {"Last-Event-ID": newest} if newest else {}
            async with http.stream("GET", f"{place}/events", headers=headers) as response:
                if response.status_code == 200:
                    async for frame in frames(response):
                        newest = frame.id or newest
                        yield frame
                        if frame.event in {"completed", "failed", "timed_out", "cancelled"}:
                            return
        except httpx.TransportError:
            pass
        await asyncio.sleep(0.5)


def update(grouped: GroupedApp) -> None:
    """Start each process again, one after another, as a rolling deployment does."""
    for host in (*grouped.http, *grouped.workers):
        host.stop()
        host.start()


@pytest.mark.timeout(2 * STEPS * STEP_SECONDS)
@pytest.mark.behaviour("run.attempts-killed")
async def test_a_run_of_half_an_hour_outlives_a_kill_each_minute_two_upgrades_and_a_rollback(
    tmp_path: Path, record_property: Any
) -> None:
    """Each step is made once for the model; the last ones cost what the first ones do."""
    deployment = Deployment(tmp_path)
    notes = tmp_path / "notes.txt"
    notes.touch()
    environ = {
        "AGENT_LOG": "sqlite:.agents/log.sqlite",
        "AGENT_RUN_TIMEOUT_SECONDS": "7200",
        "AGENT_ATTEMPT_SECONDS": "45",
        "NOTES": str(notes),
        "STEPS": str(STEPS),
        "STEP_SECONDS": str(STEP_SECONDS),
        **deployment.environ,
    }
    kills = 0
    with grouped_app(shutil.copytree(APP, tmp_path / "app"), http=1, durable=2, log=environ) as grouped:
        async with httpx.AsyncClient(base_url=grouped.origin, timeout=GUARD_SECONDS) as http:
            accepted = (await http.post(RUN, json={"message": "go", "stream": True, "wait_for_response": False})).json()
            place = f"/api/agents/Steps/threads/{accepted['thread_id']}/runs/{accepted['run_id']}"
            reading = asyncio.ensure_future(_all_of(followed(http, place)))
            victims: Iterator[GroupHost] = cycle(grouped.workers)
            began = time.monotonic()
            while not reading.done():
                await asyncio.wait([reading], timeout=began + (kills + 1) * MINUTE - time.monotonic())
                if reading.done():
                    break
                kills += 1
                assert kills <= 2 * STEPS * STEP_SECONDS / MINUTE, f"{len(Calls(notes).keys)} calls, and it goes on"
                if kills in UPDATES:
                    deployment.choose(UPDATES[kills])
                    await asyncio.to_thread(update, grouped)
                victim = next(victims)
                victim.kill()
                await asyncio.to_thread(victim.start)
            seconds = time.monotonic() - began
            told = await reading
            run = await ended(http, place)

    calls = Calls(notes)
    keys, waits = calls.keys, calls.waits()
    first, last = (statistics.median(part) - STEP_SECONDS for part in (waits[:50], waits[-50:]))
    attempts = [frame.fields["attempt"] for frame in told if frame.event in {"started", "restarted"}]
    positions = [int(frame.id) for frame in told if frame.id is not None]
    record_property(
        "measured",
        f"{len(set(keys))} steps in {seconds / 60:.0f} minutes, {kills} kills, {len(attempts)} attempts, "
        f"{len(keys)} calls; beside its work a step took {first * 1000:.0f} ms first and {last * 1000:.0f} ms last",
    )
    assert (run["status"], run["response"]) == ("success", "all done")
    assert len(set(keys)) == STEPS
    assert len(keys) <= STEPS + kills + len(UPDATES) * 2
    assert attempts == list(range(1, len(attempts) + 1))
    assert positions == sorted(set(positions))
    assert kills >= max(UPDATES)


async def _all_of(told: AsyncIterator[Frame]) -> list[Frame]:
    return [frame async for frame in told]
