"""Threads found by words and phrases, in each script: what an answer has, and what it says of the rest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest

from hosting.features.search.feature import SearchFeature
from hosting.features.search.phrases import searched_text, snippet_with
from hosting.features.search.search import ThreadSearch
from hosting.http.verbs import ChangedThreads, FoundWords, ThreadChange, ThreadQuery
from hosting.principal import Caller
from tests.support.carriers import GUARD_SECONDS
from tests.support.cluster.cluster import AGENT, THREAD, AppProcess, Cluster
from tests.support.cluster.life import Life
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


@pytest.fixture
async def empty() -> AsyncIterator[OwnedApp]:
    app = OwnedApp()
    async with app.http:
        yield app


async def shown(empty: OwnedApp, search: str) -> list[tuple[str, Any]]:
    """Return the ids of the threads that Ada's search finds, with the hits that are shown."""
    answer = (await empty.ask("ada", "GET", f"{THREADS}?search={quote(search)}")).json()
    return [(thread["thread_id"], thread.get("snippet", {}).get("hit")) for thread in answer["threads"]]


@pytest.mark.behaviour("search.phrases")
async def test_a_phrase_is_found_in_a_title_and_in_an_id(empty: OwnedApp) -> None:
    await empty.say("ada", "hello", "red-house.7")
    await empty.ask("ada", "POST", f"{THREADS}/red-house.7/describe", json={"title": "Bill of March"})

    assert await shown(empty, '"bill of"') == [("red-house.7", "Bill of")]
    assert [id_ for id_, _ in await shown(empty, '"red house 7"')] == ["red-house.7"]
    assert await shown(empty, '"march red"') == []


@pytest.mark.behaviour("search.phrases")
async def test_an_older_message_has_the_phrase_although_newer_ones_have_its_words(empty: OwnedApp) -> None:
    await empty.say("ada", "the red house", "old")
    for message in ("house red", "red and house", "a house that is red"):
        await empty.say("ada", message, "old")

    assert await shown(empty, '"red house"') == [("old", "red house")]
    assert await shown(empty, '"red house" "that is"') == [("old", "that is")]
    assert await shown(empty, '"red house" "that was"') == []


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


@pytest.mark.moved_time
@pytest.mark.behaviour("search.phrases")
async def test_a_page_reads_so_many_texts_and_the_next_one_goes_on(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a phrase of words that all threads have costs no more at once, and none is missed."""
    monkeypatch.setattr("hosting.features.search.search.MOST_READ", 16)
    for number in range(20):
        text = "red house" if number == 0 else "house red"
        await cluster.process().run(text, f"t{number:02}")
    app = cluster.process()
    search = app.feature(SearchFeature)._search
    threads = {f"t{number:02}": ThreadChange(float(number), "1") for number in range(20)}
    changed = {AGENT.lower(): ChangedThreads(threads, 99.0)}

    async def page(cursor: str | None) -> FoundWords:
        query = ThreadQuery(50, cursor)
        return await search.find('"red house"', changed, query, Caller(app.engine))

    pages, cursor = list[list[str]](), None
    while not pages or cursor is not None:
        found = await page(cursor)
        pages.append([thread.address.thread_id for thread in found.threads])
        cursor = found.cursor
        assert len(pages) < 9

    assert pages == [[], [], ["t00"]]


SEEN = 1000.0


class HeldEngine:
    """An engine that holds the documents of some threads back."""

    def __init__(self, engine: Any, *held: str) -> None:
        self._engine, self.held, self.let_go = engine, held, asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    async def read(self, entity: str, key: str) -> Any:
        if key in self.held:
            await self.let_go.wait()
        return await self._engine.read(entity, key)


class Searcher:
    """A search in a process, which knows of these changes of the thread."""

    def __init__(self, app: AppProcess, **more: Any) -> None:
        self.engine = app.engine
        self.search = ThreadSearch(app.feature(SearchFeature)._index, app.log, app.threads, **more)

    async def find(self, text: str, **marks: str) -> FoundWords:
        """Return what is found of the threads with these marks of their last changes, the oldest first."""
        threads = {id_: ThreadChange(float(at), mark) for at, (id_, mark) in enumerate(marks.items(), start=1)}
        changed = {AGENT.lower(): ChangedThreads(threads, SEEN)}
        return await self.search.find(text, changed, ThreadQuery(50), Caller(self.engine))


def ids(found: FoundWords) -> list[str]:
    return [thread.address.thread_id for thread in found.threads]


@pytest.mark.moved_time
@pytest.mark.behaviour("search.exact")
async def test_an_answer_says_how_far_it_goes_and_the_next_goes_further(cluster: Cluster) -> None:
    await cluster.process().run("hello first")
    await cluster.process().run("hello", "other")
    searcher = Searcher(cluster.process(), waited_seconds=0.01)
    searcher.engine = engine = HeldEngine(cluster.engine, THREAD, "other")
    early = await searcher.find("hello", t1="1", other="1")
    engine.let_go.set()
    late = await until_complete(searcher, t1="1", other="1")
    engine.held, engine.let_go = ("other",), asyncio.Event()
    changed = await searcher.find("hello first", t1="1", other="2")
    await searcher.search.close()

    assert (ids(early), early.behind, early.indexed_through) == ([], 2, 1.0)
    assert (ids(late), late.behind, late.indexed_through) == (["other", THREAD], 0, SEEN)
    assert (ids(changed), changed.behind, changed.indexed_through) == ([THREAD], 1, 2.0)
    assert searcher.search._updates == {}


async def until_complete(searcher: Searcher, **marks: str) -> FoundWords:
    while (found := await searcher.find("hello", **marks)).behind:
        continue
    return found


@pytest.mark.moved_time
@pytest.mark.behaviour("search.bounds")
async def test_a_search_reads_what_changed_and_the_heads_of_what_it_shows(cluster: Cluster) -> None:
    for number in range(20):
        await cluster.process().run(f"hello {number} {'needle' if number == 7 else 'hay'}", f"t{number}")
    life = Life()
    searcher = Searcher(cluster.process(life))
    marks = {f"t{number}": "1" for number in range(20)}
    await searcher.find("hello", **marks)
    calls = list[int]()
    for search, changes in (("nowhere", {}), ("needle", {}), ("nowhere", {"t3": "2"})):
        before = life.calls
        await searcher.find(search, **{**marks, **changes})
        calls.append(life.calls - before)

    assert calls[0] == 0
    assert 0 < calls[1] <= 6
    assert 0 < calls[2] <= 8


@pytest.mark.behaviour("search.free")
async def test_nothing_is_kept_for_who_does_not_search(owned: OwnedApp) -> None:
    await owned.ask("ada", "GET", f"{THREADS}?sort=changed")
    await owned.stored()
    before = await cells(owned, "ada")
    await found(owned, "hello")

    assert (before, await cells(owned, "ada")) == ([], ["one", "three", "two"])
