"""What a thread leaves in its stores, whose process dies as it is kept or erased: nothing is lost, and nothing left."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import hashlib
import math
from collections.abc import Iterator

import pytest

from hosting.host_settings import task_hub
from hosting.names import StoreKey
from hosting.settings import read_settings
from hosting.store_choice import choose_attachments
from tests.faults.killed_app import KILLED, SCRIPTED, KilledApp, Row, Scenario, each_dies
from tests.faults.storm_kept import kept
from tests.support.ai_search_server import AiSearchServer
from tests.support.canary import gone
from tests.support.carriers import Api
from tests.support.kept_in import HUB

pytestmark = KILLED

THREAD = "/api/agents/Joker/threads/t"
RESPONSES = "/api/openai/v1/responses"
SHORT = {"AGENT_RECENT_BYTES": "2048"}
HALF_A_DAY, A_MINUTE, A_MONTH = ({"CLOCK_AHEAD": str(seconds)} for seconds in (43_200, 60, 31 * 86_400))


def places(app: KilledApp, word: str) -> list[str]:
    """Return where the word stands in all that the stores and the engine keep."""
    return [place for place, text in kept(app.path, app.stores, app.stores[HUB]) if word.encode() in text]


CANARY = "canary77aa"
LARGE_CANARY = CANARY.encode() * 3000
HASH = hashlib.sha256(LARGE_CANARY).hexdigest()
BODY = {
    "message": CANARY,
    "thread_id": "t",
    **{name: {"a": CANARY} for name in ("context", "metadata", "thread_metadata")},
    "contents": [
        {
            "$type": "data",
            "uri": f"data:image/png;base64,{base64.b64encode(LARGE_CANARY).decode()}",
            "mediaType": "image/png",
        }
    ],
}


async def show_a_picture(app: KilledApp, api: Api) -> None:
    await api.http.post("/api/agents/Joker/run", json=BODY)


async def the_picture_is_kept(app: KilledApp, api: Api) -> None:
    """The run goes on when its signal is delivered again, and the document refers to bytes that are there."""
    stored = (await api.entries("t"))[0]["messages"][0]["contents"][1]["attachment"]
    [exported] = (await api.http.get(f"{THREAD}/export")).json()["attachments"]

    assert stored == {"sha256": HASH, "bytes": len(LARGE_CANARY), "mediaType": "image/png"}
    assert (exported["sha256"], base64.b64decode(exported["base64"])) == (HASH, LARGE_CANARY)


async def fill(app: KilledApp, api: Api) -> None:
    await show_a_picture(app, api)
    for number in range(6):
        await api.ask(f"{CANARY} {number} {'x' * 400}", thread_id="t")
    found = (await api.http.get(f"/api/threads?metadata.a={CANARY}")).json()["threads"]
    assert ([thread["thread_id"] for thread in found], places(app, CANARY) != []) == (["t"], True)


async def delete(app: KilledApp, api: Api) -> None:
    await api.http.delete(THREAD)


async def nothing_but_the_receipt_is_left(app: KilledApp, api: Api) -> None:
    """What was begun is done by the next delivery, or by whoever deletes again; the receipt tells the whole of it."""
    assert (await api.http.delete(THREAD)).status_code == 204
    await app.until(lambda: places(app, CANARY) == [])
    receipt = (await api.http.get(f"{THREAD}/erasure")).json()

    assert (receipt["runs"], receipt["attachments"], receipt["archived_entries"] > 0) == (7, [HASH], True)
    assert receipt["instances"] == [{"id": "@dafx-joker@t", "outcome": "deleted"}]


async def respond_unstored(app: KilledApp, api: Api) -> None:
    await api.http.post(RESPONSES, json={"model": "Joker", "input": CANARY, "store": False})


async def the_response_is_gone(app: KilledApp, api: Api) -> None:
    """Nobody asks for it: its entity is delivered again, and the log says that the thread is not to stay."""
    await app.until(lambda: places(app, CANARY) == [])


async def uploads(app: KilledApp) -> set[str]:
    """Return the hashes of everything that is kept beside the log."""
    store = choose_attachments(read_settings(app.stores), app.path, app.stores)
    agent = f"{task_hub(app.path, app.stores)}.log"
    try:
        threads = [thread_id for _, thread_id in await store.put_between(agent, 0.0, math.inf)]
        return {name for thread_id in threads for name in await store.names(StoreKey(agent, thread_id))}
    finally:
        await store.close()


async def say_much(app: KilledApp, api: Api) -> None:
    """Say more than stands in the log."""
    await api.ask("x" * 100_000, thread_id="t")


async def the_unused_upload_is_swept(app: KilledApp, api: Api) -> None:
    """A request, whose thread has nothing else then, and no entity; and an answer, which is made again."""
    left, of_answer = await uploads(app), app.known["point"].endswith("2")
    if of_answer:
        await api.entries("t")
    await app.repaired(api)

    async def swept() -> bool:
        return not left <= await uploads(app)

    await app.until(swept)
    now = await uploads(app)
    shown = await api.http.get(f"{THREAD}/messages")
    assert (len(left & now), len(now), shown.status_code) == ((1, 2, 200) if of_answer else (0, 0, 404))


async def find(app: KilledApp, api: Api) -> list[str]:
    """Return the ids of the threads that have the word, once there are any: entities commit behind an answer."""

    async def found() -> list[str]:
        answer = (await api.http.get("/api/threads", params={"search": CANARY})).raise_for_status().json()
        return [thread["thread_id"] for thread in answer["threads"]]

    return list(await app.until(found))


async def say_words(app: KilledApp, api: Api) -> None:
    """Have turns with the word, some of which are archived."""
    for number in range(4):
        await api.ask(f"{CANARY.upper()} {number} {'x' * 600}", thread_id="t")
    await api.entries("t")


async def say_words_that_are_found(app: KilledApp, api: Api) -> None:
    await say_words(app, api)
    assert await find(app, api) == ["t"]
    assert places(app, CANARY) or "AI_SEARCH" in app.environ


async def the_words_are_found_until_they_are_deleted(app: KilledApp, api: Api) -> None:
    assert await find(app, api) == ["t"]
    assert (await api.http.delete(THREAD)).status_code == 204
    await nobody_has_the_words(app, api)
    await gone(app.path, CANARY.upper().encode())


async def nobody_has_the_words(app: KilledApp, api: Api) -> None:
    """Nobody asks again: the engine delivers the operation to the next host. The search keeps words in lower case."""
    answer = await api.http.get("/api/threads", params={"search": CANARY})
    assert answer.json()["threads"] == []
    await app.until(lambda: places(app, CANARY) == [])


def around(*calls: str) -> list[str]:
    """Return the points before and after each of these calls."""
    return [" ".join((side, call)) for call in calls for side in ("after", "before")]


WORDS = "joker.search"


@each_dies(
    Scenario("picture", SCRIPTED, around("attachments.put 1"), show_a_picture, the_picture_is_kept).rows(
        pytest.mark.behaviour("erasure.attachments")
    ),
    Scenario(
        "deletion",
        SCRIPTED,
        around("attachments.erase 1", "deleting 1", "archive.erase 1", "log.erase 1"),
        delete,
        nothing_but_the_receipt_is_left,
        fill,
        SHORT,
    ).rows(pytest.mark.behaviour("erasure.nothing-is-left")),
    Scenario(
        "not stored", SCRIPTED, [*around("deleting 1"), "after completed 1"], respond_unstored, the_response_is_gone
    ).rows(pytest.mark.behaviour("responses.store")),
    Scenario(
        "unused",
        SCRIPTED,
        ["after attachments.put 1", "after attachments.put 2"],
        say_much,
        the_unused_upload_is_swept,
        next_environ=HALF_A_DAY,
    ).rows(pytest.mark.behaviour("erasure.unused-uploads")),
    Scenario(
        "words",
        SCRIPTED,
        around(f"log.append 2 | {WORDS}", f"log.append 1 | {WORDS}"),
        find,
        the_words_are_found_until_they_are_deleted,
        say_words,
        SHORT,
    ).rows(pytest.mark.behaviour("search.exact")),
    Scenario(
        "words after a deletion",
        SCRIPTED,
        around(f"log.forget 1 | {WORDS}", f"log.head 1 | {WORDS}"),
        delete,
        nobody_has_the_words,
        say_words_that_are_found,
        SHORT,
    ).rows(pytest.mark.behaviour("search.forgotten")),
)
async def test_what_a_killed_process_kept_or_erased_is_whole_or_gone(row: Row) -> None:
    """The next one does the rest of what was begun."""
    await row.dies_and_ends()


SEARCHING = """
import os

from samples.ai_search.ai_search import AiSearch
from tests.faults.deaths import KillingStore
from tests.support.app.scripted import scripted_agent

engine = KillingStore("engine", AiSearch(os.environ["AI_SEARCH"], key="the-key"))
app = AgentFunctionApp(agents=[scripted_agent("Joker")], search=engine)
"""
INDEXED = "joker.indexed"


@pytest.fixture
def server() -> Iterator[AiSearchServer]:
    """The service of the app's own search engine, which outlives its hosts."""
    server = AiSearchServer()
    yield server
    server.stop()


def is_gone(server: AiSearchServer) -> bool:
    return not any(CANARY in text.lower() for text in server.texts)


async def the_engine_has_the_thread(app: KilledApp, api: Api) -> None:
    """Nobody hands over any more what the dead host was about to."""
    assert await find(app, api) == ["t"]
    assert (await api.http.delete(THREAD)).status_code == 204


async def nobody_finds_it(app: KilledApp, api: Api) -> None:
    answer = await api.http.get("/api/threads", params={"search": CANARY})
    assert answer.json()["threads"] == []


@each_dies(
    Scenario(
        "handed over",
        SEARCHING,
        around("engine.put 1", *(f"log.append {nth} | {INDEXED}" for nth in (1, 2, 3))),
        find,
        the_engine_has_the_thread,
        say_words,
        SHORT,
        A_MINUTE,
    ).rows(pytest.mark.behaviour("search.engine-exact")),
    Scenario(
        "deleted",
        SEARCHING,
        around("engine.remove 1", "attachments.put 1 | unsearched", f"log.forget 1 | {INDEXED}"),
        delete,
        nobody_finds_it,
        say_words_that_are_found,
        SHORT,
        A_MINUTE,
    ).rows(pytest.mark.behaviour("search.engine-forgotten")),
)
async def test_the_apps_own_engine_loses_nothing_by_a_kill_and_keeps_nothing_that_was_deleted(
    row: Row, server: AiSearchServer
) -> None:
    """The engine of the app delivers to the next host what the dead one had begun."""
    row.app.environ["AI_SEARCH"] = server.endpoint

    async def then(app: KilledApp, api: Api) -> None:
        await row.scenario.end(app, api)
        await app.until(lambda: is_gone(server))

        async def nothing_is_owed() -> bool:
            if (await api.http.get("/api/operations")).json()["search_owed"] == 0:
                return True
            # What a search has just handed over may come for 20 s; the host's own next try may be 35 s away.
            await app.repaired(api)
            await asyncio.sleep(1)
            return False

        await app.until(nothing_is_owed)

    await dataclasses.replace(row.scenario, end=then).killed_and_ended(row.app, row.point)
