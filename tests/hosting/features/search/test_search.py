"""Threads over HTTP found by the words of their titles and messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.carriers import GUARD_SECONDS
from tests.support.owned_app import THREADS, OwnedApp, owner


@pytest.fixture
async def owned() -> AsyncIterator[OwnedApp]:
    """One process of the app; Ada has three threads."""
    app = OwnedApp()
    async with app.http:
        for thread_id, message in (("one", "About the Invoice"), ("two", "About a trip"), ("three", "Hello")):
            await app.say("ada", message, thread_id)
        yield app


async def answered(owned: OwnedApp, search: str, user: str = "ada", more: str = "") -> dict[str, Any]:
    answer = await owned.ask(user, "GET", f"{THREADS}?search={quote(search)}{more}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def found(owned: OwnedApp, search: str, user: str = "ada") -> list[str]:
    """Return the ids of the threads that a search finds."""
    return [thread["thread_id"] for thread in (await answered(owned, search, user))["threads"]]


async def until_found(owned: OwnedApp, search: str) -> list[str]:
    """Return what a search finds once that is anything: a list may rest for a moment after it was read."""

    async def ask() -> list[str]:
        while not (ids := await found(owned, search)):
            continue
        return ids

    return await asyncio.wait_for(ask(), GUARD_SECONDS)


async def cells(owned: OwnedApp, user: str) -> list[str]:
    """Return the ids of the user's threads of which words are stored."""
    store = owned.app._services.stores.threads
    return [thread_id for thread_id, _ in await store.heads("clerk.search", owner(user), "", 99)]


@pytest.mark.behaviour("search.words")
@pytest.mark.parametrize(
    ("message", "hits", "misses"),
    [
        ("Straße to ZÜRICH, please", ("strasse", "zürich", "Zu\u0308rich"), ("zurich",)),
        ("ｆｕｌｌ width", ("full", "ＷＩＤＴＨ"), ("widths",)),
        ("東京都の天気", ("東京", "京都", "都", "天気", "気", "東京都"), ("東気", "京東")),
        ("iPhoneの手机", ("iphone", "手机"), ("phone",)),
        ("ภาษาไทย", ("ภาษา", "ไทย"), ("ไภ",)),
        ("नमस्ते दुनिया", ("नमस्ते", "दुनि"), ("नमस ",)),
        ("snake_case 1,234.56", ("case", "snake", "1,234", "56"), ("1234",)),
    ],
)
async def test_words_of_each_script_are_found(
    owned: OwnedApp, message: str, hits: tuple[str, ...], misses: tuple[str, ...]
) -> None:
    await owned.say("ada", message, "script")

    assert [search for search in hits if "script" not in await found(owned, search)] == []
    assert [search for search in misses if "script" in await found(owned, search)] == []


@pytest.mark.behaviour("search.words")
async def test_an_answer_shows_where_a_word_stands(owned: OwnedApp) -> None:
    """In the newest message that has it, or the title; a found id has no such place."""
    await owned.say("ada", f"{'x ' * 50}a Needle\n in {'hay ' * 50}", "two")
    await owned.ask("ada", "POST", f"{THREADS}/three/describe", json={"title": "My greetings"})

    [needle] = (await answered(owned, "needle"))["threads"]
    [titled] = (await answered(owned, "greet"))["threads"]
    [by_id] = (await answered(owned, "three"))["threads"]

    before, hit, after = needle["snippet"].values()
    assert (before[:1], before[-2:], hit, after[:6], after[-1:]) == ("…", "a ", "Needle", " in ha", "…")
    assert max(len(before), len(after)) <= 81
    assert titled["snippet"] == {"before": "My ", "hit": "greetings", "after": ""}
    assert ("snippet" in by_id, by_id["title"]) == (False, "My greetings")


@pytest.mark.behaviour("search.words")
async def test_threads_of_all_agents_are_found_at_once(owned: OwnedApp) -> None:
    page = (await owned.ask("ada", "GET", "/api/threads?search=about")).json()
    await owned.ask("ada", "PATCH", f"{THREADS}/one/metadata", json={"metadata": {"team": "red"}})
    red = "/api/threads?search=about&metadata.team=red&agent=Clerk"
    while not (filtered := (await owned.ask("ada", "GET", red)).json())["threads"]:
        continue  # a list may rest for a moment after it was read

    named = [(thread["agent"], thread["agent_kind"], thread["thread_id"]) for thread in page["threads"]]
    assert named == [("Clerk", "agent", "two"), ("Clerk", "agent", "one")]
    assert (page["behind"], page["next_cursor"]) == (0, None)
    assert [thread["thread_id"] for thread in filtered["threads"]] == ["one"]


@pytest.mark.behaviour("search.owners")
async def test_everybody_finds_threads_of_their_own_only(owned: OwnedApp) -> None:
    await owned.say("bob", "Bob's invoice", "bobs")

    assert await found(owned, "invoice", "bob") == ["bobs"]
    assert await found(owned, "invoice") == ["one"]
    assert await cells(owned, "bob") == ["bobs"]


@pytest.mark.behaviour("search.forgotten")
async def test_nothing_is_found_of_what_was_forgotten_and_no_word_of_it_stays(owned: OwnedApp) -> None:
    searched = await found(owned, "about"), await cells(owned, "ada")
    await owned.ask("ada", "POST", f"{THREADS}/one/reset")
    await owned.ask("ada", "DELETE", f"{THREADS}/two")
    at_once = await found(owned, "about")
    await owned.stored()
    kept = b"".join([head.payload for _, head in await heads(owned)])
    await owned.say("ada", "anew", "two")
    again = await until_found(owned, "anew"), await found(owned, "about")
    await owned.ask("ada", "DELETE", "/api/owners/me")

    assert searched == (["two", "one"], ["one", "three", "two"])
    assert (at_once, again) == ([], (["two"], []))
    assert (b"hello" in kept, b"about" in kept, b"invoice" in kept) == (True, False, False)
    assert await cells(owned, "ada") == []


async def heads(owned: OwnedApp) -> list[Any]:
    return list(await owned.app._services.stores.threads.heads("clerk.search", owner("ada"), "", 99))


@pytest.mark.behaviour("search.free")
async def test_nothing_is_kept_for_who_does_not_search(owned: OwnedApp) -> None:
    await owned.ask("ada", "GET", f"{THREADS}?sort=changed")
    await owned.stored()
    before = await cells(owned, "ada")
    await found(owned, "hello")

    assert (before, await cells(owned, "ada")) == ([], ["one", "three", "two"])
