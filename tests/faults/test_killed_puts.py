"""Messages and a state that are written without a run, under SIGKILL: a real host killed around each step."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.killing_stores import killed_by, killing_stores_app, running
from tests.support.carriers import GUARD_SECONDS, Api
from tests.support.kept_in import KINDS, kept_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("thread.put-killed"),
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

THREAD = "/api/agents/Joker/threads/t"
MESSAGES = [{"message": "two"}, {"role": "assistant", "message": "Noted."}]
POINTS = [("before log.append", 1, False), ("after log.append", 1, True), ("before log.head", 2, True)]
"""Where a host dies, at which of these calls, and whether the write stands then: at last in the entity's operation,
before its document is stored."""


async def put(api: Api) -> httpx.Response:
    """Put messages into the thread, under one key."""
    headers = {"idempotency-key": "key"}
    return await api.http.post(f"{THREAD}/messages", json={"messages": MESSAGES}, headers=headers)


async def patch(api: Api) -> httpx.Response:
    """Write a member of the state."""
    return await api.http.patch(f"{THREAD}/state", json={"state": {"notes": {"text": "kept"}}})


async def document(api: Api, word: str) -> None:
    """Return once the entity has stored a document with that word."""
    while word not in (await api.state("t") or ""):  # noqa: ASYNC110 - the engine tells nobody
        await asyncio.sleep(0.02)


@pytest.mark.parametrize(("point", "nth", "stands"), POINTS)
@pytest.mark.parametrize("stores", kept_in(*KINDS), indirect=True)
async def test_messages_whose_host_was_killed_are_put_in_once_by_the_same_request(
    tmp_path: Path, stores: dict[str, str], point: str, nth: int, stands: bool
) -> None:
    """Between the runs, for the model, for readers, and in the document."""
    folder = killing_stores_app(tmp_path)
    async with running(folder, **stores) as (_, api):
        await api.ask("one", thread_id="t")
        await asyncio.wait_for(document(api, "echo: one"), 2 * GUARD_SECONDS)

    await killed_by(folder, point, put, NTH=str(nth), SAID="thread_id='t'", **stores)
    async with running(folder, **stores) as (_, api):
        answers = [await put(api) for _ in range(2)]
        said = (await api.ask("recall", thread_id="t")).json()["response"]
        entries = await api.entries("t")
        await asyncio.wait_for(document(api, "Noted."), 2 * GUARD_SECONDS)

    assert [answer.status_code for answer in answers] == [201, 201]
    assert ["idempotency-replayed" in answer.headers for answer in answers] == [stands, True]
    assert len({answer.json()["put_id"] for answer in answers}) == 1
    assert said == "one | two | recall"
    assert [entry["$type"] for entry in entries] == ["request", "response"] * 3


@pytest.mark.parametrize(("point", "nth", "stands"), POINTS[:2])
@pytest.mark.parametrize("stores", kept_in(*KINDS), indirect=True)
async def test_a_thread_that_messages_begin_is_whole_after_a_kill(
    tmp_path: Path, stores: dict[str, str], point: str, nth: int, stands: bool
) -> None:
    """The same request finds it, and has its entity store it."""
    folder = killing_stores_app(tmp_path)

    await killed_by(folder, point, put, NTH=str(nth), SAID="thread_id='t'", **stores)
    async with running(folder, **stores) as (_, api):
        answer = await put(api)
        await asyncio.wait_for(document(api, "Noted."), 2 * GUARD_SECONDS)
        entries = await api.entries("t")

    assert (answer.status_code, "idempotency-replayed" in answer.headers) == (201, stands)
    assert [entry["$type"] for entry in entries] == ["request", "response"]


IMPATIENT = """
import hosting.features.thread_state.begun

hosting.features.thread_state.begun.NOTED_SECONDS = 0.0
"""
"""The same app, which takes each note to be of a process that is gone."""


async def listed(api: Api) -> list[str]:
    """Return the agent's threads, as lists have them."""
    return [thread["thread_id"] for thread in (await api.http.get("/api/agents/Joker/threads")).json()["threads"]]


@pytest.mark.parametrize(("point", "stands"), [("before log.append", False), ("after log.append", True)])
@pytest.mark.parametrize("stores", kept_in(*KINDS), indirect=True)
async def test_a_thread_that_messages_began_is_found_though_nobody_asks_again(
    tmp_path: Path, stores: dict[str, str], point: str, stands: bool
) -> None:
    """The engine knew nothing of it. The work of twice a day has its entity store it, and leaves nothing to be done."""
    folder = killing_stores_app(tmp_path, IMPATIENT)

    await killed_by(folder, point, put, SAID="thread_id='t'", **stores)
    async with running(folder, **stores) as (_, api):
        before = await listed(api)
        for _ in range(2):
            answer = await api.http.post("/admin/functions/agents_retention", json={})
            assert answer.status_code == 202
        if stands:
            await asyncio.wait_for(document(api, "Noted."), 2 * GUARD_SECONDS)
        after = await listed(api)
        entries = await api.entries("t") if stands else []

    assert (before, after) == ([], ["t"] if stands else [])
    assert [entry["$type"] for entry in entries] == (["request", "response"] if stands else [])


async def begin(api: Api) -> httpx.Response:
    """Begin a conversation with metadata alone."""
    metadata = {"agent_id": "Joker", "team": "red"}
    return await api.http.post("/api/openai/v1/conversations", json={"metadata": metadata})


async def first_listed(api: Api) -> str:
    """Return the first thread of the list, once there is one."""
    while not (threads := await listed(api)):  # noqa: ASYNC110 - the engine tells nobody
        await asyncio.sleep(0.02)
    return threads[0]


@pytest.mark.parametrize(("point", "stands"), [("before log.append", False), ("after log.append", True)])
@pytest.mark.parametrize("stores", kept_in(*KINDS), indirect=True)
async def test_a_thread_that_metadata_began_is_found_though_nobody_asks_again(
    tmp_path: Path, stores: dict[str, str], point: str, stands: bool
) -> None:
    """As one that messages began: its note is there before its first append."""
    folder = killing_stores_app(tmp_path, IMPATIENT)

    await killed_by(folder, point, begin, SAID='"team"', **stores)
    async with running(folder, **stores) as (_, api):
        before = await listed(api)
        for _ in range(2):
            answer = await api.http.post("/admin/functions/agents_retention", json={})
            assert answer.status_code == 202
        if stands:
            thread = await asyncio.wait_for(first_listed(api), 2 * GUARD_SECONDS)
            kept = (await api.http.get(f"/api/agents/Joker/threads/{thread}/metadata")).json()["metadata"]
        after = await listed(api)

    assert (before, len(after)) == ([], 1 if stands else 0)
    assert not stands or kept == {"agent_id": "Joker", "team": "red"}


@pytest.mark.parametrize(("point", "nth", "stands"), [POINTS[0], POINTS[1]])
@pytest.mark.parametrize("stores", kept_in(*KINDS), indirect=True)
async def test_a_state_whose_host_was_killed_is_written_once(
    tmp_path: Path, stores: dict[str, str], point: str, nth: int, stands: bool
) -> None:
    """A host that comes up later reads it, and the same patch changes nothing more."""
    folder = killing_stores_app(tmp_path)
    async with running(folder, **stores) as (_, api):
        await api.ask("one", thread_id="t")

    await killed_by(folder, point, patch, NTH=str(nth), SAID="thread_id='t'", **stores)
    async with running(folder, **stores) as (_, api):
        before: Any = (await api.http.get(f"{THREAD}/state")).json()["state"]
        answers = [await patch(api) for _ in range(2)]
        await asyncio.wait_for(document(api, "kept"), 2 * GUARD_SECONDS)
        await api.ask("two", thread_id="t")
        after = (await api.http.get(f"{THREAD}/state")).json()["state"]

    assert before == ({"notes": {"text": "kept"}} if stands else {})
    assert [answer.json()["state"] for answer in answers] == [after] * 2
    assert after == {"notes": {"text": "kept"}}
