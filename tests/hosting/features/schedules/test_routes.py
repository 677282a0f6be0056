"""Schedules over HTTP, and when each is to begin a run."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest

from hosting.features.schedules.requests import MOST_BYTES
from hosting.features.schedules.times import Times, read_times
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


WRONG_SCHEDULES: list[tuple[Any, ...]] = [
    ({"cron": None}, 400, "invalid_field", "'cron' or 'at'"),
    ({"at": "2030-01-01T00:00:00Z"}, 400, "invalid_field", "'cron' or 'at'"),
    ({"cron": "* * * * * *"}, 400, "invalid_field", "five fields"),
    ({"cron": "* * * *"}, 400, "invalid_field", "five fields"),
    ({"cron": "61 * * * *"}, 400, "invalid_field", "Bad minute"),
    ({"cron": "@daily"}, 400, "invalid_field", "five fields"),
    ({"cron": "L/2 * * * *"}, 400, "invalid_field", "five fields"),
    ({"cron": "0 0 L/2 * L/2"}, 400, "invalid_field", "five fields"),
    ({"cron": "٠ * * * *"}, 400, "invalid_field", "five fields"),
    ({"cron": "0 0 30 2 *"}, 400, "invalid_field", "'0 0 30 2 *'"),
    ({"cron": "* * */20 * 1L"}, 400, "invalid_field", "which never comes"),
    ({"cron": "1," * 60 + "1 * * * *"}, 400, "invalid_field", "the limit is 100"),
    ({"time_zone": "../../etc/passwd"}, 400, "invalid_field", "tz database"),
    ({"time_zone": "Europe"}, 400, "invalid_field", "tz database"),
    ({"cron": None, "at": "tomorrow"}, 400, "invalid_field", "'tomorrow'"),
    ({"cron": None, "at": "2026-13-01T00:00:00Z"}, 400, "invalid_field", "'2026-13-01T00:00:00Z'"),
    ({"cron": None, "at": "2001-01-01T00:00:00Z"}, 400, "invalid_field"),
    ({"cron": None, "at": "0001-01-01T00:00:00+14:00"}, 400, "invalid_field"),
    ({"cron": None, "at": "9999-12-31T23:59:59-12:00"}, 400, "invalid_field"),
    ({"cron": None, "at": "0001-01-01T00:00:00", "time_zone": "Asia/Tokyo"}, 400, "invalid_field"),
    ({"cron": 5}, 400, "invalid_field"),
    ({"time_zone": "Mars"}, 400, "invalid_field", "'Mars'"),
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
]


async def test_what_is_no_schedule_is_refused(desk: Desk) -> None:
    """With a code and what to send; nothing is made, and no clock."""
    for changed, status, code, *said in WRONG_SCHEDULES:
        answer = await desk.http.post(PLACE, json={**DAILY, **changed})

        assert (answer.status_code, answer.json()["code"]) == (status, code), changed
        assert all(word in answer.json()["detail"] for word in said), changed
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


BERLIN = "Europe/Berlin"


def at(text: str) -> float:
    """Return the seconds since 1970 of a time in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def ticks(times: Times, after: str, until: str) -> list[str]:
    """Return the ticks between two times in UTC, as such times."""
    found: list[str] = []
    moment = times.after(at(after))
    while moment is not None and moment <= at(until):
        found.append(f"{datetime.fromtimestamp(moment, UTC):%m-%d %H:%M}")
        moment = times.after(moment)
    return found


@pytest.mark.behaviour("schedules.times")
@pytest.mark.parametrize(
    ("cron", "time_zone", "after", "until", "expected"),
    [
        ("0 9 * * 1-5", "UTC", "2026-11-26", "2026-12-01", ["11-26 09:00", "11-27 09:00", "11-30 09:00"]),
        ("0 9 * * *", BERLIN, "2026-10-24", "2026-10-26", ["10-24 07:00", "10-25 08:00"]),
        ("30 2 * * *", BERLIN, "2026-03-28", "2026-03-30T12:00", ["03-28 01:30", "03-29 01:00", "03-30 00:30"]),
        ("30 2 * * *", BERLIN, "2026-10-24", "2026-10-26", ["10-24 00:30", "10-25 00:30"]),
        ("0 * * * *", BERLIN, "2026-10-24T23:30", "2026-10-25T02:30", ["10-25 00:00", "10-25 01:00", "10-25 02:00"]),
        ("0 * * * *", BERLIN, "2026-03-28T23:30", "2026-03-29T02:30", ["03-29 00:00", "03-29 01:00", "03-29 02:00"]),
        ("0 0 29 2 *", "UTC", "2026-01-01", "2030-01-01", ["02-29 00:00"]),
    ],
    ids=["weekdays", "nine is nine", "left out", "twice", "hourly, twice", "hourly, left out", "leap years"],
)
def test_the_ticks_of_a_cron_expression(cron: str, time_zone: str, after: str, until: str, expected: list[str]) -> None:
    """In the time zone: a fixed time comes once a day also when the clocks are set, an hourly one each hour."""
    assert ticks(read_times(cron, time_zone, None), after, until) == expected


@pytest.mark.parametrize("cron", ["30 2 * * *", "0,30 1,2,3 * * *", "15 */2 * * *"])
@pytest.mark.parametrize("time_zone", [BERLIN, "America/St_Johns"])
@pytest.mark.parametrize("day", ["2026-03-28", "2026-10-31"])
def test_the_newest_tick_is_the_one_that_comes_when_each_is_followed(cron: str, time_zone: str, day: str) -> None:
    """From wherever one looks back, on days when clocks are set; and a look ahead never finds an older one."""
    times, begin = Times(cron, time_zone), at(day)
    moments = [begin + minutes * 60 for minutes in range(0, 3 * 24 * 60, 97)]
    followed: list[float] = []
    tick = times.after(begin)
    while tick is not None and tick <= moments[-1]:
        followed.append(tick)
        tick = times.after(tick)

    assert all(one < other for one, other in pairwise(followed))
    for moment in moments:
        assert times.newest(begin, moment) == max((one for one in followed if one <= moment), default=None)
        ahead = times.after(moment)
        assert ahead is not None
        assert ahead == min((one for one in followed if one > moment), default=ahead)
