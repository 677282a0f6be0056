"""Phrases: words in quotation marks, which follow each other in one text of a thread."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import quote

import pytest

from hosting.features.search.index import WordIndex
from hosting.features.search.phrases import searched_text, snippet_with
from hosting.features.search.search import ThreadSearch
from hosting.http.verbs import ChangedThreads, FoundWords, ThreadChange, ThreadQuery
from hosting.names import Address
from hosting.principal import Caller
from tests.support.mortal import AGENT, Life, World
from tests.support.owned_app import THREADS, OwnedApp


@pytest.fixture
async def owned() -> AsyncIterator[OwnedApp]:
    app = OwnedApp()
    async with app.http:
        yield app


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.loop.close()


async def shown(owned: OwnedApp, search: str) -> list[tuple[str, Any]]:
    """Return the ids of the threads that Ada's search finds, with the hits that are shown."""
    answer = (await owned.ask("ada", "GET", f"{THREADS}?search={quote(search)}")).json()
    return [(thread["thread_id"], thread.get("snippet", {}).get("hit")) for thread in answer["threads"]]


@pytest.mark.behaviour("search.phrases")
async def test_an_older_message_has_the_phrase_although_newer_ones_have_its_words(owned: OwnedApp) -> None:
    await owned.say("ada", "the red house", "old")
    for message in ("house red", "red and house", "a house that is red"):
        await owned.say("ada", message, "old")

    assert await shown(owned, '"red house"') == [("old", "red house")]
    assert await shown(owned, '"red house" "that is"') == [("old", "that is")]
    assert await shown(owned, '"red house" "that was"') == []


@pytest.mark.behaviour("search.phrases")
@pytest.mark.parametrize(
    ("text", "search", "hit"),
    [
        ("has Two, words yes", '"two words"', "Two, words"),
        ("has two words yes", '"two wor', "two words"),
        ("has two words yes", '"two wor"', None),
        ("has two words", '"words two"', None),
        ("a b a a", '"a a"', "a a"),
        ("a b a", '"a a"', None),
        ("東京都の天気", '"京都の天"', "京都の天"),
        ("東京と京都", '"東京都"', None),
        ("my iPhoneの手机 is", '"iPhoneの手"', "iPhoneの手"),
        ("a STRASSE to go", "“Straße to”", "STRASSE to"),
        (f"{'x' * 70}y end", f'"{"x" * 70}y"', f"{'x' * 70}y"),
        (f"{'x' * 70}z end", f'"{"x" * 70}y"', None),
    ],
)
def test_a_phrase_is_exact_in_each_script(text: str, search: str, hit: str | None) -> None:
    searched = searched_text(search)
    snippet = snippet_with(text, searched) if searched.fits(text) else None

    assert (None if snippet is None else snippet.hit) == hit


@pytest.mark.behaviour("search.phrases")
async def test_a_page_reads_so_many_texts_and_the_next_one_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a phrase of words that all threads have costs no more at once, and none is missed."""
    monkeypatch.setattr("hosting.features.search.search.MOST_READ", 16)
    for number in range(20):
        text = "red house" if number == 0 else "house red"
        await world.process().say(text, Address.of(AGENT, f"t{number:02}"))
    life = Life()
    process = world.process(life)
    parts = process.services
    search = ThreadSearch(WordIndex(parts.cells, parts.threads, parts.stores), parts.log, parts.threads)
    threads = {f"t{number:02}": ThreadChange(float(number), "1") for number in range(20)}
    changed = {AGENT.lower(): ChangedThreads(threads, 99.0)}

    async def page(cursor: str | None) -> FoundWords:
        query = ThreadQuery(50, cursor)
        return await search.find('"red house"', changed, query, Caller(process.engine))

    pages, cursor = list[list[str]](), None
    while not pages or cursor is not None:
        found = await page(cursor)
        pages.append([thread.address.thread_id for thread in found.threads])
        cursor = found.cursor
        assert len(pages) < 9

    assert pages == [[], [], ["t00"]]
