"""A fork under SIGKILL: a real host killed around each thing that it puts into a store for one."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from hosting.core.stores.archive import Loan
from hosting.core.thread_log import epoch_store_key
from hosting.features.responses.names import FUNCTION
from hosting.host_settings import task_hub
from hosting.names import APP, Address, StoreKey, keyed_thread_id
from hosting.settings import read_settings
from hosting.store_choice import choose_attachments
from tests.faults.app_process import until_dead
from tests.faults.killing_stores import killed_by, killing_stores_app, running
from tests.support.archives import archive_of_app, archived_epochs
from tests.support.carriers import GUARD_SECONDS, Api, socket_api
from tests.support.grouped_app import GroupHost, grouped_app
from tests.support.kept_in import KINDS, kept_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

THREADS = "/api/agents/Joker/threads"
PICTURE = f"data:image/png;base64,{base64.b64encode(bytes(range(256)) * 100).decode()}"
SEEN = [{"$type": "data", "uri": PICTURE, "mediaType": "image/png"}]
HALF_A_DAY = "43200"
POINTS = [
    ("before attachments.put", 1, False),  # which is the mark
    ("after attachments.put", 2, False),  # the mark again, with what is to be lent
    ("after archive.lend", 1, False),
    ("before log.append", 1, False),
    ("after log.append", 1, True),
    ("before attachments.erase", 1, True),  # after the signal
]
"""Where a host dies, at which of these calls, and whether the fork stands then."""
FORKS = [f"fork-{number}" for number in range(len(POINTS))]


async def fork(api: Api, thread_id: str) -> httpx.Response:
    """Fork the thread to one of that id."""
    return await api.http.post(f"{THREADS}/t/fork", json={"thread_id": thread_id})


async def entries(api: Api, thread_id: str) -> list[dict[str, Any]]:
    """Return all entries of a thread."""
    return list((await api.http.get(f"{THREADS}/{thread_id}/messages", params={"limit": 200})).json()["entries"])


@pytest.mark.behaviour("fork.killed")
@pytest.mark.parametrize("stores", kept_in(*KINDS), indirect=True)
async def test_a_fork_whose_host_was_killed_is_made_by_the_same_request_whole_and_once(
    tmp_path: Path, stores: dict[str, str]
) -> None:
    """By the next host, which is killed of another fork; what the killed ones put for nothing goes with a sweep."""
    folder = killing_stores_app(tmp_path)
    async with running(folder, **stores) as (_, api):
        await speak(api, folder, stores)
        origin = await entries(api, "t")
    again: list[httpx.Response] = []
    asked: list[str] = []

    async def killing(api: Api) -> None:
        again.extend([await fork(api, thread_id) for thread_id in asked[-1:]])
        asked.append(FORKS[len(asked)])
        await fork(api, asked[-1])

    for thread_id, (point, nth, _) in zip(FORKS, POINTS, strict=True):
        await killed_by(folder, point, killing, NTH=str(nth), SAID=thread_id, **stores)
    async with running(folder, CLOCK_AHEAD=HALF_A_DAY, **stores) as (_, api):
        again.append(await fork(api, FORKS[-1]))
        twice = [await fork(api, thread_id) for thread_id in FORKS]
        forks = [await entries(api, thread_id) for thread_id in FORKS]
        assert (await api.http.post("/admin/functions/agents_retention", json={})).status_code == 202
        await asyncio.wait_for(swept(folder, stores), GUARD_SECONDS)
        listed = (await api.http.get(THREADS)).json()["threads"]

    assert [answer.status_code for answer in again] == [201] * len(POINTS)
    assert ["idempotency-replayed" in answer.headers for answer in again] == [stands for _, _, stands in POINTS]
    assert [answer.json() for answer in twice] == [answer.json() for answer in again]
    assert forks == [origin] * len(POINTS)
    assert sorted(one["thread_id"] for one in listed) == [*FORKS, "t"]
    of_origin, *of_forks = await archived(folder, stores)
    assert of_origin[0] > 0
    assert of_origin[1] == len(POINTS)
    assert of_forks == [(0, 0)] * len(POINTS)


@pytest.mark.behaviour("responses.forked")
@pytest.mark.parametrize("stores", kept_in("sqlite"), indirect=True)
async def test_a_response_whose_host_was_killed_between_its_fork_and_its_run_is_one(
    tmp_path: Path, stores: dict[str, str]
) -> None:
    """The same request under its key finds the fork, and begins the run there."""
    folder, responses = killing_stores_app(tmp_path), "/api/openai/v1/responses"
    async with running(folder, **stores) as (_, api):
        first = (await api.http.post(responses, json={"model": "Joker", "input": "one"})).json()["id"]
        await api.http.post(responses, json={"model": "Joker", "input": "two", "previous_response_id": first})
    fork = keyed_thread_id("Joker", APP, f"{FUNCTION}\nkey", first.split("~")[-1])

    async def again(api: Api) -> httpx.Response:
        body = {"model": "Joker", "input": "recall", "previous_response_id": first}
        return await api.http.post(responses, json=body, headers={"Idempotency-Key": "key"})

    await killed_by(folder, "before log.append", again, NTH="2", SAID=fork, **stores)
    async with running(folder, **stores) as (_, api):
        answers = [(await again(api)).json() for _ in range(2)]
        listed = (await api.http.get(THREADS)).json()["threads"]

    assert answers[0] == answers[1]
    assert answers[0]["output"][-1]["content"][0]["text"] == "one | recall"
    assert sorted(one["thread_id"] for one in listed) == sorted([first.split("~")[-1], fork])


@pytest.mark.behaviour("fork.killed")
@pytest.mark.behaviour("fork.once")
@pytest.mark.parametrize("stores", kept_in(*KINDS), indirect=True)
async def test_a_fork_whose_host_was_killed_is_made_by_another_host_whole_and_once(
    tmp_path: Path, stores: dict[str, str]
) -> None:
    """That one was alive all the time; the killed one comes back and finds it, and its origin's end copies it once."""
    folder = killing_stores_app(tmp_path)
    log = {"AGENT_RECENT_BYTES": "2048", **stores}
    dies = {"KILL": "after archive.lend", "SAID": "fork-0"}
    with grouped_app(folder, log=log, of_http=[dies]) as app:
        dying, living = app.http
        async with api_of(living, folder) as other:
            await speak(other, folder, stores)
            origin = await entries(other, "t")
            async with api_of(dying, folder) as one:
                with pytest.raises(httpx.TransportError):
                    await fork(one, "fork-0")
            assert await until_dead(dying.running) != 0
            made = await fork(other, "fork-0")
            dying.start()
            async with api_of(dying, folder) as one:
                again = await fork(one, "fork-0")
                of_both = [await entries(api, "fork-0") for api in (one, other)]
            listed = (await other.http.get(THREADS)).json()["threads"]
            await other.http.delete(f"{THREADS}/t")
            await asyncio.wait_for(erased(other), GUARD_SECONDS)
            alone = await entries(other, "fork-0")

    assert [made.status_code, again.status_code] == [201, 201]
    assert ["idempotency-replayed" in answer.headers for answer in (made, again)] == [False, True]
    assert made.json() == again.json()
    assert [*of_both, alone] == [origin] * 3
    assert sorted(one["thread_id"] for one in listed) == ["fork-0", "t"]
    of_origin, of_fork, *_ = await archived(folder, stores)
    assert of_origin == (0, 0)  # what was lent to the killed one too
    assert 0 < of_fork[0] < len(origin)


async def speak(api: Api, folder: Path, stores: dict[str, str]) -> None:
    """Take turns on the thread until its older part is in the archive, a picture among it."""
    await api.ask("see", thread_id="t", contents=SEEN)
    for number in range(1, 7):
        await api.ask(f"{number} ".ljust(400, "x"), thread_id="t")
    await asyncio.wait_for(moved(folder, stores), GUARD_SECONDS)


@contextlib.asynccontextmanager
async def api_of(host: GroupHost, folder: Path) -> AsyncIterator[Api]:
    """The way to one host."""
    api = socket_api(host.origin, folder / ".agents" / "log.sqlite")
    async with api.http:
        yield api


async def erased(api: Api) -> None:
    """Return once nothing of the thread is left."""
    while (await api.http.get(f"{THREADS}/t/erasure")).status_code != 200:  # noqa: ASYNC110 - another process erases it
        await asyncio.sleep(0.02)


async def moved(folder: Path, stores: dict[str, str]) -> None:
    """Return once the thread's older part is in the archive."""
    while not await archived_epochs(folder, stores, Address.of("Joker", "t")):  # noqa: ASYNC110 - another process
        await asyncio.sleep(0.02)


async def swept(folder: Path, stores: dict[str, str]) -> None:
    """Return once nothing is beside the forks: the marks are removed last."""
    while any((await beside(folder, stores))[1:]):  # noqa: ASYNC110 - another process
        await asyncio.sleep(0.02)


async def beside(folder: Path, stores: dict[str, str]) -> list[list[str]]:
    """Return the names of the attachments of the thread and of its forks."""
    kept = choose_attachments(read_settings(stores), folder, stores)
    try:
        return [list(await kept.names(key)) for key in keys(folder, stores)]
    finally:
        await kept.close()


async def archived(folder: Path, stores: dict[str, str]) -> list[tuple[int, int]]:
    """Remove what is archived of the thread and of its forks, and return how many entries and loans each had."""
    loans: list[int] = []

    async def count(found: Sequence[Loan]) -> None:
        loans.append(len(found))

    async with archive_of_app(folder, stores) as archive:
        return [(await archive.erase(key, end_loans=count), loans.pop()) for key in keys(folder, stores)]


def keys(folder: Path, stores: dict[str, str]) -> list[StoreKey]:
    """Return where the archive and the attachments of the thread lie, and of its forks."""
    hub = task_hub(folder, stores)
    return [epoch_store_key(hub, Address.of("Joker", thread_id), 0) for thread_id in ("t", *FORKS)]
