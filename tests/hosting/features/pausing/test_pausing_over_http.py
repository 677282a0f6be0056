"""The routes by which a run is paused and resumed: who may, what they answer, and where a paused run is seen."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.support.live_asgi import LiveTransport
from tests.support.owned_app import ISSUER, RUN, THREADS, OwnedApp
from tests.support.steered import Working

THREAD = f"{THREADS}/t"


class Worked(OwnedApp):
    """The app whose agent works until it is let go on."""

    def __init__(self) -> None:
        self.working = Working("Clerk")
        super().__init__(agent=self.working.agent)
        self.http = httpx.AsyncClient(transport=LiveTransport(self.host.asgi), base_url="http://app.example", timeout=5)

    async def begun(self) -> str:
        """Return where a run of Ada's is read that is at work."""
        body = {"message": "hi", "thread_id": "t", "wait_for_response": False}
        answer = await self.ask("ada", "POST", RUN, json=body)
        await self.working.at_work()
        return f"{THREAD}/runs/{answer.json()['run_id']}"

    async def until(self, place: str, status: str) -> dict[str, Any]:
        while (run := (await self.ask("ada", "GET", place)).json())["status"] != status:  # noqa: ASYNC110 - the run changes it
            await asyncio.sleep(0.005)
        return dict(run)

    async def paused(self) -> str:
        place = await self.begun()
        await self.ask("ada", "POST", f"{place}/pause")
        self.working.open()
        await self.until(place, "paused")
        return place


@pytest.fixture
async def worked() -> AsyncIterator[Worked]:
    app = Worked()
    async with app.http:
        yield app
    app.working.open()


@pytest.mark.behaviour("runs.pause")
async def test_a_run_is_paused_and_resumed(worked: Worked) -> None:
    """Both answer as a cancel does, with the status of the moment; the run ends as if nothing had been."""
    place = await worked.begun()
    asked = await worked.ask("ada", "POST", f"{place}/pause")
    worked.working.open()
    paused = await worked.until(place, "paused")
    exported = (await worked.ask("ada", "GET", f"{THREAD}/export")).json()["runs"][0]["paused"]
    listed = (await worked.ask("ada", "GET", f"{THREAD}/runs")).json()["runs"][0]["status"]
    again = await worked.ask("ada", "POST", f"{place}/pause")
    resumed = await worked.ask("ada", "POST", f"{place}/resume")
    ended = await worked.until(place, "success")
    late = [await worked.ask("ada", "POST", f"{place}/{verb}") for verb in ("pause", "resume")]

    assert [answer.status_code for answer in (asked, again, resumed, *late)] == [202] * 5
    assert [answer.json()["status"] for answer in (asked, again, resumed)] == ["pausing", "paused", "running"]
    assert asked.json() == {**{name: paused[name] for name in asked.json()}, "status": "pausing"}
    assert (paused["status"], listed, exported) == ("paused", "paused", "paused")
    assert [answer.json()["status"] for answer in late] == ["success", "success"]
    assert ended["response"]


@pytest.mark.behaviour("runs.pause-waits")
async def test_a_caller_who_waits_is_answered_when_the_run_is_paused(worked: Worked) -> None:
    """By 202 with the run's status; a reader of text is told how it goes on."""
    answers = [
        asyncio.ensure_future(
            worked.ask("ada", "POST", RUN, json={"message": "hi", "thread_id": name}, headers={"accept": accept})
        )
        for name, accept in (("t", "application/json"), ("u", "text/plain"))
    ]
    await worked.working.at_work(2)
    for name in ("t", "u"):
        runs = (await worked.ask("ada", "GET", f"{THREADS}/{name}/runs")).json()["runs"]
        await worked.ask("ada", "POST", f"{THREADS}/{name}/runs/{runs[0]['run_id']}/pause")
    worked.working.open()
    as_json, as_text = [await asyncio.wait_for(answer, 5) for answer in answers]

    assert (as_json.status_code, as_json.json()["status"]) == (202, "paused")
    assert as_text.status_code == 202
    assert "/resume to have it go on" in as_text.text


@pytest.mark.behaviour("runs.pause")
async def test_a_stream_and_a_timeline_show_the_pause(worked: Worked) -> None:
    """From the request on, and when the run stands; the timeline says how long."""
    place = await worked.paused()
    during = (await worked.ask("ada", "GET", f"{place}/timeline")).json()
    await worked.ask("ada", "POST", f"{place}/resume")
    await worked.until(place, "success")
    after = (await worked.ask("ada", "GET", f"{place}/timeline")).json()
    text = (await worked.ask("ada", "GET", f"{place}/events")).text
    frames = [
        frame.splitlines() for frame in text.split("\n\n") if "event: paused" in frame or "event: resumed" in frame
    ]
    shown = [(lines[1][7:], json.loads(lines[2][6:])["status"]) for lines in frames]

    assert shown == [("paused", "pausing"), ("paused", "paused"), ("resumed", "running")]
    assert during["status"] == "paused"
    assert [step["ended_at"] for step in during["steps"] if step["kind"] == "paused"] == [None]
    (step,) = [step for step in after["steps"] if step["kind"] == "paused"]
    assert step["ended_at"] > step["at"]


@pytest.mark.behaviour("runs.pause-owners")
@pytest.mark.parametrize(("access", "status"), [("read", 403), ("run", 202)])
async def test_a_person_with_whom_the_thread_is_shared_pauses_it_if_they_may_run_it(
    worked: Worked, access: str, status: int
) -> None:
    """As with a cancel; another person finds no such run."""
    place = await worked.begun()
    with_bob = {"issuer": ISSUER, "id": "bob", "access": access}
    grant = (await worked.ask("ada", "POST", f"{THREAD}/grants", json=with_bob)).json()["grant"]
    shared = f"/api/shared/{grant}/runs/{place.rpartition('/')[2]}"
    paused = await worked.ask("bob", "POST", f"{shared}/pause")
    resumed = await worked.ask("bob", "POST", f"{shared}/resume")
    stranger = [await worked.ask("eve", "POST", f"{place}/{verb}") for verb in ("pause", "resume")]

    assert (paused.status_code, resumed.status_code) == (status, status)
    assert [answer.status_code for answer in stranger] == [404, 404]
    assert (await worked.ask(None, "POST", f"{place}/pause")).status_code == 401


@pytest.mark.behaviour("runs.pause-owners")
async def test_an_owner_with_a_paused_run_is_erased(worked: Worked) -> None:
    place = await worked.paused()
    await worked.ask("ada", "DELETE", "/api/owners/me")
    kept = await worked.stored()
    gone = await worked.ask("ada", "POST", f"{place}/resume")

    assert not [key for key in kept if "hi" in json.dumps(kept[key])]
    assert gone.status_code in (404, 410)
