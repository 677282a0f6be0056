"""A schedule whose process is killed at a tick, a pause or a deletion; one whose clock runs in two processes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
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
CHANGED_WITHIN_SECONDS = 15
"""A schedule is this far ahead where hosts are to die over it before it is due."""
ENGINE = "/runtime/webhooks/durabletask"
THREADS = "/api/agents/Clerk/threads"
UNDER_WAY = ("Pending", "Running")


async def until(ask: Callable[[], Awaitable[Any]], ahead_seconds: float = 0) -> Any:
    """Return the first answer that is something, under the guard; it begins when what was that far ahead is due."""

    async def asked() -> Any:
        while not (found := await ask()):  # noqa: ASYNC110 - another process does it
            await asyncio.sleep(0.05)
        return found

    return await asyncio.wait_for(asked(), ahead_seconds + 3 * GUARD_SECONDS)


async def made(
    host: RunningHost, agent: str, message: str, thread_id: str = "t", ahead_seconds: float = AHEAD_SECONDS
) -> str:
    """Make a schedule that runs once on the thread, so long after it has been made, and return its path."""
    at = datetime.now(UTC) + timedelta(seconds=ahead_seconds)
    async with httpx.AsyncClient(base_url=host.origin) as http:
        body = {"at": at.isoformat(), "message": message, "thread_id": thread_id}
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
    [{"KILL": "after 3"}, {"KILL": "after 4"}, {"DEVHOST_CRASH_AT": "after-activity"}],
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
                given = clock["input"] if isinstance(clock["input"], str) else json.dumps(clock["input"])
                assert (await other.post(copied, content=given)).status_code == 202

                async def slept() -> bool:
                    answers = [await each.get(f"{ENGINE}/instances/{clock['instanceId']}") for each in (http, other)]
                    return {answer.json()["runtimeStatus"] for answer in answers} == {"Completed"}

                await until(slept)
                await ended_run(other, "Joker", place)


@dataclass(frozen=True)
class Change:
    """A request that changes a schedule, the point at which its host is killed, and whether it counted by then."""

    verb: str
    kill: str
    counts: bool

    @property
    def thread(self) -> str:
        """The thread of its schedule's runs."""
        return f"{self.verb}-{self.kill.replace(' ', '-')}"

    async def send(self, http: httpx.AsyncClient, place: str) -> httpx.Response:
        """Send it."""
        return await (http.delete(place) if self.verb == "delete" else http.post(f"{place}/pause"))


CHANGES = (
    Change("pause", "before 1", counts=False),
    Change("pause", "after 1", counts=True),
    Change("delete", "before 1", counts=False),
    Change("delete", "after 1", counts=True),
    Change("delete", "after forget", counts=True),
)


@dataclass(frozen=True)
class Schedule:
    """One schedule, the clock that it had when it was made, and the host that dies over it."""

    change: Change
    place: str
    clock: dict[str, Any]
    host: RunningHost


async def clock_of(http: httpx.AsyncClient, place: str) -> dict[str, Any]:
    """Return the clock of the schedule, as the engine has it; empty where it has none."""
    listed = (await http.get(f"{ENGINE}/instances")).json()
    named = f'"{place.rpartition("/")[2]}"'
    return next((dict(one) for one in listed if named in json.dumps(one["input"]).replace("\\", "")), {})


async def changed_by_the_dying(schedule: Schedule) -> None:
    """Send the change to its host, which dies of it without an answer."""
    async with httpx.AsyncClient(base_url=schedule.host.origin) as http:
        with contextlib.suppress(httpx.TransportError):
            await schedule.change.send(http, schedule.place)
    assert await until_dead(schedule.host) == -9


async def runs_after_its_tick(http: httpx.AsyncClient, schedule: Schedule) -> list[dict[str, Any]]:
    """Return the runs of the schedule's thread, once its clock has woken and done what it does."""

    async def woken() -> bool:
        clock = await clock_of(http, schedule.place)
        return not clock or clock["runtimeStatus"] not in UNDER_WAY or clock["input"] != schedule.clock["input"]

    async def ended() -> Any:
        answer = await http.get(f"{THREADS}/{schedule.change.thread}/runs")
        runs = [] if answer.status_code == 404 else answer.json()["runs"]
        return (runs,) if all(run["ended_at"] for run in runs) else None

    try:
        await until(woken, CHANGED_WITHIN_SECONDS)
    except TimeoutError:
        pytest.fail(f"{schedule} has not woken: {await clock_of(http, schedule.place)}")
    (runs,) = await until(ended)
    return list(runs)


@pytest.mark.behaviour("schedules.paused")
@pytest.mark.behaviour("schedules.deleted")
async def test_what_a_killed_host_paused_or_deleted_starts_no_run_in_the_other(tmp_path: Path) -> None:
    """What had counted holds, what had not is as before: one run. The same request ends it, and no clock is left.

    The hosts that die listen for HTTP alone, so the clocks wake in the host that lives.
    """
    app = ClerksApp(tmp_path, {"AGENT_LOG": "sqlite:.agents/log.sqlite"})
    with contextlib.ExitStack() as hosts:
        living = hosts.enter_context(app.host())
        dying = [hosts.enter_context(app.host(KILL=one.kill, FUNCTIONS_TARGET_GROUP="http")) for one in CHANGES]
        async with httpx.AsyncClient(base_url=living.origin) as http:
            ahead = CHANGED_WITHIN_SECONDS
            places = [await made(living, "Clerk", "call look 1", one.thread, ahead_seconds=ahead) for one in CHANGES]
            clocks = [await clock_of(http, place) for place in places]
            schedules = list(map(Schedule, CHANGES, places, clocks, dying))
            await asyncio.gather(*map(changed_by_the_dying, schedules))
            there = [(await http.get(place)).status_code for place in places]
            runs = [await runs_after_its_tick(http, one) for one in schedules]
            again = [(await one.change.send(http, one.place)).status_code for one in schedules]
            left = [await clock_of(http, place) for place in places]

    assert there == [200, 200, 200, 200, 404]
    assert [[run["status"] for run in each] for each in runs] == [
        [] if change.counts else ["success"] for change in CHANGES
    ]
    assert again == [200, 200, 204, 204, 204]
    assert left == [{}] * len(CHANGES)
    assert app.notes() == ["look", "look"]
