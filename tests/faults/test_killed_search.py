"""The search under SIGKILL: a real host killed around each thing that it keeps of the words of a thread."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.faults.killing_stores import killed_by, killing_stores_app, running
from tests.faults.storm_kept import kept
from tests.support.canary import gone
from tests.support.carriers import GUARD_SECONDS, Api
from tests.support.kept_in import HUB, KINDS, kept_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

CANARY = "CANARY77AA"
WORD = CANARY.lower()
"""A word as it is said, and as the search keeps it: what holds the second is the search's own."""
THREAD = "/api/agents/Joker/threads/t"
WORDS = "joker.search"
READING = [f"{side} log.append {nth}" for side in ("before", "after") for nth in (1, 2)]
FORGETTING = [f"{side} {call}" for call in ("log.forget", "log.head") for side in ("before", "after")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The app."""
    return killing_stores_app(tmp_path)


async def found(api: Api, word: str) -> list[str]:
    """Return the ids of the threads that have the word."""
    answer = (await api.http.get("/api/threads", params={"search": word})).raise_for_status().json()
    return [thread["thread_id"] for thread in answer["threads"]]


async def until_found(api: Api, word: str) -> list[str]:
    """Return the ids once there are any: entities commit behind an answer."""
    end = asyncio.get_running_loop().time() + GUARD_SECONDS
    while not (ids := await found(api, word)) and asyncio.get_running_loop().time() < end:
        pass
    return ids


async def say(api: Api) -> None:
    """Have turns with the word, some of which are archived."""
    for number in range(4):
        await api.ask(f"{CANARY} {number} {'x' * 600}", thread_id="t")
    await api.entries("t")


def places(folder: Path, stores: dict[str, str], word: str) -> list[str]:
    """Return where the word stands."""
    return [place for place, text in kept(folder, stores, stores[HUB]) if word.encode() in text]


@pytest.mark.behaviour("search.exact")
@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first=READING[3], rest=READING[:3]), indirect=["stores"])
async def test_a_host_that_dies_while_it_keeps_words_loses_none_and_leaves_none(
    folder: Path, point: str, stores: dict[str, str]
) -> None:
    """The next one finds the thread; after the deletion the word stands nowhere."""
    call, _, nth = point.rpartition(" ")
    async with running(folder, **stores) as (_, api):
        await say(api)
    await killed_by(folder, call, lambda api: until_found(api, CANARY), SAID=WORDS, NTH=nth, **stores)

    async with running(folder, **stores) as (_, api):
        ids = await until_found(api, CANARY)
        deleted = (await api.http.delete(THREAD)).status_code
        after = await found(api, CANARY)
        await asyncio.wait_for(gone(folder, CANARY.encode()), GUARD_SECONDS)

    assert (ids, deleted, after) == (["t"], 204, [])
    assert places(folder, stores, WORD) == places(folder, stores, CANARY) == []


@pytest.mark.behaviour("search.forgotten")
@pytest.mark.parametrize("verb", ["delete", "reset"])
@pytest.mark.parametrize(
    ("point", "stores"), kept_in(*KINDS, first=FORGETTING[0], rest=FORGETTING[1:]), indirect=["stores"]
)
async def test_a_host_that_dies_while_it_forgets_words_leaves_none(
    folder: Path, point: str, stores: dict[str, str], verb: str
) -> None:
    """Nobody asks again: the engine delivers the operation to the next host."""
    async with running(folder, **stores) as (_, api):
        await say(api)
        ids = await until_found(api, CANARY)
        searched = places(folder, stores, WORD)

    async def forget(api: Api) -> None:
        await (api.http.delete(THREAD) if verb == "delete" else api.http.post(f"{THREAD}/reset"))
        await asyncio.sleep(GUARD_SECONDS)  # it dies of the work that this began

    await killed_by(folder, point, forget, SAID=WORDS, **stores)
    async with running(folder, **stores) as (_, api):
        after = await found(api, CANARY)
        await asyncio.wait_for(no_words(folder, stores), 6 * GUARD_SECONDS)

    assert (ids, searched != [], after) == (["t"], True, [])


async def no_words(folder: Path, stores: dict[str, str]) -> None:
    """Return once no store of the app has the word as the search keeps it."""
    while places(folder, stores, WORD):  # noqa: ASYNC110 - stores tell nobody
        await asyncio.sleep(0.05)
