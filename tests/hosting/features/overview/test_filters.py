"""Lists of threads by metadata, state, time, agent and owner: read from the overview, and exact in what they show."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import quote

import pytest

from tests.support.carriers import GUARD_SECONDS
from tests.support.flows import text_flow
from tests.support.owned_app import RUN, THREADS, OwnedApp, with_roles

pytestmark = pytest.mark.behaviour("overview.filters")


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


async def test_threads_are_listed_by_their_metadata_the_newest_first(owned: OwnedApp) -> None:
    """All members must fit; a number and a truth are named as JSON writes them."""
    await until_listed(owned, "metadata.team=red", "t5", "t3", "t1")
    assert await listed(owned, "metadata.team=red&metadata.vip=true") == ["t5"]
    assert await listed(owned, "metadata.n=4") == ["t4"]
    assert await listed(owned, "metadata.team=re") == []
    assert await listed(owned, "metadata.team=red", "bob") == []
    shown = (await owned.ask("ada", "GET", f"{THREADS}?metadata.n=1")).json()["threads"]
    assert shown[0]["metadata"] == {"team": "red", "n": 1, "vip": False}


async def test_threads_are_listed_by_their_state_and_time(owned: OwnedApp) -> None:
    await owned.say("ada", "call refund 1", "t2")
    await until_listed(owned, "status=waiting", "t2")
    changed = (await owned.ask("ada", "GET", f"{THREADS}?status=waiting")).json()["threads"][0]["updated_at"]

    assert await listed(owned, "status=idle") == ["t5", "t4", "t3", "t1", "t0"]
    assert await listed(owned, "status=running") == []
    assert await listed(owned, f"changed_since={changed}") == ["t2"]
    assert await listed(owned, f"changed_since={changed}&metadata.team=red") == []


async def test_the_threads_of_all_agents_are_one_list_with_workflows(owned: OwnedApp) -> None:
    """Each names its agent; one agent's alone are asked for by its name."""
    body = {"input": "red", "thread_id": "w", "thread_metadata": {"team": "red"}}
    painted = await owned.ask("ada", "POST", "/api/workflows/Text/run", json=body)
    assert painted.status_code == 200, painted.text

    await until_listed(owned, "metadata.team=red", "w", "t5", "t3", "t1", place="/api/threads")
    assert await listed(owned, "metadata.team=red&agent=TEXT", place="/api/threads") == ["w"]
    shown = (await owned.ask("ada", "GET", "/api/threads?agent=text")).json()["threads"]
    assert [(thread["agent"], thread["agent_kind"]) for thread in shown] == [("Text", "workflow")]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("statu=idle", "Did you mean 'status'?"),
        ("team=red", "is not known"),
        ("metadata=red", "is not known"),
        ("metadata.=red", "names no member"),
        (f"metadata.{'a' * 65}=1", "names no member"),
        ("status=open", "one of 'idle', 'running', 'waiting'"),
        ("changed_since=yesterday", "a time in UTC"),
        ("changed_since=2026-02-31T00:00:00Z", "a time in UTC"),
    ],
)
@pytest.mark.parametrize("place", [THREADS, "/api/threads"])
async def test_a_filter_that_is_not_known_is_refused(owned: OwnedApp, place: str, query: str, reason: str) -> None:
    """Without it the list would show what was not asked for."""
    answer = await owned.ask("ada", "GET", f"{place}?{query}")

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_field")
    assert reason in answer.json()["detail"]
