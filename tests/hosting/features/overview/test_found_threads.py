"""Threads over HTTP: named and pinned by their owner, and listed with the origin of a fork."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.carriers import GUARD_SECONDS
from tests.support.owned_app import THREADS, OwnedApp


@pytest.fixture
async def owned() -> AsyncIterator[OwnedApp]:
    """One process of the app; Ada has three threads."""
    app = OwnedApp()
    async with app.http:
        for thread_id, message in (("one", "About the Invoice"), ("two", "About a trip"), ("three", "Hello")):
            await app.say("ada", message, thread_id)
        yield app


async def listed(owned: OwnedApp, query: str, user: str = "ada") -> list[dict[str, Any]]:
    answer = await owned.ask(user, "GET", f"{THREADS}?{query}")
    assert answer.status_code == 200, answer.text
    return list(answer.json()["threads"])


async def describe(owned: OwnedApp, thread_id: str, **fields: Any) -> dict[str, Any]:
    answer = await owned.ask("ada", "POST", f"{THREADS}/{thread_id}/describe", json=fields)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def in_order(owned: OwnedApp, *expected: str, sort: str = "pinned") -> None:
    """Wait until the list has these threads, pinned ones first: it may rest for a moment after it was read."""

    async def ask() -> None:
        while [thread["thread_id"] for thread in await listed(owned, f"sort={sort}")] != [*expected]:
            continue

    await asyncio.wait_for(ask(), GUARD_SECONDS)


@pytest.mark.behaviour("overview.labels")
async def test_a_thread_is_named_and_pinned(owned: OwnedApp) -> None:
    """Each by itself; without a name it has the start of its first message again, and no request changes nothing."""
    pinned = await describe(owned, "one", pinned=True)
    named = await describe(owned, "one", title="  My \n invoice ")
    thread = (await owned.ask("ada", "GET", f"{THREADS}/one")).json()
    await in_order(owned, "one", "three", "two")
    first = (await owned.ask("ada", "GET", f"{THREADS}?sort=pinned&limit=1")).json()
    rest = (await owned.ask("ada", "GET", f"{THREADS}?sort=pinned&cursor={first['next_cursor']}")).json()
    unnamed = await describe(owned, "one", title="", pinned=False)
    same = await describe(owned, "one")

    ids = {"thread_id": "one", "session_id": "one"}
    assert pinned == {**ids, "title": "About the Invoice", "pinned": True}
    assert named == {**ids, "title": "My invoice", "pinned": True}
    assert (thread["title"], thread["pinned"]) == ("My invoice", True)
    assert [(one["thread_id"], one["title"], one["pinned"]) for one in first["threads"]] == [
        ("one", "My invoice", True)
    ]
    assert [one["thread_id"] for one in rest["threads"]] == ["three", "two"]
    assert unnamed == same == {**ids, "title": "About the Invoice", "pinned": False}


@pytest.mark.behaviour("overview.labels")
async def test_a_name_stays_through_a_reset_and_goes_with_the_thread(owned: OwnedApp) -> None:
    await describe(owned, "one", title="Mine", pinned=True)
    await owned.ask("ada", "POST", f"{THREADS}/one/reset")
    await owned.say("ada", "again", "one")
    kept = (await owned.ask("ada", "GET", f"{THREADS}/one")).json()
    await owned.ask("ada", "DELETE", f"{THREADS}/one")
    await owned.stored()
    await owned.say("ada", "anew", "one")
    anew = (await owned.ask("ada", "GET", f"{THREADS}/one")).json()

    assert (kept["title"], kept["pinned"]) == ("Mine", True)
    assert (anew["title"], anew["pinned"]) == ("anew", False)


@pytest.mark.behaviour("overview.labels")
@pytest.mark.parametrize(
    ("user", "thread_id", "body", "expected"),
    [
        ("ada", "one", {"title": "x" * 81}, (400, "invalid_field")),
        ("ada", "one", {"title": 7}, (400, "invalid_field")),
        ("ada", "one", {"pinned": "yes"}, (400, "invalid_field")),
        ("ada", "one", {"name": "x"}, (400, "unknown_field")),
        ("ada", "none", {"title": "x"}, (404, "unknown_thread")),
        ("bob", "one", {"title": "x"}, (404, "unknown_thread")),
    ],
)
async def test_what_cannot_be_described_is_refused(
    owned: OwnedApp, user: str, thread_id: str, body: dict[str, Any], expected: tuple[int, str]
) -> None:
    """And nothing changes; nobody names a thread of somebody else."""
    answer = await owned.ask(user, "POST", f"{THREADS}/{thread_id}/describe", json=body)
    thread = (await owned.ask("ada", "GET", f"{THREADS}/one")).json()

    assert (answer.status_code, answer.json()["code"]) == expected
    assert (thread["title"], thread["pinned"]) == ("About the Invoice", False)


@pytest.mark.behaviour("overview.newest")
async def test_a_fork_is_listed_with_its_origin_and_its_name(owned: OwnedApp) -> None:
    await describe(owned, "one", title="Mine", pinned=True)
    fork = (await owned.ask("ada", "POST", f"{THREADS}/one/fork", json={})).json()

    await in_order(owned, fork["thread_id"], "one", "three", "two", sort="changed")
    threads = {thread["thread_id"]: thread for thread in await listed(owned, "sort=changed")}
    forked = threads[fork["thread_id"]]
    assert forked["forked_from"] == {"thread_id": "one", "session_id": "one", "entries": 2}
    assert (forked["title"], forked["pinned"]) == ("Mine", False)
    assert "forked_from" not in threads["one"]
