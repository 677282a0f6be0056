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
