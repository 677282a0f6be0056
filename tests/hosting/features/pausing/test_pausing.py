"""Runs that a person has stand still: over HTTP, by their holder, by another process, and by their entity."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from hosting.core.promised_runs import SWEPT_SECONDS, PromiseSweep
from hosting.names import Address
from tests.support.cluster.cluster import AGENT, AppProcess, Cluster
from tests.support.owned_app import ISSUER, owner, signed_in
from tests.support.steered import Working

pytestmark = pytest.mark.moved_time

THREADS = f"/api/agents/{AGENT}/threads"
THREAD = f"{THREADS}/t"
ADDRESS = Address.of(AGENT, "t", owner("ada"))
FIRST_ROUND = ["accepted", "claimed", "model_result", "tool_started", "paused", "tool_result", "released"]
SECOND_ROUND = ["resumed", "claimed", "model_result", "tool_started", "tool_result", "completed"]


class Stage:
    """Two processes; the first has the run of Ada's, whose tool works until it is let go on."""

    def __init__(self) -> None:
        self.working = Working(gate=asyncio.Event)
        self.cluster = Cluster(lambda: self.working.agent, principal=signed_in)
        self.waiting = list[asyncio.Future[httpx.Response]]()
        self.here, self.there = self.cluster.process(), self.cluster.process()

    async def ask(
        self, method: str, path: str, user: str | None = "ada", app: AppProcess | None = None, **options: Any
    ) -> httpx.Response:
        headers = {**({"x-user": user} if user else {}), **options.pop("headers", {})}
        return await (app or self.here).http.request(method, path, headers=headers, **options)

    async def read(self, path: str) -> Any:
        return (await self.ask("GET", path)).json()

    async def begun(self, message: str = "hi") -> str:
        """Return where a run is read that is at work."""
        body = {"message": message, "thread_id": "t"}
        self.waiting.append(asyncio.ensure_future(self.ask("POST", f"/api/agents/{AGENT}/run", json=body)))
        await self.cluster.sleep(1)
        return f"{THREAD}/runs/{(await self.read(f'{THREAD}/runs'))['runs'][0]['run_id']}"

    async def go_on(self) -> None:
        """Let the tool and the model go on, and the run as far as it goes."""
        self.working.open()
        await self.cluster.sleep(1)

    async def paused(self) -> str:
        place = await self.begun()
        await self.ask("POST", f"{place}/pause")
        await self.go_on()
        return place


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    stage = Stage()
    yield stage
    await stage.cluster.close()


@pytest.mark.behaviour("runs.pause")
async def test_a_paused_run_stops_behind_its_tool_and_goes_on_in_another_process(stage: Stage) -> None:
    """Whoever asks is answered as by a cancel. No process holds it meanwhile; the tool that ended is called once."""
    place = await stage.begun()
    asked = await stage.ask("POST", f"{place}/pause")
    await stage.go_on()
    paused, held = await stage.read(place), dict(stage.here.holders.held)
    exported = (await stage.read(f"{THREAD}/export"))["runs"][0]["paused"]
    listed = (await stage.read(f"{THREAD}/runs"))["runs"][0]["status"]
    threads = [(await stage.read(f"{THREADS}?status={status}"))["threads"] for status in ("paused", "running")]
    again = await stage.ask("POST", f"{place}/pause", app=stage.there)
    resumed = await stage.ask("POST", f"{place}/resume", app=stage.there)
    await stage.cluster.deliver(stage.there)
    ended = await stage.read(place)
    late = [await stage.ask("POST", f"{place}/{verb}") for verb in ("pause", "resume")]

    assert [answer.status_code for answer in (asked, again, resumed, *late)] == [202] * 5
    assert [answer.json()["status"] for answer in (asked, again, resumed)] == ["pausing", "paused", "running"]
    assert asked.json() == {**{name: paused[name] for name in asked.json()}, "status": "pausing"}
    assert (paused["status"], listed, exported, held) == ("paused", "paused", "paused", {})
    assert [[thread["status"] for thread in page] for page in threads] == [["paused"], []]
    assert [answer.json()["status"] for answer in late] == [ended["status"], "success"]
    assert await stage.here.kinds(ADDRESS) == [*FIRST_ROUND, *SECOND_ROUND]
    assert stage.working.round == 2


@pytest.mark.behaviour("runs.pause")
async def test_a_run_that_is_paused_while_its_model_thinks_calls_no_tool(stage: Stage) -> None:
    """The answer is recorded, so the model is not called for it again."""
    stage.working.client.gate.clear()
    place = await stage.paused()
    begun = stage.working.round
    await stage.ask("POST", f"{place}/resume")
    await stage.cluster.deliver(stage.here)

    kinds = await stage.here.kinds(ADDRESS)
    assert (begun, len(stage.working.client.shown)) == (0, 3)
    assert kinds[:5] == ["accepted", "claimed", "paused", "model_result", "released"]
    assert kinds[-1] == "completed"


@pytest.mark.behaviour("runs.pause-waits")
async def test_the_entity_of_a_paused_run_leaves_no_signal_and_resume_has_one_for_all_that_wait(stage: Stage) -> None:
    """The operations of those behind it are over too; one signal has all of them ended in their order."""
    place = await stage.paused()
    behind = await stage.begun("and then")
    await asyncio.wait_for(stage.cluster.deliver(stage.there), 1)
    await stage.ask("POST", f"{place}/resume")
    orders = [order["run_id"] for _, order in stage.cluster.engine.sent]
    await stage.cluster.deliver(stage.there)

    assert orders == [behind.rpartition("/")[2]]
    assert [(await stage.read(each))["status"] for each in (place, behind)] == ["success"] * 2


@pytest.mark.behaviour("runs.pause-survives-kill")
async def test_a_sweep_goes_on_with_a_run_whose_process_died_between_its_resume_and_the_signal(stage: Stage) -> None:
    """The pause left a mark before; while it stands, the sweep lets the run be."""
    place, engine, there = await stage.paused(), stage.cluster.engine, stage.there
    await stage.cluster.deliver(there)
    stage.cluster.wall_ahead += 2 * SWEPT_SECONDS
    sweep = PromiseSweep(there.promised, there.log, lambda: [AGENT])
    await sweep.run(there.engine)
    while_paused = list(engine.sent)
    engine.is_away = True
    refused = await stage.ask("POST", f"{place}/resume")
    engine.is_away = False
    stage.here.die()
    await sweep.run(there.engine)
    await stage.cluster.deliver(there)
    ended = (await stage.ask("GET", place, app=there)).json()
    await sweep.run(there.engine)

    assert (while_paused, refused.status_code, ended["status"]) == ([], 503, "success")
    assert await there.promised.marked() == []


@pytest.mark.behaviour("runs.pause-survives-kill")
async def test_a_run_is_not_paused_where_that_cannot_be_marked(stage: Stage) -> None:
    place = await stage.begun()
    stage.here.attachments.is_away = True
    refused = await stage.ask("POST", f"{place}/pause")
    stage.here.attachments.is_away = False
    kinds = await stage.here.kinds(ADDRESS)
    assert (refused.status_code, "is not paused" in refused.json()["detail"], "paused" in kinds) == (503, True, False)
    assert (await stage.ask("POST", f"{place}/pause")).json()["status"] == "pausing"


@pytest.mark.behaviour("runs.pause-waits")
async def test_a_caller_who_waits_is_answered_when_the_run_is_paused(stage: Stage) -> None:
    """By 202 with the run's status; a reader of text is told how it goes on."""
    body, names = {"message": "hi"}, {"t": "application/json", "u": "text/plain"}
    asking = [
        stage.ask("POST", f"/api/agents/{AGENT}/run", json={**body, "thread_id": name}, headers={"accept": accept})
        for name, accept in names.items()
    ]
    answers = [asyncio.ensure_future(each) for each in asking]
    await stage.cluster.sleep(1)
    for name in names:
        [run] = (await stage.read(f"{THREADS}/{name}/runs"))["runs"]
        await stage.ask("POST", f"{THREADS}/{name}/runs/{run['run_id']}/pause")
    await stage.go_on()
    as_json, as_text = [await asyncio.wait_for(answer, 5) for answer in answers]

    assert (as_json.status_code, as_json.json()["status"], as_text.status_code) == (202, "paused", 202)
    assert "/resume to have it go on" in as_text.text


@pytest.mark.behaviour("runs.pause")
async def test_a_stream_and_a_timeline_show_the_pause(stage: Stage) -> None:
    """From the request on, and when the run stands; the timeline says how long."""
    place = await stage.paused()
    during = await stage.read(f"{place}/timeline")
    await stage.ask("POST", f"{place}/resume")
    await stage.cluster.deliver(stage.here)
    after = await stage.read(f"{place}/timeline")
    text = (await stage.ask("GET", f"{place}/events")).text

    frames = [frame.splitlines() for frame in text.split("\n\n") if "event: paused" in frame or "event: resum" in frame]
    shown = [(lines[1][7:], json.loads(lines[2][6:])["status"]) for lines in frames]
    assert shown == [("paused", "pausing"), ("paused", "paused"), ("resumed", "running")]
    assert during["status"] == "paused"
    assert [step["ended_at"] for step in during["steps"] if step["kind"] == "paused"] == [None]
    (step,) = [step for step in after["steps"] if step["kind"] == "paused"]
    assert step["ended_at"] > step["at"]


@pytest.mark.behaviour("runs.pause-owners")
@pytest.mark.parametrize(("access", "status"), [("read", 403), ("run", 202)])
async def test_a_person_with_whom_the_thread_is_shared_pauses_it_if_they_may_run_it(
    stage: Stage, access: str, status: int
) -> None:
    """As with a cancel; another person finds no such run."""
    place = await stage.begun()
    grant = {"issuer": ISSUER, "id": "bob", "access": access}
    given = (await stage.ask("POST", f"{THREAD}/grants", json=grant)).json()["grant"]
    shared = f"/api/shared/{given}/runs/{place.rpartition('/')[2]}"
    by_bob = [(await stage.ask("POST", f"{shared}/{verb}", "bob")).status_code for verb in ("pause", "resume")]
    strangers = [(await stage.ask("POST", f"{place}/{verb}", "eve")).status_code for verb in ("pause", "resume")]
    assert (by_bob, strangers) == ([status] * 2, [404] * 2)
    assert (await stage.ask("POST", f"{place}/pause", None)).status_code == 401


@pytest.mark.behaviour("runs.pause-owners")
async def test_an_owner_with_a_paused_run_is_erased(stage: Stage) -> None:
    def said() -> list[bytes]:
        events = (text for thread in stage.cluster.memory.threads.values() for _, text in thread.events.values())
        return [text for text in events if b'"hi"' in text]

    place = await stage.paused()
    before = said()
    erasing = asyncio.ensure_future(stage.ask("DELETE", "/api/owners/me"))
    for _ in range(3):
        await stage.cluster.sleep(1)
        await stage.cluster.deliver(stage.there)
    erased = await erasing
    gone = await stage.ask("POST", f"{place}/resume")

    assert (erased.status_code, gone.status_code in (404, 410)) == (200, True), erased.text
    assert (len(before), said(), stage.cluster.engine.documents) == (1, [], {})
