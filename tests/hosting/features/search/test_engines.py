"""What every search keeps to: the app's own index, an engine of a test's, and Azure AI Search as in `samples/`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.ai_search_server import AiSearchServer
from tests.support.carriers import GUARD_SECONDS
from tests.support.owned_app import THREADS, OwnedApp
from tests.support.simple_engine import SimpleEngine


@pytest.fixture(params=["own index", "simple engine", "ai search"])
async def owned(request: pytest.FixtureRequest) -> AsyncIterator[OwnedApp]:
    """One process of the app; Ada has three threads, and Bob one."""
    async with AsyncExitStack() as stack:
        search: Any = None
        if request.param == "simple engine":
            search = SimpleEngine()
        elif request.param == "ai search":
            server = AiSearchServer()
            stack.callback(server.stop)
            search = server.engine()
            stack.push_async_callback(search.close)
        app = OwnedApp(search=search)
        await stack.enter_async_context(app.http)
        for user, thread_id, message in (
            ("ada", "one", "About the Invoice of March"),
            ("ada", "two", "About a trip, a long trip"),
            ("ada", "three", "Hello"),
            ("bob", "bobs", "An Invoice of mine"),
        ):
            await app.say(user, message, thread_id)
        yield app
        await app.app._drain(0)


async def found(owned: OwnedApp, search: str, user: str = "ada", more: str = "") -> list[str]:
    """Return the ids of the threads that a search finds, sorted."""
    answer = await owned.ask(user, "GET", f"{THREADS}?search={quote(search)}{more}")
    assert answer.status_code == 200, answer.text
    return sorted(thread["thread_id"] for thread in answer.json()["threads"])


async def until(owned: OwnedApp, search: str, is_done: Callable[[list[str]], bool]) -> list[str]:
    """Return what a search finds once it is that: a list may rest for a moment after it was read."""

    async def ask() -> list[str]:
        while not is_done(ids := await found(owned, search)):
            continue
        return ids

    return await asyncio.wait_for(ask(), GUARD_SECONDS)


@pytest.mark.behaviour("search.engines")
@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("invoice", ["one"]),
        ("INVOICE about", ["one"]),
        ("about", ["one", "two"]),
        ("inv", ["one"]),
        ("inv ", []),
        ("invoice trip", []),
        ("invoices", []),
        ("three", ["three"]),
        ('"the invoice"', ["one"]),
        ('"invoice the"', []),
        ('"trip a long"', ["two"]),
        ('"long trip" about', ["two"]),
        ('"invoice of ma', ["one"]),
        ('"invoice of ma"', []),
        ("“invoice of”", ["one"]),
        ('"hello"', ["three"]),
        ("!?", []),
        ('""', []),
    ],
)
async def test_each_engine_finds_the_same_words_and_phrases(owned: OwnedApp, search: str, expected: list[str]) -> None:
    """Of a title, a message, an answer or an id; of a caller's own threads."""
    assert await found(owned, search) == expected


@pytest.mark.behaviour("search.engines")
async def test_each_engine_finds_what_a_thread_says_now(owned: OwnedApp) -> None:
    """By the next turn, and by a newer title instead of the one before."""
    before = await found(owned, "banana"), await found(owned, "fruit")
    await owned.say("ada", "A banana", "one")
    after = await until(owned, "banana", bool)
    await owned.ask("ada", "POST", f"{THREADS}/three/describe", json={"title": "Fruit"})
    titled = await until(owned, "fruit", bool)
    await owned.ask("ada", "POST", f"{THREADS}/three/describe", json={"title": "Bread"})
    again = await until(owned, "bread", bool), await found(owned, "fruit")

    assert (before, after, titled, await found(owned, "invoice")) == (([], []), ["one"], ["three"], ["one"])
    assert again == (["three"], [])


@pytest.mark.behaviour("search.engines")
async def test_each_engine_finds_nothing_of_what_was_forgotten(owned: OwnedApp) -> None:
    """Of a thread that was reset, and of a deleted one, from the answer on; they are found again by what comes then."""
    searched = await found(owned, "about")
    await owned.ask("ada", "POST", f"{THREADS}/one/reset")
    await owned.ask("ada", "DELETE", f"{THREADS}/two")
    at_once = await found(owned, "about")
    await owned.stored()
    await owned.say("ada", "anew", "two")
    again = await until(owned, "anew", bool)

    assert (searched, at_once, again, await found(owned, "about")) == (["one", "two"], [], ["two"], [])


@pytest.mark.behaviour("search.engines")
async def test_each_engine_has_pages_with_each_thread_once(owned: OwnedApp) -> None:
    for number in range(7):
        await owned.say("ada", f"hay {number}", f"hay-{number}")
        await owned.say("ada", f"hay again {number}", f"hay-{number}")
    pages = list[list[str]]()
    cursor: str | None = ""
    while cursor is not None:
        answer = await owned.ask("ada", "GET", f"{THREADS}?search=hay&limit=3&cursor={quote(cursor)}")
        pages.append([thread["thread_id"] for thread in answer.json()["threads"]])
        cursor = answer.json()["next_cursor"]

    assert [*map(len, pages)] == [3, 3, 1]
    assert sorted(thread_id for page in pages for thread_id in page) == [f"hay-{number}" for number in range(7)]
