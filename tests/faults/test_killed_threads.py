"""Threads whose process dies around a call of a store, as messages are put in or a fork is made: whole, and once."""

from __future__ import annotations

import base64
from typing import Any

import httpx
import pytest

from hosting.names import Address
from tests.faults.killed_app import KILLED, SCRIPTED, KilledApp, Row, Scenario, each_dies
from tests.support.archives import archived_epochs
from tests.support.carriers import Api

pytestmark = KILLED

THREADS = "/api/agents/Joker/threads"
THREAD = f"{THREADS}/t"
SHORT = {"AGENT_RECENT_BYTES": "2048"}
HALF_A_DAY = {"CLOCK_AHEAD": "43200"}
OF_T = "thread_id='t'"


async def document(app: KilledApp, api: Api, word: str) -> None:
    """Return once the entity has stored a document with that word."""

    async def stored() -> bool:
        return word in (await api.state("t") or "")

    await app.until(stored)


async def listed(api: Api) -> list[str]:
    """Return the agent's threads, as lists have them."""
    return sorted(thread["thread_id"] for thread in (await api.http.get(THREADS)).json()["threads"])


async def say_one(app: KilledApp, api: Api) -> None:
    await api.ask("one", thread_id="t")
    await document(app, api, "echo: one")


async def put(app: KilledApp, api: Api) -> httpx.Response:
    """Put messages into the thread, under one key."""
    messages = [{"message": "two"}, {"role": "assistant", "message": "Noted."}]
    return await api.http.post(f"{THREAD}/messages", json={"messages": messages}, headers={"idempotency-key": "key"})


def stands(app: KilledApp) -> bool:
    """Return whether the kill came behind what was to be written."""
    return not app.known["point"].startswith("before log.append")


async def messages_are_put_in_once(app: KilledApp, api: Api) -> None:
    """Between the runs, for the model, for readers, and in the document."""
    answers = [await put(app, api) for _ in range(2)]
    said = (await api.ask("recall", thread_id="t")).json()["response"]
    await document(app, api, "Noted.")

    assert [(each.status_code, "idempotency-replayed" in each.headers) for each in answers] == [
        (201, stands(app)),
        (201, True),
    ]
    assert len({answer.json()["put_id"] for answer in answers}) == 1
    is_new = app.known.get("is_new", True)
    assert said == ("two | recall" if is_new else "one | two | recall")
    assert len(await api.entries("t")) == (4 if is_new else 6)


async def put_into_one(app: KilledApp, api: Api) -> None:
    app.known["is_new"] = False
    await put(app, api)


IMPATIENT = (
    SCRIPTED
    + "\nimport hosting.features.thread_state.begun\n\nhosting.features.thread_state.begun.NOTED_SECONDS = 0.0\n"
)
"""The same app, which takes each note of a thread that was begun to be of a process that is gone."""


async def begin_by_metadata(app: KilledApp, api: Api) -> None:
    metadata = {"agent_id": "Joker", "team": "red"}
    await api.http.post("/api/openai/v1/conversations", json={"metadata": metadata})


async def the_thread_is_found_though_nobody_asks(app: KilledApp, api: Api) -> None:
    """The engine knew nothing of it. The work of twice a day has its entity store it, and leaves nothing to be done."""
    before = await listed(api)
    for _ in range(2):
        await app.repaired(api)
    if stands(app):
        await app.until(lambda: listed(api))
        [thread] = await listed(api)
        metadata = (await api.http.get(f"{THREADS}/{thread}/metadata")).json()["metadata"]
        assert metadata.get("team", "red") == "red"

    assert (before, len(await listed(api))) == ([], int(stands(app)))


async def patch(app: KilledApp, api: Api) -> httpx.Response:
    return await api.http.patch(f"{THREAD}/state", json={"state": {"notes": {"text": "kept"}}})


async def the_state_is_written_once(app: KilledApp, api: Api) -> None:
    """The same patch changes nothing more, and a turn keeps it."""
    before = (await api.http.get(f"{THREAD}/state")).json()["state"]
    answers = [(await patch(app, api)).json()["state"] for _ in range(2)]
    await document(app, api, "kept")
    await api.ask("two", thread_id="t")
    after = (await api.http.get(f"{THREAD}/state")).json()["state"]

    assert before == ({"notes": {"text": "kept"}} if stands(app) else {})
    assert [*answers, after] == [{"notes": {"text": "kept"}}] * 3


PICTURE = f"data:image/png;base64,{base64.b64encode(bytes(range(256)) * 100).decode()}"


async def speak(app: KilledApp, api: Api) -> None:
    """Take turns on the thread until its older part is in the archive, a picture among it."""
    await api.ask("see", thread_id="t", contents=[{"$type": "data", "uri": PICTURE, "mediaType": "image/png"}])
    for number in range(1, 7):
        await api.ask(f"{number} ".ljust(400, "x"), thread_id="t")
    await app.until(lambda: archived_epochs(app.path, app.stores, Address.of("Joker", "t")))


async def entries(api: Api, thread_id: str) -> list[Any]:
    return list((await api.http.get(f"{THREADS}/{thread_id}/messages", params={"limit": 200})).json()["entries"])


async def fork(app: KilledApp, api: Api) -> httpx.Response:
    return await api.http.post(f"{THREAD}/fork", json={"thread_id": "fork-0"})


async def the_fork_is_whole_and_one(app: KilledApp, api: Api) -> None:
    """Also once its origin is gone."""
    origin = await entries(api, "t")
    again, twice = await fork(app, api), await fork(app, api)

    assert (again.status_code, "idempotency-replayed" in again.headers) == (201, app.known["point"] in FORK_STANDS)
    assert twice.json() == again.json()
    assert await listed(api) == ["fork-0", "t"]
    await api.http.delete(THREAD)

    async def erased() -> bool:
        return (await api.http.get(f"{THREAD}/erasure")).status_code == 200

    await app.until(erased)
    assert await entries(api, "fork-0") == origin


FORK_STANDS = ("after log.append 1 | fork-0", "before attachments.erase 1 | fork-0")
FORKING = [
    "after archive.lend 1 | fork-0",
    "before attachments.put 1 | fork-0",
    "after attachments.put 2 | fork-0",
    "before log.append 1 | fork-0",
    *FORK_STANDS,
]
PUTTING = [f"{call} | {OF_T}" for call in ("after log.append 1", "before log.append 1", "before log.head 2")]
"""At last in the entity's operation, before its document is stored."""


@each_dies(
    Scenario("messages", SCRIPTED, PUTTING, put_into_one, messages_are_put_in_once, say_one).rows(
        pytest.mark.behaviour("thread.put-killed")
    ),
    Scenario("new thread", SCRIPTED, PUTTING[:2], put, messages_are_put_in_once).rows(
        pytest.mark.behaviour("thread.put-killed")
    ),
    Scenario("left messages", IMPATIENT, PUTTING[:2], put, the_thread_is_found_though_nobody_asks).rows(
        pytest.mark.behaviour("thread.put-killed")
    ),
    Scenario(
        "left metadata",
        IMPATIENT,
        [f'{side} log.append 1 | "team"' for side in ("after", "before")],
        begin_by_metadata,
        the_thread_is_found_though_nobody_asks,
    ).rows(pytest.mark.behaviour("thread.put-killed")),
    Scenario("state", SCRIPTED, PUTTING[:2], patch, the_state_is_written_once, say_one).rows(
        pytest.mark.behaviour("thread.put-killed")
    ),
    Scenario("fork", SCRIPTED, FORKING, fork, the_fork_is_whole_and_one, speak, SHORT).rows(
        pytest.mark.behaviour("fork.killed"), pytest.mark.behaviour("fork.once")
    ),
)
async def test_a_thread_whose_process_dies_is_whole_and_once(row: Row) -> None:
    """By the same request, or though nobody asks again."""
    await row.dies_and_ends()
