"""Runs whose attempts last for less than a second, in processes that are killed again and again: each step is one."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.event_stream import parse
from tests.support.grouped_app import grouped_app
from tests.support.kept_in import kept_in, settings_of
from tests.support.running_host import RunningHost
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

    async def until_made(self, calls: int) -> None:
        """Return once so many calls were made."""
        end = time.monotonic() + GUARD_SECONDS
        while len(made := self.keys()) < calls:
            assert time.monotonic() < end, f"{len(made)} calls, and not {calls}"
            await asyncio.sleep(0.02)


async def ended(http: httpx.AsyncClient, place: str) -> dict[str, Any]:
    """Return how the run at that place ended, once it has."""
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


@pytest.mark.behaviour("run.attempts")
async def test_a_request_that_waits_is_answered_by_a_later_attempt(tmp_path: Path) -> None:
    """Its own process held the first one."""
    app = StepsApp(tmp_path, {"AGENT_LOG": "sqlite:.agents/log.sqlite"}, STEPS="60")
    with RunningHost(app.path, environ=app.environ) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            answer = await http.post(RUN, json={"message": "go"})
            runs = f"/api/agents/Steps/threads/{answer.json()['thread_id']}/runs"
            listed = (await http.get(runs)).json()["runs"][0]

    assert (answer.status_code, answer.json()["response"]) == (200, "all done")
    assert len(app.keys()) == len(set(app.keys())) == 60
    assert listed["attempts"] > 2


@pytest.mark.behaviour("run.attempts")
async def test_a_function_that_may_work_for_half_a_minute_has_runs_that_take_longer(tmp_path: Path) -> None:
    """By the host's own `functionTimeout`, which ends nothing here: a stream ends before it, and goes on by its id."""
    app = StepsApp(
        tmp_path,
        {"AGENT_LOG": "sqlite:.agents/log.sqlite"},
        STEPS="300",
        STEP_SECONDS="0.06",
        AGENT_ATTEMPT_SECONDS="0",
        AzureFunctionsJobHost__functionTimeout="00:00:30",
    )
    with RunningHost(app.path, environ=app.environ) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            first = await http.post(RUN, json={"message": "go", "stream": True})
            begun = parse(first.text)
            place, told, streams = first.headers["content-location"], begun, 1
            while told[-1].event != "completed":
                last = next(frame.id for frame in reversed(told) if frame.id)
                told += parse((await http.get(place, headers={"last-event-id": last})).text)
                streams += 1
            runs = (await http.get(httpx.URL(place).path.rpartition("/runs/")[0] + "/runs")).json()["runs"][0]

    assert (len(app.keys()), len(set(app.keys()))) == (300, 300)
    assert 1 < streams < 10
    assert runs["attempts"] > 3
