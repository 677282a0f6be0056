"""Two app processes over one log, each with an engine of its own: what they share is the log, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.app_process import AppFolder
from tests.support.ag_ui import Events, events_of, folded, wanted
from tests.support.carriers import GUARD_SECONDS, Api, socket_api
from tests.support.kept_in import KINDS, kept_in, settings_of
from tests.support.running_host import RunningHost

pytestmark = pytest.mark.slow

RUN = "/api/agents/Joker/run"
THREADS = "/api/agents/Joker/threads"


@pytest.fixture(scope="module", params=kept_in(*KINDS))
def hosts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RunningHost]]:
    """Two hosts in folders of their own, over one log."""
    folders = [AppFolder(tmp_path_factory.mktemp(name)) for name in ("one", "two")]
    environ = {**settings_of(request.param, request), "WIRES": "ag-ui"}
    if request.param == "sqlite":
        environ["AGENT_LOG"] = f"sqlite:{tmp_path_factory.mktemp('shared') / 'log.sqlite'}"
    with folders[0].host(environ) as one, folders[1].host(environ) as two:
        yield [one, two]


@pytest.fixture
async def apis(hosts: list[RunningHost]) -> AsyncIterator[list[Api]]:
    opened = [socket_api(host.origin, Path("no file of one of them")) for host in hosts]
    yield opened
    for api in opened:
        await api.http.aclose()


@pytest.mark.behaviour("turn.shared-log")
async def test_one_key_at_both_processes_at_once_is_one_run(apis: list[Api]) -> None:
    """Whichever opens it; the other attaches to it and gives the same answer."""
    headers = {"idempotency-key": "at-both"}
    requests = [api.http.post(RUN, json={"message": "sleep 0.2"}, headers=headers) for api in apis * 4]

    answers = await asyncio.wait_for(asyncio.gather(*requests), 2 * GUARD_SECONDS)

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["run_id"] for answer in answers}) == 1
    assert len([answer for answer in answers if "idempotency-replayed" not in answer.headers]) == 1


@pytest.mark.behaviour("batch.once")
async def test_a_batch_that_both_processes_get_at_once_has_each_run_once(apis: list[Api]) -> None:
    """Each begins those that the other has not begun, and both give the same answers."""
    body = {"requests": [{"message": f"sleep 0.{number}"} for number in range(1, 6)]}
    sent = [
        api.http.post("/api/agents/Joker/runs/batch", json=body, headers={"idempotency-key": "batch"}) for api in apis
    ]

    answers = [answer.json()["results"] for answer in await asyncio.wait_for(asyncio.gather(*sent), 4 * GUARD_SECONDS)]

    runs = [[result["run_id"] for result in results] for results in answers]
    assert [result["status"] for results in answers for result in results] == [200] * 10
    assert runs[0] == runs[1]
    assert len({*runs[0]}) == 5


@pytest.mark.behaviour("turn.shared-log")
async def test_a_run_of_one_process_is_answered_and_cancelled_by_the_other(apis: list[Api]) -> None:
    """Through the log: its status, its end, and the request to end it."""
    one, two = apis
    accepted = (await one.ask("sleep 60", thread_id="elsewhere", wait_for_response=False)).json()
    place = f"{THREADS}/elsewhere/runs/{accepted['run_id']}"
    await asyncio.wait_for(until_running(two, place), GUARD_SECONDS)

    cancelled = await two.http.post(f"{place}/cancel")
    ended = await one.ended(place)

    assert (cancelled.status_code, ended["status"]) == (202, "cancelled")
    assert (await two.http.get(place)).json() == ended
    assert (await one.ask("recall", thread_id="elsewhere")).json()["response"] == "recall"


async def until_running(api: Api, place: str) -> None:
    """Return once the run is executed."""
    status = ""
    while status != "running":
        status = (await api.http.get(place)).json()["status"]


@pytest.mark.behaviour("turn.shared-log")
async def test_runs_opened_by_both_at_once_are_all_kept(apis: list[Api]) -> None:
    """Two writers of one log: none is refused for the other's sake, and none is lost."""
    answers = await asyncio.wait_for(
        asyncio.gather(*(api.ask(f"word-{number}") for number in range(60) for api in apis)), 4 * GUARD_SECONDS
    )
    there = await asyncio.gather(*(apis[1].http.get(status_of(answer)) for answer in answers))

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["run_id"] for answer in there}) == 120
    assert [answer.json() for answer in there] == [answer.json() for answer in answers]


def status_of(answer: httpx.Response) -> str:
    """Return where a run's status is read."""
    received = answer.json()
    return f"{THREADS}/{received['thread_id']}/runs/{received['run_id']}"


@pytest.mark.behaviour("thread.put-killed")
async def test_messages_and_state_that_both_write_at_once_all_stand(apis: list[Api]) -> None:
    """Under one key messages are put in once; each patch is made of the state that another one left."""
    thread = f"{THREADS}/written"

    async def put(api: Api, key: str) -> httpx.Response:
        body = {"messages": [{"message": key}]}
        return await api.http.post(f"{thread}/messages", json=body, headers={"idempotency-key": key})

    await put(apis[0], "first")
    puts = asyncio.gather(*(put(api, f"key-{number}") for number in range(10) for api in apis))
    patches = asyncio.gather(
        *(api.http.patch(f"{thread}/state", json={"state": {f"n{index}": {"x": 1}}}) for index, api in enumerate(apis))
    )
    answers = await asyncio.wait_for(puts, 4 * GUARD_SECONDS)
    written = await asyncio.wait_for(patches, 4 * GUARD_SECONDS)
    entries = [(await api.http.get(f"{thread}/messages", params={"limit": 200})).json()["entries"] for api in apis]
    states = [(await api.http.get(f"{thread}/state")).json()["state"] for api in apis]

    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["put_id"] for answer in answers}) == 10
    assert {answer.status_code for answer in written} <= {200, 409}
    done = {f"n{index}": {"x": 1} for index, answer in enumerate(written) if answer.status_code == 200}
    assert entries[0] == entries[1]
    assert len(entries[0]) == 11
    assert states == [done, done]


@pytest.mark.behaviour("ag-ui.asked-again-killed")
async def test_a_message_that_both_are_asked_again_at_once_is_taken_back_once(apis: list[Api]) -> None:
    """As by a page that drops the last answer, in two windows; both have the one new answer."""

    async def asked(api: Api, fields: dict[str, Any]) -> Events:
        return events_of((await api.http.post("/api/ag-ui/Joker", json=fields)).text)

    first = wanted("one", thread="page", run="r-1")
    shown = folded(await asked(apis[0], first), first["messages"])
    again = wanted(*shown[:-1], thread="page", run="r-2")
    both = await asyncio.wait_for(asyncio.gather(*(asked(api, again) for api in apis)), 4 * GUARD_SECONDS)
    pages = [folded(events, again["messages"]) for events in both]
    entries = (await apis[1].http.get(f"{THREADS}/page/messages")).json()["entries"]

    assert [message["content"] for message in pages[0]] == ["one", "echo: one"]
    assert pages[0] == pages[1]
    assert [entry["type"] for entry in entries] == ["request", "response"]
    assert len({entry["run_id"] for entry in entries}) == 1


@pytest.mark.behaviour("turn.busy")
async def test_of_requests_that_a_busy_thread_rejects_one_begins(apis: list[Api]) -> None:
    """Sent to both processes at once; each of the others is told of the one that began."""
    answers = await asyncio.wait_for(
        asyncio.gather(
            *(
                api.ask(f"sleep 30 {number}", thread_id="contended", busy="reject", wait_for_response=False)
                for number in range(8)
                for api in apis
            )
        ),
        GUARD_SECONDS,
    )
    began = [answer for answer in answers if answer.status_code == 202]
    refused = [answer for answer in answers if answer.status_code == 409]
    await apis[0].http.delete(f"{THREADS}/contended")

    assert (len(began), len(refused)) == (1, 15)
    assert {answer.json()["code"] for answer in refused} == {"thread_busy"}
    assert {answer.headers["x-ms-run-id"] for answer in refused} == {began[0].json()["run_id"]}


@pytest.mark.behaviour("turn.shared-log")
async def test_the_bound_on_a_threads_runs_counts_those_of_both(apis: list[Api]) -> None:
    """32 wait or run, whoever took them; the next is 429 at either."""
    taken = [
        (await apis[number % 2].ask("sleep 30", thread_id="bound", wait_for_response=False)).status_code
        for number in range(32)
    ]

    refused = [await api.ask("hi", thread_id="bound") for api in apis]
    deleted = [(await api.http.delete(f"{THREADS}/bound")).status_code for api in apis]

    assert taken == [202] * 32
    assert [(answer.status_code, answer.json()["code"]) for answer in refused] == [(429, "too_many_runs")] * 2
    assert set(deleted) <= {202, 204}
