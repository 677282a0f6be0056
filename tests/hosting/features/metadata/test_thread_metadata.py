"""Metadata of threads and runs over HTTP: set with a request or later, and returned wherever they are shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hosting.metadata import MOST_BYTES
from tests.support.owned_app import RUN, THREADS, OwnedApp

pytestmark = pytest.mark.behaviour("thread.metadata")

PLACE = f"{THREADS}/t/metadata"


@pytest.fixture
async def owned() -> AsyncIterator[OwnedApp]:
    app = OwnedApp()
    async with app.http:
        yield app


async def said(app: OwnedApp, **fields: Any) -> dict[str, Any]:
    """Send a message of Ada's with more fields, and return the answer."""
    answer = await app.ask("ada", "POST", RUN, json={"message": "hello", "thread_id": "t", **fields})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def changed(app: OwnedApp, change: object, **headers: str) -> tuple[int, dict[str, Any]]:
    """Change the metadata of Ada's thread, and return the answer."""
    answer = await app.ask("ada", "PATCH", PLACE, json={"metadata": change}, headers=headers)
    return answer.status_code, answer.json()


async def test_it_comes_with_the_request_that_begins_a_thread_and_changes_with_a_later_one(owned: OwnedApp) -> None:
    """Null removes a member; the run has its own, in its answer, its status and the list of runs."""
    first = await said(
        owned, metadata={"ticket": 7, "urgent": True, "none": None}, thread_metadata={"team": "red", "n": 1.5}
    )
    await said(owned, thread_metadata={"n": None, "stage": "two"})
    thread = (await owned.ask("ada", "GET", f"{THREADS}/t")).json()
    run = (await owned.ask("ada", "GET", f"{THREADS}/t/runs/{first['run_id']}")).json()
    runs = (await owned.ask("ada", "GET", f"{THREADS}/t/runs")).json()["runs"]
    exported = (await owned.ask("ada", "GET", f"{THREADS}/t/export")).json()

    assert thread["metadata"] == exported["metadata"] == {"team": "red", "stage": "two"}
    assert first["metadata"] == run["metadata"] == {"ticket": 7, "urgent": True}
    assert [listed.get("metadata") for listed in runs] == [None, {"ticket": 7, "urgent": True}]


async def test_a_change_merges_and_one_of_a_version_that_is_gone_is_refused(owned: OwnedApp) -> None:
    await said(owned, thread_metadata={"team": "red"})
    read = await owned.ask("ada", "GET", PLACE)
    await owned.ask("ada", "POST", f"{THREADS}/t/describe", json={"title": "Invoices", "pinned": True})
    late = await changed(owned, {"team": "blue"}, **{"if-match": read.headers["etag"]})
    fresh = (await owned.ask("ada", "GET", PLACE)).headers["etag"]
    status, body = await changed(owned, {"stage": 2}, **{"if-match": fresh})
    wrong = await changed(owned, {"stage": 3}, **{"if-match": "W/2"})

    assert (late[0], late[1]["code"]) == (412, "metadata_changed")
    assert (status, body["metadata"]) == (200, {"team": "red", "title": "Invoices", "pinned": "true", "stage": 2})
    assert (wrong[0], wrong[1]["code"]) == (400, "invalid_field")


async def test_of_writers_at_one_moment_nothing_is_lost(owned: OwnedApp) -> None:
    await said(owned)
    await asyncio.gather(*(changed(owned, {f"m{number}": number}) for number in range(16)))

    read = (await owned.ask("ada", "GET", PLACE)).json()
    assert read["metadata"] == {f"m{number}": number for number in range(16)}


async def test_what_would_be_too_much_with_the_rest_is_refused_and_begins_no_run(owned: OwnedApp) -> None:
    await said(owned, thread_metadata={f"m{number}": number for number in range(16)})
    one_more = await changed(owned, {"one": "more"})
    run = await owned.ask(
        "ada", "POST", RUN, json={"message": "x", "thread_id": "t", "thread_metadata": {"one": "more"}}
    )
    runs = (await owned.ask("ada", "GET", f"{THREADS}/t/runs")).json()["runs"]

    assert (one_more[0], one_more[1]["code"]) == (400, "invalid_field")
    assert (run.status_code, run.json()["code"]) == (400, "invalid_field")
    assert "would have 17 members; the limit is 16" in run.json()["detail"]
    assert len(runs) == 1


WRONG_METADATA: list[tuple[Any, ...]] = [
    ([], "is not an object"),
    ({"": 1}, "has to have 1 to 64 characters"),
    ({"a\n": 1}, "no control characters"),
    ({"a": {}}, "is no single value"),
    ({"a": 2**60}, "is out of range"),
    ({"a": "x" * 513}, "has 513 characters"),
    ({str(number): "☃" * 512 for number in range(8)}, f"the limit is {MOST_BYTES}"),
]


async def test_metadata_beyond_the_bounds_is_refused(owned: OwnedApp) -> None:
    await said(owned)
    for metadata, reason in WRONG_METADATA:
        answers = [await changed(owned, metadata)]
        for name in ("metadata", "thread_metadata"):
            answer = await owned.ask("ada", "POST", RUN, json={"message": "x", "thread_id": "t", name: metadata})
            answers.append((answer.status_code, answer.json()))

        assert [(status, body["code"]) for status, body in answers] == [(400, "invalid_field")] * 3
        assert all(reason in body["detail"] for _, body in answers)
