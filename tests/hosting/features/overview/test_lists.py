"""Lists of threads: by metadata, state and time, with the names and pins that their owners gave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.carriers import GUARD_SECONDS
from tests.support.flows import text_flow
from tests.support.owned_app import RUN, THREADS, OwnedApp, with_roles


@pytest.fixture
async def owned() -> AsyncIterator[OwnedApp]:
    """One process of the app with a workflow; Ada has six threads in two teams."""
    app = OwnedApp(with_roles, workflows=[text_flow], AGENT_ADMIN_ROLE="operators")
    async with app.http:
        for number in range(6):
            body = {
                "message": "hello",
                "thread_id": f"t{number}",
                "thread_metadata": {"team": "red" if number % 2 else "blue", "n": number, "vip": number > 3},
            }
            assert (await app.ask("ada", "POST", RUN, json=body)).status_code == 200
        yield app


async def listed(app: OwnedApp, query: str, user: str = "ada", place: str = THREADS) -> list[str]:
    """Return the ids of a list's threads, over all its pages of two."""
    ids, cursor = list[str](), ""
    while True:
        answer = await app.ask(user, "GET", f"{place}?{query}&limit=2&cursor={cursor}")
        assert answer.status_code == 200, answer.text
        ids += [thread["thread_id"] for thread in answer.json()["threads"]]
        if (cursor := quote(answer.json()["next_cursor"] or "")) == "":
            return ids


async def until_listed(app: OwnedApp, query: str, *expected: str, **place: str) -> None:
    """Wait until a list has these threads: it may rest for a moment after it was read."""

    async def ask() -> None:
        while await listed(app, query, **place) != [*expected]:
            continue

    await asyncio.wait_for(ask(), GUARD_SECONDS)


@pytest.mark.behaviour("overview.filters")
async def test_threads_are_listed_by_their_state_and_time(owned: OwnedApp) -> None:
    await owned.say("ada", "call refund 1", "t2")
    await until_listed(owned, "status=waiting", "t2")
    changed = (await owned.ask("ada", "GET", f"{THREADS}?status=waiting")).json()["threads"][0]["updated_at"]

    assert await listed(owned, "status=idle") == ["t5", "t4", "t3", "t1", "t0"]
    assert await listed(owned, "status=running") == []
    assert await listed(owned, f"changed_since={changed}") == ["t2"]
    assert await listed(owned, f"changed_since={changed}&metadata.team=red") == []


PLACES = [
    ("statu=idle", "Did you mean 'status'?"),
    ("team=red", "is not known"),
    ("metadata=red", "is not known"),
    ("metadata.=red", "names no member"),
    (f"metadata.{'a' * 65}=1", "names no member"),
    ("status=open", "one of 'idle', 'running', 'waiting', 'paused'"),
    ("changed_since=yesterday", "a time in UTC"),
    ("changed_since=2026-02-31T00:00:00Z", "a time in UTC"),
]
WRONG_FILTERS = [THREADS, "/api/threads"]


@pytest.mark.behaviour("overview.filters")
async def test_a_filter_that_is_not_known_is_refused(owned: OwnedApp) -> None:
    """Without it the list would show what was not asked for."""
    for query, reason in PLACES:
        for place in WRONG_FILTERS:
            answer = await owned.ask("ada", "GET", f"{place}?{query}")

            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_field")
            assert reason in answer.json()["detail"]


@pytest.fixture
async def three() -> AsyncIterator[OwnedApp]:
    """One process of the app; Ada has three threads."""
    app = OwnedApp()
    async with app.http:
        for thread_id, message in (("one", "About the Invoice"), ("two", "About a trip"), ("three", "Hello")):
            await app.say("ada", message, thread_id)
        yield app


async def threads_of(three: OwnedApp, query: str, user: str = "ada") -> list[dict[str, Any]]:
    answer = await three.ask(user, "GET", f"{THREADS}?{query}")
    assert answer.status_code == 200, answer.text
    return list(answer.json()["threads"])


async def describe(three: OwnedApp, thread_id: str, **fields: Any) -> dict[str, Any]:
    answer = await three.ask("ada", "POST", f"{THREADS}/{thread_id}/describe", json=fields)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def in_order(three: OwnedApp, *expected: str, sort: str = "pinned") -> None:
    """Wait until the list has these threads, pinned ones first: it may rest for a moment after it was read."""

    async def ask() -> None:
        while [thread["thread_id"] for thread in await threads_of(three, f"sort={sort}")] != [*expected]:
            continue

    await asyncio.wait_for(ask(), GUARD_SECONDS)


WRONG_DESCRIPTIONS: list[tuple[Any, ...]] = [
    ("ada", "one", {"title": "x" * 81}, (400, "invalid_field")),
    ("ada", "one", {"title": 7}, (400, "invalid_field")),
    ("ada", "one", {"pinned": "yes"}, (400, "invalid_field")),
    ("ada", "one", {"name": "x"}, (400, "unknown_field")),
    ("ada", "none", {"title": "x"}, (404, "unknown_thread")),
    ("bob", "one", {"title": "x"}, (404, "unknown_thread")),
]


@pytest.mark.behaviour("overview.labels")
async def test_what_cannot_be_described_is_refused(three: OwnedApp) -> None:
    """And nothing changes; nobody names a thread of somebody else."""
    for user, thread_id, body, expected in WRONG_DESCRIPTIONS:
        answer = await three.ask(user, "POST", f"{THREADS}/{thread_id}/describe", json=body)
        thread = (await three.ask("ada", "GET", f"{THREADS}/one")).json()

        assert (answer.status_code, answer.json()["code"]) == expected
        assert (thread["title"], thread["pinned"]) == ("About the Invoice", False)


@pytest.mark.behaviour("overview.newest")
async def test_a_fork_is_listed_with_its_origin_and_its_name(three: OwnedApp) -> None:
    await describe(three, "one", title="Mine", pinned=True)
    fork = (await three.ask("ada", "POST", f"{THREADS}/one/fork", json={})).json()

    await in_order(three, fork["thread_id"], "one", "three", "two", sort="changed")
    threads = {thread["thread_id"]: thread for thread in await threads_of(three, "sort=changed")}
    forked = threads[fork["thread_id"]]
    assert forked["forked_from"] == {"thread_id": "one", "session_id": "one", "entries": 2}
    assert (forked["title"], forked["pinned"]) == ("Mine", False)
    assert "forked_from" not in threads["one"]
