"""The app's own search engine under SIGKILL: a real host killed around each call of it, and of what is recorded of it.

The engine is the one of `samples/ai_search`, over a server of ours that outlives the hosts.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.killing_stores import killed_by, killing_stores_app, running
from tests.support.ai_search_server import AiSearchServer
from tests.support.carriers import GUARD_SECONDS, Api

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

CANARY = "CANARY77AA"
THREAD = "/api/agents/Joker/threads/t"
LATER = {"CLOCK_AHEAD": "60"}
"""Nobody hands over any more what the dead host was about to."""
HANDING = [
    *(f"{side} engine.put" for side in ("before", "after")),
    *(f"{side} log.append {nth}" for side in ("before", "after") for nth in (1, 2, 3)),
]
FORGETTING = [
    f"{side} {call}"
    for call in ("engine.remove", "attachments.put", "log.append", "attachments.erase", "log.forget")
    for side in ("before", "after")
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The app."""
    return killing_stores_app(tmp_path)


@pytest.fixture
def server() -> Iterator[AiSearchServer]:
    """The service of the engine."""
    server = AiSearchServer()
    yield server
    server.stop()


async def found(api: Api) -> list[str]:
    """Return the ids of the threads that have the word."""
    answer = (await api.http.get("/api/threads", params={"search": CANARY})).raise_for_status().json()
    return [thread["thread_id"] for thread in answer["threads"]]


async def until_found(api: Api) -> list[str]:
    """Return the ids once there are any: entities commit behind an answer."""

    async def ask() -> list[str]:
        while not (ids := await found(api)):
            continue
        return ids

    return await asyncio.wait_for(ask(), GUARD_SECONDS)


async def until_gone(server: AiSearchServer) -> None:
    """Return once the service has the word no more."""

    async def look() -> None:
        while any(CANARY in text for text in server.texts):  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.05)

    await asyncio.wait_for(look(), 6 * GUARD_SECONDS)


async def say(api: Api) -> None:
    """Have turns with the word, some of which are archived."""
    for number in range(4):
        await api.ask(f"{CANARY} {number} {'x' * 600}", thread_id="t")
    await api.entries("t")


async def owed(api: Api) -> int:
    """Return of how many threads the engine has still to remove texts."""
    return int((await api.http.get("/api/operations")).raise_for_status().json()["search_owed"])


@pytest.mark.behaviour("search.engine-exact")
@pytest.mark.parametrize("point", HANDING)
async def test_a_host_that_dies_while_it_hands_a_thread_over_loses_nothing_and_leaves_nothing(
    folder: Path, server: AiSearchServer, point: str
) -> None:
    """The next one finds the thread; after the deletion the service has none of it."""
    environ = {"AI_SEARCH": server.endpoint}
    said = {} if "engine" in point else {"SAID": "joker.indexed", "NTH": point[-1]}
    async with running(folder, **environ) as (_, api):
        await say(api)
    await killed_by(folder, point.removesuffix(f" {point[-1]}"), until_found, **environ, **said)

    async with running(folder, **environ, **LATER) as (_, api):
        ids = await until_found(api)
        handed = sum(CANARY in text for text in server.texts)
        deleted = (await api.http.delete(THREAD)).status_code
        after = await found(api)
        await until_gone(server)
        left = await owed(api)

    assert (ids, handed >= 8, deleted, after, left) == (["t"], True, 204, [], 0)


@pytest.mark.behaviour("search.engine-forgotten")
@pytest.mark.parametrize("verb", ["delete", "reset"])
@pytest.mark.parametrize("point", FORGETTING)
async def test_a_host_that_dies_while_the_engine_forgets_a_thread_leaves_nothing(
    folder: Path, server: AiSearchServer, point: str, verb: str
) -> None:
    """Nobody asks again: the engine of the app delivers the operation to the next host."""
    environ = {"AI_SEARCH": server.endpoint}
    said = {"attachments": "unsearched", "log": "joker.indexed", "engine": ""}[point.split()[1].partition(".")[0]]
    async with running(folder, **environ) as (_, api):
        await say(api)
        ids = await until_found(api)

    async def forget(api: Api) -> None:
        await (api.http.delete(THREAD) if verb == "delete" else api.http.post(f"{THREAD}/reset"))
        await asyncio.sleep(GUARD_SECONDS)  # it dies of the work that this began

    await killed_by(folder, point, forget, SAID=said, **environ)
    async with running(folder, **environ, **LATER) as (_, api):
        after = await found(api)
        await until_gone(server)

    assert (ids, after) == (["t"], [])


@pytest.mark.behaviour("search.engine-forgotten")
async def test_a_service_that_is_away_is_shown_and_forgets_when_it_is_back(
    folder: Path, server: AiSearchServer
) -> None:
    """Over two hosts: the first one records what is owed, and the next search of any host is not kept from it."""
    environ = {"AI_SEARCH": server.endpoint}
    async with running(folder, **environ) as (_, api):
        await say(api)
        await until_found(api)
        server.is_away = True
        deleted = (await api.http.delete(THREAD, timeout=4 * GUARD_SECONDS)).status_code
        owing, refused = await owed(api), await api.http.get("/api/threads", params={"search": CANARY})
        server.is_away = False
        await until_gone(server)
        left = await owed(api)

    assert (deleted in {202, 204}, owing, refused.status_code, refused.json()["code"], left) == (
        True,
        1,
        503,
        "search_unavailable",
        0,
    )
