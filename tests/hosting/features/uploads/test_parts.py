"""Files that come in parts: in any order, again after a failure, completed once, given up, or expired."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from hosting.features.uploads.contents import PIECE_BYTES
from tests.support.owned_app import THREADS, OwnedApp, with_roles
from tests.support.stored_files import move, stored_names, uploads_of

FIRST, LAST = b"a" * (PIECE_BYTES + 5), b"the end"
WHOLE = FIRST + LAST

pytestmark = pytest.mark.behaviour("uploads.parts")


@pytest.fixture
async def owned() -> AsyncIterator[OwnedApp]:
    app = OwnedApp(with_roles, AGENT_ADMIN_ROLE="operators")
    async with app.http:
        yield app


async def begun(owned: OwnedApp, size: int = len(WHOLE), user: str = "ada", **fields: Any) -> str:
    created = await owned.ask(user, "POST", "/api/uploads", json={"name": "big.txt", "bytes": size, **fields})
    assert created.status_code == 201, created.text
    return created.headers["location"]


async def sent(owned: OwnedApp, url: str, body: bytes, user: str = "ada") -> str:
    answer = await owned.ask(user, "POST", f"{url}/parts", content=body)
    assert answer.status_code == 201, answer.text
    assert answer.json()["bytes"] == len(body)
    return str(answer.json()["part_id"])


async def completed(owned: OwnedApp, url: str, *part_ids: str, **fields: str) -> httpx.Response:
    return await owned.ask("ada", "POST", f"{url}/complete", json={"part_ids": part_ids, **fields})


async def test_parts_make_a_file_in_the_order_of_the_completion(owned: OwnedApp) -> None:
    url = await begun(owned)
    last, lost, first = [await sent(owned, url, body) for body in (LAST, FIRST[:100], FIRST)]
    file = (await completed(owned, url, first, last, md5=hashlib.md5(WHOLE).hexdigest())).json()
    content = await owned.ask("ada", "GET", file["content_url"])

    assert lost not in (first, last)
    assert (file["name"], file["media_type"]) == ("big.txt", "text/plain")
    assert (content.content, file["sha256"]) == (WHOLE, hashlib.sha256(WHOLE).hexdigest())
    assert len((await stored_names(owned.app))["uploads"]) == 3


async def test_a_completion_that_is_sent_again_is_the_same_file(owned: OwnedApp) -> None:
    await owned.say("ada", "hello")
    for fields in ({}, {"agent": "Clerk", "thread_id": "t"}):
        url = await begun(owned, 7, **fields)
        part = await sent(owned, url, LAST)
        first, again = [await completed(owned, url, part) for _ in range(2)]

        assert (first.status_code, again.status_code) == (201, 201), again.text
        assert first.json() == again.json()
    mine = (await owned.ask("ada", "GET", "/api/files")).json()["files"]
    of_thread = (await owned.ask("ada", "GET", f"{THREADS}/t/files")).json()["files"]

    assert (len(mine), len(of_thread)) == (1, 1)


async def test_a_completion_that_is_not_the_file_is_refused(owned: OwnedApp) -> None:
    """By a part of nobody, a part twice, too few bytes, another checksum: and then it may be completed."""
    url = await begun(owned)
    first, last = [await sent(owned, url, body) for body in (FIRST, LAST)]
    refused = [
        await completed(owned, url, first, "0123456789ab"),
        await completed(owned, url, first, first),
        await completed(owned, url, first),
        await completed(owned, url, first, last, md5="0" * 32),
    ]
    taken = await completed(owned, url, first, last)

    assert [(answer.status_code, answer.json()["code"]) for answer in refused] == [(409, "upload_mismatch")] * 4
    assert f"{len(WHOLE):,}" in refused[2].json()["detail"]
    assert taken.status_code == 201


async def test_an_upload_that_nobody_completes_expires(owned: OwnedApp, monkeypatch: pytest.MonkeyPatch) -> None:
    url = await begun(owned)
    await sent(owned, url, FIRST)
    [upkeep] = uploads_of(owned.app).upkeep()
    left = list[dict[str, list[str]]]()
    for hours in (1, 24, 12):
        move(monkeypatch, owned.app, timedelta(hours=hours, minutes=1))
        await upkeep.run(None)  # type: ignore[arg-type]
        left.append(await stored_names(owned.app))

    assert (await completed(owned, url, "0123456789ab")).status_code == 404
    assert ["uploads" in names for names in left] == [True, False, False]
    assert left[-1] == {}


async def test_an_upload_is_its_owners_alone(owned: OwnedApp) -> None:
    url = await begun(owned)
    part = await sent(owned, url, FIRST)
    others = [
        await owned.ask("bob", "POST", f"{url}/parts", content=LAST),
        await owned.ask("bob", "POST", f"{url}/complete", json={"part_ids": [part]}),
        await owned.ask("bob", "POST", f"{url}/cancel"),
    ]
    body = {"name": "h.txt", "bytes": 7.0}  # to JSON 7.0 is the integer 7
    refused = await owned.ask("bob", "POST", "/api/agents/Clerk/uploads", json=body)
    created = await owned.ask("root", "POST", "/api/agents/Clerk/uploads", json=body)
    part = await sent(owned, created.headers["location"], LAST, "root")
    file = await owned.ask("root", "POST", f"{created.headers['location']}/complete", json={"part_ids": [part]})

    assert [(answer.status_code, answer.json()["code"]) for answer in others] == [(404, "unknown_upload")] * 3
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert (await owned.ask("bob", "GET", file.json()["content_url"])).content == LAST


WRONG_UPLOADS = [
    {"name": "a/b", "bytes": 1},
    {"name": "a", "bytes": 0},
    {"name": "a", "bytes": True},
    {"name": "a", "bytes": "1"},
    {"name": "a"},
    {"name": "a", "bytes": 1, "thread_id": "t"},
    {"name": "a", "bytes": 1, "media_type": 5},
]


async def test_an_upload_without_what_it_needs_is_refused(owned: OwnedApp) -> None:
    for fields in WRONG_UPLOADS:
        refused = await owned.ask("ada", "POST", "/api/uploads", json=fields)

        assert (refused.status_code, refused.json()["code"]) == (400, "invalid_field"), refused.text
