"""What every search engine keeps to, and what the app shows of one that errs, lies or is away."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import quote

import pytest

from hosting.app import AgentFunctionApp, SearchHit, ThreadPlace
from hosting.errors import ConfigurationError
from hosting.features.search.feature import SearchFeature
from tests.support.ai_search_server import AiSearchServer
from tests.support.owned_app import THREADS, OwnedApp, owner
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


SEARCHES: list[tuple[Any, ...]] = [
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
]


@pytest.mark.behaviour("search.engines")
async def test_each_engine_finds_the_same_words_and_phrases(owned: OwnedApp) -> None:
    """Of a title, a message, an answer or an id; of a caller's own threads."""
    for search, expected in SEARCHES:
        assert await found(owned, search) == expected


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


@pytest.fixture
async def engined() -> AsyncIterator[OwnedApp]:
    """One process of the app, with an engine that knows a thread of Ada's and one of Bob's."""
    app = OwnedApp(search=SimpleEngine())
    async with app.http:
        await app.say("ada", "About the invoice", "mine")
        await app.say("bob", "A secret invoice", "his")
        for user in ("ada", "bob"):
            await search(app, "invoice", user)
        yield app
        await app.app._drain(0)


def engine_of(engined: OwnedApp) -> SimpleEngine:
    [feature] = [each for each in engined.app._served.features if isinstance(each, SearchFeature)]
    assert isinstance(feature._engine, SimpleEngine)
    return feature._engine


async def search(engined: OwnedApp, text: str, user: str = "ada") -> Any:
    return await engined.ask(user, "GET", f"{THREADS}?search={quote(text)}")


def shown(answer: Any) -> list[tuple[str, Any]]:
    """Return the ids of the threads, with what is shown of their texts."""
    return [(thread["thread_id"], thread.get("snippet")) for thread in answer.json()["threads"]]


@pytest.mark.behaviour("search.engine-owners")
async def test_nothing_of_another_owner_is_shown_whatever_the_engine_finds(engined: OwnedApp) -> None:
    ada, bob = owner("ada"), owner("bob")
    places = [
        SearchHit(ThreadPlace(bob, "clerk", "his"), 1),
        SearchHit(ThreadPlace(ada, "clerk", "his"), 1),
        SearchHit(ThreadPlace(bob, "clerk", "mine"), 1),
        SearchHit(ThreadPlace(ada, "other", "mine"), 1),
        SearchHit(ThreadPlace(ada, "clerk", "gone"), 1),
    ]
    engine_of(engined).lies = [*places, "no hit"]  # type: ignore[list-item]
    found = await search(engined, "invoice")
    engine_of(engined).lies = [SearchHit(ThreadPlace(ada, "clerk", "mine"), 99)]
    gone = await search(engined, "invoice")

    assert shown(found) == [("mine", {"before": "About the ", "hit": "invoice", "after": ""})]
    assert shown(gone) == []


@pytest.mark.behaviour("search.engine-owners")
async def test_a_search_is_refused_while_the_engine_is_away(
    engined: OwnedApp, caplog: pytest.LogCaptureFixture
) -> None:
    engine_of(engined).is_away = True
    refused = await search(engined, "invoice")
    listed = await engined.ask("ada", "GET", f"{THREADS}?sort=changed")
    engine_of(engined).is_away = False

    assert (refused.status_code, refused.json()["code"]) == (503, "search_unavailable")
    assert (listed.status_code, shown(await search(engined, "invoice"))[0][0]) == (200, "mine")
    assert ("secret" in refused.text, "secret" in caplog.text) == (False, False)
    assert "The search engine failed at find (ConnectionError)" in caplog.text


@pytest.mark.behaviour("search.engine-forgotten")
async def test_an_erasure_is_not_done_before_the_engine_has_forgotten_the_owner(engined: OwnedApp) -> None:
    engine = engine_of(engined)
    engine.is_away = True
    refused = await engined.ask("ada", "DELETE", "/api/owners/me")
    [feature] = [each for each in engined.app._served.features if isinstance(each, SearchFeature)]
    owed = await feature.owed()
    engine.is_away = False
    feature._handed._away_until = 0.0
    erased = await engined.ask("ada", "DELETE", "/api/owners/me")
    left = await feature.owed()

    assert (refused.status_code, refused.json()["code"], owed) == (503, "search_unavailable", 1)
    assert (erased.status_code, left) == (200, 0)
    assert {place.owner for place, _ in engine.texts} == {owner("bob")}


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ("azure", "search is of type 'str', which has no method 'put' and no 'remove'"),
        (SimpleEngine, "search is a class, 'SimpleEngine'"),
    ],
)
@pytest.mark.behaviour("search.engines")
def test_what_is_no_engine_is_refused_at_start(given: Any, refusal: str) -> None:
    with pytest.raises(ConfigurationError, match=refusal):
        AgentFunctionApp(search=given, environ={"AGENT_LOG": "memory"})
