"""Schedules over HTTP: made, listed, read, paused, resumed, deleted; whose they are, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hosting.features.schedules.requests import MOST_BYTES
from tests.support.desk import Desk
from tests.support.owned_app import OwnedApp, with_roles
from tests.support.owned_app import owner as owner_of

PLACE = "/api/agents/Clerk/schedules"
DAILY = {"cron": "0 9 * * 1-5", "time_zone": "Europe/Berlin", "message": "Write the report", "thread_id": "reports"}


async def made(desk: Desk, **members: Any) -> dict[str, Any]:
    answer = await desk.http.post(PLACE, json={**DAILY, **members})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


@pytest.mark.behaviour("schedules.routes")
async def test_a_schedule_is_made_listed_read_paused_resumed_and_deleted(desk: Desk) -> None:
    """By its address, with what was asked of it; its clock is there while it runs, and nothing is left of it."""
    answer = await desk.http.post(PLACE, json=DAILY)
    schedule, place = answer.json(), answer.headers["location"]

    listed = await desk.http.get(PLACE)
    paused = await desk.http.post(f"{place}/pause")
    clocks = dict(desk.host.entities.clocks)
    resumed = await desk.http.post(f"{place}/resume")
    read = await desk.http.get(place)
    deleted = [(await desk.http.delete(place)).status_code for _ in range(2)]
    gone = await desk.http.get(place)

    assert (answer.status_code, place) == (201, f"http://app.example{PLACE}/{schedule['schedule_id']}")
    assert {name: schedule[name] for name in ("agent", "status", "cron", "time_zone", "thread_id", "request")} == {
        "agent": "Clerk",
        "status": "active",
        "cron": "0 9 * * 1-5",
        "time_zone": "Europe/Berlin",
        "thread_id": "reports",
        "request": {"message": "Write the report"},
    }
    unset = [schedule[name] for name in ("at", "busy", "last_run", "last_missed_at", "problem")]
    assert (unset, schedule["missed"]) == ([None] * 5, "run_once")
    assert schedule["next_run_at"] > schedule["created_at"]
    assert listed.json() == {"schedules": [schedule]}
    assert paused.json() == {**schedule, "status": "paused", "next_run_at": None}
    assert clocks == {}
    assert resumed.json() == schedule == read.json()
    assert (deleted, gone.status_code, gone.json()["code"]) == ([204, 204], 404, "unknown_schedule")
    assert desk.host.entities.clocks == {}


@pytest.mark.parametrize(
    ("changed", "status", "code"),
    [
        ({"cron": None}, 400, "invalid_field"),
        ({"at": "2030-01-01T00:00:00Z"}, 400, "invalid_field"),
        ({"cron": "* * * * * *"}, 400, "invalid_field"),
        ({"cron": None, "at": "2001-01-01T00:00:00Z"}, 400, "invalid_field"),
        ({"cron": None, "at": "0001-01-01T00:00:00+14:00"}, 400, "invalid_field"),
        ({"cron": None, "at": "9999-12-31T23:59:59-12:00"}, 400, "invalid_field"),
        ({"cron": None, "at": "0001-01-01T00:00:00", "time_zone": "Asia/Tokyo"}, 400, "invalid_field"),
        ({"cron": 5}, 400, "invalid_field"),
        ({"time_zone": "Mars"}, 400, "invalid_field"),
        ({"time_zone": "localtime"}, 400, "invalid_field"),
        ({"missed": "all"}, 400, "invalid_field"),
        ({"busy": "wait"}, 400, "invalid_field"),
        ({"thread_id": "a\nb"}, 400, "invalid_thread_id"),
        ({"session_id": "another"}, 400, "conflicting_thread_ids"),
        ({"message": " "}, 400, "missing_message"),
        ({"stream": True}, 400, "unknown_field"),
        ({"wait_for_response": False}, 400, "unknown_field"),
        ({"client_tools": [{"name": "where"}]}, 400, "invalid_field"),
        ({"client_tools": "where"}, 400, "invalid_field"),
        ({"message": "x" * MOST_BYTES}, 413, "body_too_large"),
    ],
)
async def test_what_is_no_schedule_is_refused(desk: Desk, changed: dict[str, Any], status: int, code: str) -> None:
    """With a code and what to send; nothing is made, and no clock."""
    answer = await desk.http.post(PLACE, json={**DAILY, **changed})

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert (await desk.http.get(PLACE)).json() == {"schedules": []}
    assert desk.host.entities.clocks == {}


@pytest.mark.behaviour("schedules.cost")
async def test_an_app_may_have_no_schedules() -> None:
    desk = Desk(AGENT_SCHEDULES="0")

    answer = await desk.http.post(PLACE, json=DAILY)
    document = (await desk.http.get("/api/openapi.json")).json()
    urls = [(await one.http.get("/api/agents")).json()["agents"][0]["schedules_url"] for one in (desk, Desk())]

    assert answer.status_code == 404
    assert urls == [None, f"http://app.example{PLACE}"]
    assert not [name for name in desk.host.functions if "schedule" in name]
    assert not [path for path in document["paths"] if "schedules" in path]


@pytest.mark.behaviour("schedules.owners")
async def test_a_persons_schedules_are_theirs_and_go_with_them() -> None:
    """Nobody else finds them; an administrator may read and delete them; an export has them, an erasure ends them."""
    owned = OwnedApp(with_roles, AGENT_ADMIN_ROLE="operators")
    schedule = (await owned.ask("ada", "POST", PLACE, json=DAILY)).json()
    place = f"{PLACE}/{schedule['schedule_id']}"
    owner = {"owner": owner_of("ada")}

    others = [await owned.ask("bob", method, place) for method in ("GET", "DELETE")]
    listed = (await owned.ask("bob", "GET", PLACE)).json()
    administered = (await owned.ask("root", "GET", PLACE, params=owner)).json()
    refused = await owned.ask("root", "POST", f"{place}/pause", params=owner)
    export = (await owned.ask("ada", "GET", "/api/owners/me/export")).json()
    erased = await owned.ask("ada", "DELETE", "/api/owners/me")

    assert [answer.status_code for answer in others] == [404, 204]
    assert (listed, administered) == ({"schedules": []}, {"schedules": [schedule]})
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert export["schedules"] == [schedule]
    assert erased.status_code == 200
    assert (await owned.ask("ada", "GET", PLACE)).json() == {"schedules": []}
    assert owned.host.entities.clocks == {}
    assert (await owned.ask(None, "GET", PLACE)).status_code == 401


@pytest.mark.behaviour("schedules.cost")
async def test_a_clock_carries_ids_alone(desk: Desk) -> None:
    await made(desk)

    text = json.dumps(desk.host.entities.clocks)

    assert "report" not in text
    assert len(desk.host.entities.clocks) == 1
