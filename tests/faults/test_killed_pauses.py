"""Runs that are paused, that report, or that a schedule begins, whose process dies around each record of that."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.faults.killed_app import CLERK, KILLED, KilledApp, Row, Scenario, each_dies
from tests.support.carriers import Api

pytestmark = KILLED

SLOW = """
import asyncio
import os
from pathlib import Path

from agent_framework import Agent, tool
from hosting.tools import current, idempotent
from tests.support.clerk import ClerksClient


@idempotent
@tool
async def slow(n: str) -> str:
    note(f"begun {n}")
    await current().progress(0.25, "waits for its gate")
    while not Path(os.environ["NOTES"]).with_name("gate").exists():
        await asyncio.sleep(0.01)
    await current().progress(0.75, "is through its gate")
    note(f"ended {n}")
    return "done"


app = AgentFunctionApp(agents=[Agent(ClerksClient(), "Do as told.", name="Joker", tools=[slow])])
"""
"""An agent whose tool waits for a file. It notes when it begins and ends, and reports how far it is."""
DONE = "One moment.\n\ntold: done"
THREAD = "/api/agents/Joker/threads/t"


def open_the_gate(app: KilledApp) -> None:
    (app.path.parent / "gate").touch()


async def begin(app: KilledApp, api: Api) -> str:
    """Begin a run, and return where it is read, once its tool is at work."""
    answer = await api.ask("call slow 1", thread_id="t", wait_for_response=False)
    await app.until(lambda: "begun 1" in app.said)
    app.known["place"] = f"{THREAD}/runs/{answer.json()['run_id']}"
    return str(app.known["place"])


async def until_it_is(app: KilledApp, api: Api, status: str) -> Any:
    async def run() -> Any:
        shown = (await api.http.get(app.known["place"])).json()
        return shown["status"] == status and shown

    return await app.until(run)


async def attempts(api: Api) -> int:
    return int((await api.http.get(f"{THREAD}/runs")).json()["runs"][0]["attempts"])


async def pause(app: KilledApp, api: Api) -> None:
    place = await begin(app, api)
    if "released" in app.known["point"]:
        asyncio.get_running_loop().call_later(0.5, open_the_gate, app)
    await api.http.post(f"{place}/pause")


async def the_pause_stands(app: KilledApp, api: Api) -> None:
    """Asked for again it holds the run no longer than its step, and resumed it goes on: the tool ends once."""
    place = app.known["place"]
    assert (await api.http.post(f"{place}/pause")).status_code == 202
    open_the_gate(app)
    await until_it_is(app, api, "paused")
    before = await attempts(api)
    assert (await api.http.post(f"{place}/resume")).status_code == 202
    ended = await until_it_is(app, api, "success")

    assert (ended["response"], app.said.count("ended 1")) == (DONE, 1)
    assert await attempts(api) == before + 1


async def pause_and_resume(app: KilledApp, api: Api) -> None:
    place = await begin(app, api)
    await api.http.post(f"{place}/pause")
    open_the_gate(app)
    await until_it_is(app, api, "paused")
    await api.http.post(f"{place}/resume")


async def the_run_is_resumed(app: KilledApp, api: Api) -> None:
    """Also where the process died before the signal; the tool that had ended is not called again."""
    assert (await api.http.post(f"{app.known['place']}/resume")).status_code == 202
    ended = await until_it_is(app, api, "success")

    assert ended["response"] == DONE
    assert [app.said.count(line) for line in ("begun 1", "ended 1")] == [1, 1]


async def its_progress_was_kept(app: KilledApp, api: Api) -> None:
    """The next attempt reports anew; a run that has ended has none."""
    first = (await api.http.get(app.known["place"])).json()["progress"]
    open_the_gate(app)
    ended = await until_it_is(app, api, "success")
    events = (await api.http.get(f"{app.known['place']}/events")).text

    assert (first, "progress" in ended) == ({"share": 0.25, "text": "waits for its gate"}, False)
    assert events.count("is through its gate") == 1
    assert events.rindex("is through its gate") > events.rindex("waits for its gate")


@each_dies(
    Scenario(
        "pause",
        SLOW,
        [f"{side} {kind} 1" for kind in ("paused", "released") for side in ("after", "before")],
        pause,
        the_pause_stands,
    ).rows(pytest.mark.behaviour("runs.pause-survives-kill")),
    Scenario(
        "resume",
        SLOW,
        ["after resumed 1", "before resumed 1", "before claimed 2", "after claimed 2"],
        pause_and_resume,
        the_run_is_resumed,
    ).rows(pytest.mark.behaviour("runs.pause-survives-kill")),
    Scenario("progress", SLOW, ["after progressed 1"], begin, its_progress_was_kept).rows(
        pytest.mark.behaviour("runs.progress-survives-kill")
    ),
)
async def test_a_run_whose_process_dies_is_as_far_as_it_was(row: Row) -> None:
    """Whoever asks again has what they asked for."""
    await row.dies_and_ends()


AHEAD_SECONDS = 8.0
"""A schedule is this far ahead where hosts die over it before it is due."""
CLERKS_THREAD = "/api/agents/Clerk/threads/t"
INSTANCES = "/runtime/webhooks/durabletask/instances"


async def schedule(api: Api, message: str, seconds: float) -> str:
    """Make a schedule that runs once on the thread, so long from now, and return its path."""
    at = datetime.now(UTC) + timedelta(seconds=seconds)
    body = {"at": at.isoformat(), "message": message, "thread_id": "t"}
    answer = await api.http.post("/api/agents/Clerk/schedules", json=body)
    assert answer.status_code == 201, answer.text
    return httpx.URL(answer.headers["location"]).path


async def be_due(app: KilledApp, api: Api) -> None:
    app.known["place"] = await schedule(api, "hello", 3)


async def the_tick_has_its_run(app: KilledApp, api: Api) -> None:
    """One, of which nobody had to ask for its end, and the schedule knows it."""

    async def last_run() -> Any:
        return (await api.http.get(app.known["place"])).json()["last_run"]

    last = await app.until(last_run)
    [run] = await app.ended(api, CLERKS_THREAD)
    shown = (await api.http.get(app.known["place"])).json()

    assert (last["run_id"], last["code"], run["status"]) == (run["run_id"], None, "success")
    assert (shown["status"], shown["next_run_at"]) == ("ended", None)


async def be_ahead(app: KilledApp, api: Api) -> None:
    app.known["place"] = await schedule(api, "call look 1", AHEAD_SECONDS)


async def pause_the_schedule(app: KilledApp, api: Api) -> httpx.Response:
    return await api.http.post(f"{app.known['place']}/pause")


async def delete_the_schedule(app: KilledApp, api: Api) -> httpx.Response:
    return await api.http.delete(app.known["place"])


async def clocks(api: Api) -> list[Any]:
    listed = (await api.http.get(INSTANCES)).json()
    return [each for each in listed if each["runtimeStatus"] in ("Pending", "Running") and "schedule" in each["name"]]


async def no_clock_is_left(app: KilledApp, api: Api) -> None:
    """What had counted holds, what had not is as before: one run."""
    counts = app.known["point"].startswith("after")

    async def has_none() -> bool:
        return not await clocks(api)

    await app.until(has_none)
    runs = (await api.http.get(f"{CLERKS_THREAD}/runs")).json().get("runs", [])
    assert (len(runs), app.said) == ((0, []) if counts else (1, ["look 1"]))
    again = [(await call(app, api)).status_code for call in (pause_the_schedule, delete_the_schedule)]
    assert again[1] == 204


@each_dies(
    Scenario("tick", CLERK, ["after 4", "after 3", "engine after-activity:1"], be_due, the_tick_has_its_run).rows(
        pytest.mark.behaviour("schedules.one-run-per-tick")
    ),
    Scenario("paused", CLERK, ["after 1", "before 1"], pause_the_schedule, no_clock_is_left, be_ahead).rows(
        pytest.mark.behaviour("schedules.paused")
    ),
)
async def test_a_schedule_whose_process_dies_runs_once_or_not_at_all(row: Row) -> None:
    """As it was when it died."""
    await row.dies_and_ends()
