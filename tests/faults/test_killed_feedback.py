"""Feedback when a process is killed with SIGKILL between two steps of a change, and from two processes at once."""

from __future__ import annotations

import asyncio
import random
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.app_process import AppFolder
from tests.support.canary import gone
from tests.support.carriers import APP as SCRIPTED
from tests.support.carriers import GUARD_SECONDS, Api
from tests.support.grouped_app import grouped_app
from tests.support.kept_in import KINDS, kept_in
from tests.support.receiver import WEBHOOKS, Receiver, receiving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

APP = Path(__file__).resolve().parent / "feedback_app" / "function_app.py"
THREAD = "/api/agents/Joker/threads/t"
WORD = "quokka"
GOOD = {"score": 1, "label": "helpful", "comment": WORD}
UNRECORDED = ["after note 1", "before put 1"]
"""Before the record stands: there is none then."""
RECORDED = ["before signal 1", "before count 1", "before notify 1", "before forget 1", "after forget 1"]
MORE_POINTS = ["after signal 1", "after count 1", "after notify 1"]
EXPLORED = [pytest.param(point, "sqlite", marks=pytest.mark.explore) for point in MORE_POINTS]


def environ(receiver: Receiver) -> Mapping[str, str]:
    """What the app needs to tell this receiver."""
    chosen = {name: value for name, value in WEBHOOKS.items() if name != "AGENT_LOG"}
    return {**chosen, "RECEIVER": f"{receiver.url}/hook"}


async def give(api: Api) -> None:
    """Ask, and give feedback on the answer."""
    answer = await api.ask("say hello", thread_id="t")
    await api.http.post(f"{THREAD}/runs/{answer.json()['run_id']}/feedback", json=GOOD)


async def figures(api: Api) -> list[dict[str, Any]]:
    """Return the figures of feedback by day."""
    days = (await api.http.get("/api/agents/Joker/figures")).json()["days"]
    return [day["feedback"] for day in days if "feedback" in day]


def told_of_feedback(receiver: Receiver) -> list[Any]:
    """Return the messages about feedback that have come since."""
    arrived = [receiver.arrived.get_nowait() for _ in range(receiver.arrived.qsize())]
    return [one.verified() for one in arrived if b"feedback.given" in one.body]


async def repaired(api: Api) -> None:
    """Have the work of twice a day done."""
    assert (await api.http.post("/admin/functions/agents_retention", json={})).status_code == 202


@pytest.mark.behaviour("feedback.told")
@pytest.mark.parametrize(
    ("point", "stores"), [*kept_in(*KINDS, first="after put 1", rest=RECORDED), *EXPLORED], indirect=["stores"]
)
async def test_feedback_that_is_recorded_counts_once_and_is_told_once_whatever_dies(
    folder: AppFolder, point: str
) -> None:
    """Nobody asks again: the engine, or the work of twice a day, has the rest done by another process."""
    shutil.copy(APP, folder.path)
    async with receiving() as receiver:
        await folder.host_killed_by({**environ(receiver), "KILL": point}, give)
        with folder.host(environ(receiver)) as host:
            api = folder.api(host)

            async def until_told() -> list[Any]:
                messages = list[Any]()
                while not messages or not await figures(api):
                    await repaired(api)
                    await asyncio.sleep(0.2)
                    messages += told_of_feedback(receiver)
                return messages

            messages = await asyncio.wait_for(until_told(), 6 * GUARD_SECONDS)
            listed = (await api.http.get(f"{THREAD}/webhooks")).json()["deliveries"]
            shown = (await api.http.get(f"{THREAD}/feedback")).json()["feedback"]
            counted = await figures(api)
            await api.http.aclose()

    assert [(one["score"], one["label"], one["comment"]) for one in shown] == [(1, "helpful", WORD)]
    assert counted == [{"count": 1, "mean_score": 1.0, "labels": {"helpful": 1}}]
    assert {message["data"]["run_id"] for message in messages} == {shown[0]["run_id"]}
    assert [one["event"] for one in listed].count("feedback.given") == 1


@pytest.mark.behaviour("feedback.told")
@pytest.mark.parametrize(
    ("point", "stores"), kept_in(*KINDS, first="before note 1", rest=UNRECORDED), indirect=["stores"]
)
async def test_feedback_that_is_not_recorded_leaves_nothing(folder: AppFolder, point: str) -> None:
    """Its caller has no answer; when they send it again it is the first."""
    shutil.copy(APP, folder.path)
    async with receiving() as receiver:
        await folder.host_killed_by({**environ(receiver), "KILL": point}, give)
        with folder.host(environ(receiver)) as host:
            api = folder.api(host)
            await repaired(api)
            before = (await api.http.get(f"{THREAD}/feedback")).json()["feedback"], await figures(api)
            [run] = (await api.http.get(f"{THREAD}/runs")).json()["runs"]
            again = await api.http.post(f"{THREAD}/runs/{run['run_id']}/feedback", json=GOOD)
            await api.http.aclose()

    assert before == ([], [])
    assert again.status_code == 201


async def give_and_reset(api: Api) -> None:
    """Give feedback, and reset the thread when the figures have it."""
    await give(api)
    while not await figures(api):  # noqa: ASYNC110 - another process counts
        await asyncio.sleep(0.05)
    await api.http.post(f"{THREAD}/reset")


@pytest.mark.behaviour("feedback.erased")
@pytest.mark.parametrize("point", ["before drop 1", "after count 2", "after unlist 1", "after erase 1"])
async def test_feedback_before_a_reset_goes_by_itself_whatever_dies(folder: AppFolder, point: str) -> None:
    """Neither the record nor its figure is left, and nobody reads the feedback in between."""
    shutil.copy(APP, folder.path)
    async with receiving() as receiver:
        await folder.host_killed_by({**environ(receiver), "KILL": point}, give_and_reset)
        with folder.host(environ(receiver)) as host:
            api = folder.api(host)

            async def until_gone() -> None:
                await gone(folder.path / ".agents", WORD.encode())
                while await figures(api):  # noqa: ASYNC110 - another process counts
                    await asyncio.sleep(0.05)

            await asyncio.wait_for(until_gone(), 6 * GUARD_SECONDS)
            shown = (await api.http.get(f"{THREAD}/feedback")).json()["feedback"]
            await api.http.aclose()

    assert shown == []


@pytest.mark.behaviour("feedback.once")
async def test_two_people_at_once_keep_one_feedback_each_over_two_processes(tmp_path: Path) -> None:
    """Each sends many, to both processes by turns; the figures have the last of each, which both processes show."""
    shutil.copy(APP, tmp_path)
    for name in ("scripted.py", "host.json"):
        shutil.copy(SCRIPTED / name, tmp_path)
    chosen = random.Random(7)
    scores = {user: [round(chosen.random(), 2) for _ in range(12)] for user in ("ada", "bob")}
    log = {"AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}"}
    with grouped_app(tmp_path, log=log) as app:
        async with httpx.AsyncClient(base_url=f"{app.http[0].origin}/api/", timeout=60.0) as http:
            run = (await http.post("agents/Joker/run", json={"message": "say hello", "thread_id": "t"})).json()
            grant = {"issuer": "https://login.example", "id": "bob", "access": "read"}
            given = (await http.post("agents/Joker/threads/t/grants", json=grant)).json()["grant"]
            place = {"ada": "agents/Joker/threads/t", "bob": f"shared/{given}"}
            paths = {user: f"{place[user]}/runs/{run['run_id']}/feedback" for user in place}

            async def rate(user: str) -> list[int]:
                statuses = list[int]()
                for number, score in enumerate(scores[user]):
                    url = f"{app.http[number % 2].origin}/api/{paths[user]}"
                    sent = await http.post(url, json={"score": score, "label": user}, headers={"x-user": user})
                    statuses.append(sent.status_code)
                return statuses

            statuses = await asyncio.gather(rate("ada"), rate("bob"))
            shown = [
                (await http.get(f"{one.origin}/api/{paths['ada']}", headers={"x-user": "ada"})).json()["feedback"]
                for one in app.http
            ]
            mean_score = round((scores["ada"][-1] + scores["bob"][-1]) / 2, 3)
            expected = {"count": 2, "mean_score": mean_score, "labels": {"ada": 1, "bob": 1}}

            async def counted() -> list[Any]:
                days = (await http.get("agents/Joker/figures")).json()["days"]
                return [day.get("feedback") for day in days]

            async def until_counted() -> None:
                while await counted() != [expected]:  # noqa: ASYNC110 - another process counts
                    await asyncio.sleep(0.1)

            await asyncio.wait_for(until_counted(), 6 * GUARD_SECONDS)

    assert [*statuses] == [[201, *[200] * 11]] * 2
    latest = {one["by"]["id"]: one["score"] for one in shown[0]}
    assert latest == {user: values[-1] for user, values in scores.items()}
    assert shown[1] == shown[0]
