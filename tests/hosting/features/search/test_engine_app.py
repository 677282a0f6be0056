"""An app with a search engine of its own, over HTTP: what it shows of an engine that errs, lies or is away."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest

from hosting.app import AgentFunctionApp, SearchHit, ThreadPlace
from hosting.errors import ConfigurationError
from hosting.features.search.feature import SearchFeature
from tests.support.owned_app import THREADS, OwnedApp, owner
from tests.support.simple_engine import SimpleEngine


@pytest.fixture
async def owned() -> AsyncIterator[OwnedApp]:
    """One process of the app, with an engine that knows a thread of Ada's and one of Bob's."""
    app = OwnedApp(search=SimpleEngine())
    async with app.http:
        await app.say("ada", "About the invoice", "mine")
        await app.say("bob", "A secret invoice", "his")
        for user in ("ada", "bob"):
            await search(app, "invoice", user)
        yield app
        await app.app._drain(0)


def engine_of(owned: OwnedApp) -> SimpleEngine:
    [feature] = [each for each in owned.app._served.features if isinstance(each, SearchFeature)]
    assert isinstance(feature._engine, SimpleEngine)
    return feature._engine


async def search(owned: OwnedApp, text: str, user: str = "ada") -> Any:
    return await owned.ask(user, "GET", f"{THREADS}?search={quote(text)}")


def shown(answer: Any) -> list[tuple[str, Any]]:
    """Return the ids of the threads, with what is shown of their texts."""
    return [(thread["thread_id"], thread.get("snippet")) for thread in answer.json()["threads"]]


@pytest.mark.behaviour("search.engine-owners")
async def test_nothing_of_another_owner_is_shown_whatever_the_engine_finds(owned: OwnedApp) -> None:
    ada, bob = owner("ada"), owner("bob")
    places = [
        SearchHit(ThreadPlace(bob, "clerk", "his"), 1),
        SearchHit(ThreadPlace(ada, "clerk", "his"), 1),
        SearchHit(ThreadPlace(bob, "clerk", "mine"), 1),
        SearchHit(ThreadPlace(ada, "other", "mine"), 1),
        SearchHit(ThreadPlace(ada, "clerk", "gone"), 1),
    ]
    engine_of(owned).lies = [*places, "no hit"]  # type: ignore[list-item]
    found = await search(owned, "invoice")
    engine_of(owned).lies = [SearchHit(ThreadPlace(ada, "clerk", "mine"), 99)]
    gone = await search(owned, "invoice")

    assert shown(found) == [("mine", {"before": "About the ", "hit": "invoice", "after": ""})]
    assert shown(gone) == []


@pytest.mark.behaviour("search.engine-owners")
async def test_a_search_is_refused_while_the_engine_is_away(owned: OwnedApp, caplog: pytest.LogCaptureFixture) -> None:
    engine_of(owned).is_away = True
    refused = await search(owned, "invoice")
    listed = await owned.ask("ada", "GET", f"{THREADS}?sort=changed")
    engine_of(owned).is_away = False

    assert (refused.status_code, refused.json()["code"]) == (503, "search_unavailable")
    assert (listed.status_code, shown(await search(owned, "invoice"))[0][0]) == (200, "mine")
    assert ("secret" in refused.text, "secret" in caplog.text) == (False, False)
    assert "The search engine failed at find (ConnectionError)" in caplog.text


@pytest.mark.behaviour("search.engine-forgotten")
async def test_an_erasure_is_not_done_before_the_engine_has_forgotten_the_owner(owned: OwnedApp) -> None:
    engine = engine_of(owned)
    engine.is_away = True
    refused = await owned.ask("ada", "DELETE", "/api/owners/me")
    [feature] = [each for each in owned.app._served.features if isinstance(each, SearchFeature)]
    owed = await feature.owed()
    engine.is_away = False
    feature._handed._away_until = 0.0
    erased = await owned.ask("ada", "DELETE", "/api/owners/me")
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
