"""Erasure and attachments under SIGKILL: a real host killed around each thing that it does to a store."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import math
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from hosting.host_settings import task_hub
from hosting.names import StoreKey
from hosting.settings import read_settings
from hosting.store_choice import choose_attachments
from tests.faults.app_process import until_dead
from tests.faults.killing_stores import killed_by, killing_stores_app, running
from tests.faults.storm_kept import kept
from tests.support.canary import gone
from tests.support.carriers import GUARD_SECONDS, Api
from tests.support.kept_in import HUB, KINDS, kept_in, over

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

CANARY = b"canary-77aa"
PICTURE = CANARY * 3000
HASH = hashlib.sha256(PICTURE).hexdigest()
THREAD = "/api/agents/Joker/threads/t"
BODY = {
    "message": CANARY.decode(),
    "thread_id": "t",
    "context": {"a": CANARY.decode()},
    "metadata": {"a": CANARY.decode()},
    "thread_metadata": {"a": CANARY.decode()},
    "contents": [
        {
            "$type": "data",
            "uri": f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}",
            "mediaType": "image/png",
        }
    ],
}
LARGE = "x" * 100_000
"""More than stands in the log."""
HALF_A_DAY = "43200"
A_MONTH = str(31 * 86_400)
ERASING = [
    f"{side} {call}"
    for call in ("attachments.erase", "log.append", "archive.erase", "log.erase")
    for side in ("after", "before")
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The app."""
    return killing_stores_app(tmp_path)


@pytest.mark.behaviour("erasure.attachments")
@pytest.mark.parametrize(
    ("point", "stores"),
    kept_in("sqlite", "tables", first="after attachments.put", rest=["before attachments.put"]),
    indirect=["stores"],
)
async def test_a_host_killed_around_the_keeping_of_a_picture_loses_neither_it_nor_the_run(
    folder: Path, point: str, stores: dict[str, str]
) -> None:
    """The run goes on when its signal is delivered again, and the document refers to bytes that are there."""
    await killed_by(folder, point, lambda api: api.http.post("/api/agents/Joker/run", json=BODY), **stores)

    async with running(folder, **stores) as (_, api):
        entries = await api.entries("t")
        exported = (await api.http.get(f"{THREAD}/export")).json()

    picture = {"sha256": HASH, "bytes": len(PICTURE), "mediaType": "image/png"}
    assert entries[0]["messages"][0]["contents"][1]["attachment"] == picture
    assert [one["sha256"] for one in exported["attachments"]] == [HASH]
    assert base64.b64decode(exported["attachments"][0]["base64"]) == PICTURE


@pytest.mark.behaviour("erasure.nothing-is-left")
@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first=ERASING[0], rest=ERASING[1:]), indirect=["stores"])
async def test_a_host_killed_in_the_middle_of_an_erasure_leaves_nothing_but_the_receipt(
    folder: Path, point: str, stores: dict[str, str]
) -> None:
    """What was begun is done by the next delivery, or by whoever deletes again; the receipt tells the whole of it."""

    async def fill_and_delete(api: Api) -> None:
        await api.http.post("/api/agents/Joker/run", json=BODY)
        for number in range(6):
            await api.ask(f"{CANARY.decode()} {number} {'x' * 400}", thread_id="t")
        listed = await api.http.get(f"/api/threads?metadata.a={CANARY.decode()}")
        assert [thread["thread_id"] for thread in listed.json()["threads"]] == ["t"]
        assert any(CANARY in text for _, text in kept(folder, stores, stores[HUB]))
        await api.http.delete(THREAD)

    said = '"kind":"deleting"' if "append" in point else ""  # the runs before it append, too
    await killed_by(folder, point, fill_and_delete, SAID=said, **stores)

    async with running(folder, **stores) as (_, api):
        assert (await api.http.delete(THREAD)).status_code == 204
        await asyncio.wait_for(gone(folder, CANARY), GUARD_SECONDS)
        receipt = (await api.http.get(f"{THREAD}/erasure")).json()

    assert [place for place, text in kept(folder, stores, stores[HUB]) if CANARY in text] == []
    assert (receipt["runs"], receipt["attachments"]) == (7, [HASH])
    assert receipt["archived_entries"] > 0
    assert receipt["instances"] == [{"id": "@dafx-joker@t", "outcome": "deleted"}]


ANSWERED = b"event: response.completed"
UNSTORED = "at deleting", "after deleting", "after completed"
"""Around the event that begins the deletion, which comes after the answer; and after the run's end, before it."""


@pytest.mark.behaviour("responses.store")
@pytest.mark.parametrize(
    ("point", "stores"), kept_in(*KINDS, first=UNSTORED[0], rest=UNSTORED[1:]), indirect=["stores"]
)
async def test_a_response_that_is_not_stored_goes_although_its_host_was_killed_once_it_had_answered(
    folder: Path, point: str, stores: dict[str, str]
) -> None:
    """Nobody asks for it: its entity is delivered again, and the log says that the thread is not to stay."""
    side, kind = point.split()
    body = {"model": "Joker", "input": CANARY.decode(), "store": False, "stream": True}
    answer = b""
    async with running(folder, KILL=f"{side} log.append", SAID=f'"kind":"{kind}"', **stores) as (host, api):
        with contextlib.suppress(httpx.TransportError):
            async with api.http.stream("POST", "/api/openai/v1/responses", json=body) as response:
                async for piece in response.aiter_bytes():
                    answer += piece
                    if ANSWERED in answer:
                        break
        host.process.kill()
        await until_dead(host)
    left = [place for place, text in kept(folder, stores, stores[HUB]) if CANARY in text]
    async with running(folder, **stores):
        await asyncio.wait_for(nowhere(folder, stores), 6 * GUARD_SECONDS)

    assert (left != [], ANSWERED in answer or side == "after") == (True, True)


async def nowhere(folder: Path, stores: dict[str, str]) -> None:
    """Return once no store of the app holds the word."""
    while any(CANARY in text for _, text in kept(folder, stores, stores[HUB])):  # noqa: ASYNC110 - stores tell nobody
        await asyncio.sleep(0.05)


@pytest.mark.behaviour("erasure.unused-uploads")
@pytest.mark.parametrize(("nth", "stores"), kept_in("sqlite", "tables", first=1, rest=[2]), indirect=["stores"])
async def test_what_a_kill_left_between_an_upload_and_its_append_goes_with_the_next_sweep(
    folder: Path, nth: int, stores: dict[str, str]
) -> None:
    """A request, whose thread has nothing else then, and no entity; and an answer, which is made again."""
    await killed_by(folder, "after attachments.put", lambda api: api.ask(LARGE, thread_id="t"), NTH=str(nth), **stores)
    left = await uploads(folder, stores)

    async with running(folder, CLOCK_AHEAD=HALF_A_DAY, **stores) as (_, api):
        if nth == 2:
            await api.entries("t")
        assert (await api.http.post("/admin/functions/agents_retention", json={})).status_code == 202
        await asyncio.wait_for(one_gone(left, folder, stores), GUARD_SECONDS)
        shown = await api.http.get(f"{THREAD}/messages")

    now = await uploads(folder, stores)
    assert (len(left), len(left & now), len(now)) == (nth, nth - 1, 2 * (nth - 1))
    assert (shown.status_code, LARGE in shown.text) == ((404, False), (200, True))[nth - 1]


@pytest.mark.behaviour("erasure.forgotten")
@over("stores", "sqlite", "tables")
async def test_a_deleted_thread_is_forgotten_by_the_timer(folder: Path, stores: dict[str, str]) -> None:
    """By another process, a month later: its receipt is gone, its key is free, and no name of it is in any store."""
    keyed = {"message": "hi", "thread_id": "t"}
    async with running(folder, **stores) as (_, api):
        await api.http.post("/api/agents/Joker/run", json=keyed, headers={"idempotency-key": "used"})
        await api.http.delete(THREAD)
        await asyncio.wait_for(erased(api), GUARD_SECONDS)
        reused = await api.http.post("/api/agents/Joker/run", json=keyed, headers={"idempotency-key": "used"})

    async with running(folder, CLOCK_AHEAD=A_MONTH, **stores) as (_, api):
        assert (await api.http.post("/admin/functions/agents_retention", json={})).status_code == 202
        await asyncio.wait_for(forgotten(api), GUARD_SECONDS)
        again = reused
        while again.status_code == 410:  # the receipt goes a moment before the key is free
            again = await api.http.post("/api/agents/Joker/run", json=keyed, headers={"idempotency-key": "used"})

    assert (reused.status_code, again.status_code) == (410, 200)


async def erased(api: Api) -> None:
    """Return once the thread has its receipt."""
    while (await api.http.get(f"{THREAD}/erasure")).status_code != 200:  # noqa: ASYNC110 - another process erases it
        await asyncio.sleep(0.02)


async def forgotten(api: Api) -> None:
    """Return once it has none any more."""
    while (await api.http.get(f"{THREAD}/erasure")).status_code != 404:  # noqa: ASYNC110 - a timer's work
        await asyncio.sleep(0.02)


async def one_gone(left: set[str], folder: Path, environ: Mapping[str, str]) -> None:
    """Return once one of these uploads is not there any more."""
    while left <= await uploads(folder, environ):  # noqa: ASYNC110 - another process removes it
        await asyncio.sleep(0.02)


async def uploads(folder: Path, environ: Mapping[str, str]) -> set[str]:
    """Return the hashes of everything that is kept beside a log."""
    store, agent = choose_attachments(read_settings(environ), folder, environ), f"{task_hub(folder, environ)}.log"
    try:
        threads = [thread_id for _, thread_id in await store.put_between(agent, 0.0, math.inf)]
        return {one for thread_id in threads for one in sorted(await store.names(StoreKey(agent, thread_id)))}
    finally:
        await store.close()
