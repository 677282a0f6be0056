"""A schedule whose process is killed at its tick, and one whose clock runs in two processes: its tick has one run."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.app_process import AppFolder, until_dead
from tests.faults.killing_app import ClerksApp
from tests.support.carriers import GUARD_SECONDS
from tests.support.running_host import RunningHost

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("schedules.one-run-per-tick"),
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

AHEAD_SECONDS = 2
ENGINE = "/runtime/webhooks/durabletask"


def soon() -> str:
    """Return the time of a tick that comes when its schedule has been made."""
    return (datetime.now(timezone.utc) + timedelta(seconds=AHEAD_SECONDS)).isoformat()


async def until(ask: Callable[[], Awaitable[Any]]) -> Any:
    """Return the first answer that is something, under the guard."""

    async def asked() -> Any:
        while not (found := await ask()):  # noqa: ASYNC110 - another process does it
            await asyncio.sleep(0.05)
        return found

    return await asyncio.wait_for(asked(), 3 * GUARD_SECONDS)


async def made(host: RunningHost, agent: str, message: str) -> str:
    """Make a schedule that runs once on the thread `t`, and return its path."""
    async with httpx.AsyncClient(base_url=host.origin) as http:
        body = {"at": soon(), "message": message, "thread_id": "t"}
        answer = await http.post(f"/api/agents/{agent}/schedules", json=body)
        assert answer.status_code == 201, answer.text
        return httpx.URL(answer.headers["location"]).path


async def ended_run(http: httpx.AsyncClient, agent: str, place: str) -> dict[str, Any]:
    """Return the one run of the thread, once the schedule has recorded it and it has ended."""

    async def last_run() -> Any:
        return (await http.get(place)).json()["last_run"]

    async def ended() -> Any:
        runs = (await http.get(f"/api/agents/{agent}/threads/t/runs")).json()["runs"]
        return runs if all(run["ended_at"] for run in runs) else None

    last = await until(last_run)
    (run,) = await until(ended)
    assert (last["run_id"], last["code"], run["status"]) == (run["run_id"], None, "success")
    return dict(run)


@pytest.mark.parametrize(
    "killed_at",
    [{"KILL": "after 2"}, {"KILL": "after 3"}, {"DEVHOST_CRASH_AT": "after-activity"}],
    ids=["the tick begun", "its run accepted", "all of it done"],
)
async def test_a_tick_whose_process_is_killed_has_its_run_in_the_next(
    tmp_path: Path, killed_at: dict[str, str]
) -> None:
    """One, whose end nobody had to ask for, and the schedule knows it."""
    app = ClerksApp(tmp_path, {"AGENT_LOG": "sqlite:.agents/log.sqlite"})
    with app.host(**killed_at) as host:
        place = await made(host, "Clerk", "hello")
        assert await until_dead(host) != 0

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin) as http:
            await ended_run(http, "Clerk", place)
            schedule = (await http.get(place)).json()

    assert (schedule["status"], schedule["next_run_at"]) == ("ended", None)


async def test_a_tick_whose_clock_runs_in_two_processes_has_one_run(tmp_path: Path) -> None:
    """Both are alive, over one log, each with an engine and a clock of its own that wakes at the same moment.

    Each engine has an entity of the thread too. An engine runs an entity once at a time, so each of the two takes the
    other's claim for one of a delivery that was lost, and takes the run over at once. Here the model is then asked by
    both, as by a zombie, and one answer counts; so this counts runs, and ends.
    """
    log = {"AGENT_LOG": f"sqlite:{tmp_path / 'shared' / 'log.sqlite'}"}
    folders = [AppFolder(tmp_path / name, log) for name in ("one", "two")]
    with folders[0].host() as one, folders[1].host() as two:
        place = await made(one, "Joker", "say hello")
        async with httpx.AsyncClient(base_url=one.origin) as http:
            (clock,) = [item for item in (await http.get(f"{ENGINE}/instances")).json() if "schedule" in item["name"]]
            async with httpx.AsyncClient(base_url=two.origin) as other:
                copied = f"{ENGINE}/orchestrators/{clock['name']}/{clock['instanceId']}"
                assert (await other.post(copied, content=clock["input"])).status_code == 202

                async def slept() -> bool:
                    answers = [await each.get(f"{ENGINE}/instances/{clock['instanceId']}") for each in (http, other)]
                    return {answer.json()["runtimeStatus"] for answer in answers} == {"Completed"}

                await until(slept)
                await ended_run(other, "Joker", place)
