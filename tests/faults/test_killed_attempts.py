"""Runs of many attempts, in processes that are killed and updated again and again: each step is made once."""

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
from tests.support.event_stream import Frame, frames, parse
from tests.support.grouped_app import GroupedApp, GroupHost, grouped_app
from tests.support.kept_in import kept_in, settings_of
from tests.support.running_host import ROOT
from tests.support.whole_lines import whole_lines

pytestmark = pytest.mark.slow(seconds=60)

APP = Path(__file__).resolve().parent / "attempts_app"
GUARD_SECONDS = 90.0
STEPS, KILLS = 120, 4
RUN = "/api/agents/Steps/run"


class StepsApp:
    """A copy of the app over one log, and the calls that its processes made."""

    def __init__(self, folder: Path, log: dict[str, str], **settings: str) -> None:
        self.path = shutil.copytree(APP, folder / "app")
        self.notes = folder / "notes.txt"
        self.notes.touch()
        own = {"NOTES": str(self.notes), "STEPS": str(STEPS), "AGENT_RUN_TIMEOUT_SECONDS": "600"}
        self.environ = {**own, "AGENT_ATTEMPT_SECONDS": "0.5", **log, **settings}

    def keys(self) -> list[str]:
        """Return the keys of all calls of the tool, in their order."""
        return [line.split(" ")[1] for line in whole_lines(self.notes)]

    def waits(self) -> list[float]:
        """Return the seconds between each call and the one before it in the same process."""
        calls = [line.split(" ") for line in whole_lines(self.notes)]
        return [float(later[2]) - float(call[2]) for call, later in pairwise(calls) if call[0] == later[0]]

    async def until_made(self, calls: int) -> None:
        end = time.monotonic() + GUARD_SECONDS
        while len(made := self.keys()) < calls:
            assert time.monotonic() < end, f"{len(made)} calls, and not {calls}"
            await asyncio.sleep(0.02)


async def ended(http: httpx.AsyncClient, place: str) -> dict[str, Any]:
    end = time.monotonic() + GUARD_SECONDS
    while (answer := await http.get(place)).status_code == 202:
        assert time.monotonic() < end, answer.text
        await asyncio.sleep(0.05)
    return dict(answer.json())


@pytest.fixture(params=kept_in("sqlite", "tables", "redis"))
def log_settings(request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings of the log that all processes share."""
    return settings_of(request.param, request)


@pytest.mark.behaviour("run.attempts-killed")
async def test_each_step_is_made_once_though_attempts_end_and_processes_are_killed(
    tmp_path: Path, log_settings: dict[str, str], record_property: Any
) -> None:
    """Two durable processes by turns; a stream at another process goes on through all of it."""
    app = StepsApp(tmp_path, log_settings)
    with grouped_app(app.path, http=1, durable=2, log=app.environ) as grouped:
        async with httpx.AsyncClient(base_url=grouped.origin, timeout=GUARD_SECONDS) as http:
            accepted = (await http.post(RUN, json={"message": "go", "stream": True, "wait_for_response": False})).json()
            place = f"/api/agents/Steps/threads/{accepted['thread_id']}/runs/{accepted['run_id']}"
            reading = asyncio.ensure_future(http.get(f"{place}/events"))
            for number in range(KILLS):
                await app.until_made((number + 1) * STEPS // (KILLS + 1))
                killed = grouped.workers[number % 2]
                killed.kill()
                killed.start()
            run = await ended(http, place)
            told = parse((await asyncio.wait_for(reading, GUARD_SECONDS)).text)
            listed = (await http.get(place.rpartition("/")[0])).json()["runs"][0]

    keys = app.keys()
    attempts = [frame.fields["attempt"] for frame in told if frame.event in {"started", "restarted"}]
    assert (run["status"], run["response"]) == ("success", "all done")
    assert len(set(keys)) == STEPS
    assert len(keys) <= STEPS + KILLS
    assert attempts == list(range(1, listed["attempts"] + 1))
    assert len(attempts) > KILLS + 3
    assert [frame.event for frame in told if frame.event in {"completed", "failed", "timed_out"}] == ["completed"]
    record_property("measured", f"{STEPS} steps, {KILLS} kills: {len(attempts)} attempts, {len(keys)} calls")


LONG_STEPS, STEP_SECONDS, MINUTE = 500, 3.5, 60.0
UPDATES = {5: "ready", 10: "newest", 20: "ready"}
"""After so many minutes, and to which code: two upgrades, and the newest one is taken back."""


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


@pytest.mark.explore
@pytest.mark.timeout(2 * LONG_STEPS * STEP_SECONDS)
@pytest.mark.behaviour("run.attempts-killed")
async def test_a_run_of_half_an_hour_outlives_a_kill_each_minute_two_upgrades_and_a_rollback(
    tmp_path: Path, record_property: Any
) -> None:
    """Each step is made once for the model; the last ones cost what the first ones do."""
    deployment = Deployment(tmp_path)
    app = StepsApp(tmp_path, {"AGENT_LOG": "sqlite:.agents/log.sqlite"})
    own = {"STEPS": str(LONG_STEPS), "STEP_SECONDS": str(STEP_SECONDS), "AGENT_RUN_TIMEOUT_SECONDS": "7200"}
    environ = {**app.environ, **own, **deployment.environ, "AGENT_ATTEMPT_SECONDS": "45"}
    kills = 0
    with grouped_app(app.path, http=1, durable=2, log=environ) as grouped:
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
                assert kills <= 2 * LONG_STEPS * STEP_SECONDS / MINUTE, f"{len(app.keys())} calls, and it goes on"
                if kills in UPDATES:
                    deployment.choose(UPDATES[kills])
                    await asyncio.to_thread(update, grouped)
                victim = next(victims)
                victim.kill()
                await asyncio.to_thread(victim.start)
            seconds = time.monotonic() - began
            told = await reading
            run = await ended(http, place)

    keys, waits = app.keys(), app.waits()
    first, last = (statistics.median(part) - STEP_SECONDS for part in (waits[:50], waits[-50:]))
    attempts = [frame.fields["attempt"] for frame in told if frame.event in {"started", "restarted"}]
    positions = [int(frame.id) for frame in told if frame.id is not None]
    record_property(
        "measured",
        f"{len(set(keys))} steps in {seconds / 60:.0f} minutes, {kills} kills, {len(attempts)} attempts, "
        f"{len(keys)} calls; beside its work a step took {first * 1000:.0f} ms first and {last * 1000:.0f} ms last",
    )
    assert (run["status"], run["response"]) == ("success", "all done")
    assert len(set(keys)) == LONG_STEPS
    assert len(keys) <= LONG_STEPS + kills + len(UPDATES) * 2
    assert attempts == list(range(1, len(attempts) + 1))
    assert positions == sorted(set(positions))
    assert kills >= max(UPDATES)


async def _all_of(told: AsyncIterator[Frame]) -> list[Frame]:
    return [frame async for frame in told]
