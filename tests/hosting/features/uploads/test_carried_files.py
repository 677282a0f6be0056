"""The files of a thread go along, into a fork or an assigned thread: a kill anywhere loses none and leaves nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import count

import pytest

from hosting.core.thread.commands import ForkThread
from hosting.core.thread.sources import ForkSource
from hosting.features.uploads.feature import UploadsFeature
from hosting.features.uploads.records import Scope
from hosting.features.uploads.uploads import Uploads
from tests.support.entity_calls import call_agent
from tests.support.mortal_files import NO_CLIENT, Disk, Fate, KilledError, content_of, stored
from tests.support.owned_app import ISSUER, THREADS, OwnedApp, with_roles

ORIGIN, FORK, GIVEN = Scope("clerk", "app", "t"), Scope("clerk", "app", "fork"), Scope("clerk", "ada", "t")
SOURCE = ForkSource("t", "end", 1, 7)
NAMES = ["a1", "a2", "other"]


async def disk_of_origin() -> Disk:
    """Return stores with a thread of three files, two of which have one content."""
    disk = Disk()
    uploads = disk.process()
    for name in NAMES:
        await stored(uploads, ORIGIN, name)
    return disk


async def carried(uploads: Uploads, target: Scope, *, begins: bool = True) -> None:
    """Take the files along to a thread, which begins with the source or not."""
    await uploads.carrying.begin(ORIGIN, target, SOURCE.text, None)
    if begins:
        await uploads._log.execute(target.address, ForkThread(0.0, "{}", SOURCE, "", 0))
        await uploads.carrying.finish(target, SOURCE.text, NO_CLIENT)
    else:
        await uploads.carrying.give_up(target, SOURCE.text)


async def names_of(uploads: Uploads, scope: Scope) -> list[str]:
    return sorted(file.name for file in await uploads.files(scope))


@pytest.mark.behaviour("uploads.carried")
@pytest.mark.parametrize("target", [FORK, GIVEN], ids=["a fork", "another owner"])
@pytest.mark.parametrize("behind", [False, True], ids=["before a write", "behind a write"])
async def test_a_process_that_dies_at_any_write_leaves_all_files_or_none(target: Scope, behind: bool) -> None:
    """All if the thread has begun by then, whoever goes on: nobody but the upkeep, or the same request."""
    ends = set[bool]()
    for again in (False, True):
        for dies_at in count(1):
            disk, fate = await disk_of_origin(), Fate(dies_at, behind=behind)
            with suppress(KilledError):
                await carried(disk.process(fate), target)
            has_begun = (await disk.process()._log.head(target.address)).position > 0
            at_once = await disk.broken(ORIGIN, target)
            if again:
                await carried(disk.process(), target)
                assert await names_of(disk.process(), target) == NAMES, dies_at
            uploads = await disk.kept_up()

            assert (dies_at, at_once) == (dies_at, [])
            assert await names_of(uploads, target) == (NAMES if has_begun or again else []), dies_at
            assert await names_of(uploads, ORIGIN) == NAMES, dies_at
            assert await disk.faults(*((ORIGIN, FORK) if target is FORK else (GIVEN,)), others=(ORIGIN,)) == [], dies_at
            ends.add(has_begun)
            if fate.writes < dies_at:
                break

    assert ends == {False, True}


@pytest.mark.behaviour("uploads.carried")
async def test_of_a_thread_that_does_not_begin_nothing_is_left() -> None:
    """Given up at once; and where its process died, or another thread has that id, after a day."""
    for gives_up in (True, False):
        disk = await disk_of_origin()
        if gives_up:
            await carried(disk.process(), FORK, begins=False)
        else:
            uploads = disk.process()
            await uploads.carrying.begin(ORIGIN, FORK, SOURCE.text, None)
            other = ForkSource("t", "end", 1, 8)
            await uploads._log.execute(FORK.address, ForkThread(0.0, "{}", other, "", 0))
        await disk.kept_up()

        assert await disk.faults(ORIGIN, FORK) == []
        assert await names_of(disk.process(), FORK) == []


@pytest.fixture
async def owned() -> AsyncIterator[OwnedApp]:
    app = OwnedApp(with_roles, AGENT_ADMIN_ROLE="operators", AGENT_FILES_QUOTA_BYTES="2000")
    async with app.http:
        yield app


async def uploaded(owned: OwnedApp, user: str, name: str, thread_id: str = "t", **query: str) -> None:
    path = f"{THREADS}/{thread_id}/files"
    answer = await owned.ask(user, "POST", path, params={"name": name, **query}, content=content_of(name))
    assert answer.status_code == 201, answer.text


async def files_of(owned: OwnedApp, user: str, thread_id: str, **query: str) -> dict[str, bytes]:
    """Return the files of a thread with their bytes, by their names."""
    listed = (await owned.ask(user, "GET", f"{THREADS}/{thread_id}/files", params=query)).json()["files"]
    return {file["name"]: (await owned.ask(user, "GET", file["content_url"])).content for file in listed}


@pytest.mark.behaviour("uploads.carried")
async def test_a_fork_has_the_files_that_were_there(owned: OwnedApp) -> None:
    """All at the end of the thread; before an earlier message those that came before it. The same request adds none."""
    await owned.say("ada", "one")
    await uploaded(owned, "ada", "first")
    await owned.say("ada", "two")
    await uploaded(owned, "ada", "second")
    whole = await owned.ask("ada", "POST", f"{THREADS}/t/fork", json={"thread_id": "whole"})
    again = await owned.ask("ada", "POST", f"{THREADS}/t/fork", json={"thread_id": "whole"})
    body = {"thread_id": "early", "at": 3, "before": True}
    early = await owned.ask("ada", "POST", f"{THREADS}/t/fork", json=body)
    none = await owned.ask("ada", "POST", f"{THREADS}/t/fork", json={"thread_id": "none", "at": 1, "before": True})
    await owned.ask("ada", "DELETE", f"{THREADS}/t")

    assert [answer.status_code for answer in (whole, again, early, none)] == [201] * 4
    assert await files_of(owned, "ada", "whole") == {name: content_of(name) for name in ("first", "second")}
    assert await files_of(owned, "ada", "early") == {"first": content_of("first")}
    assert await files_of(owned, "ada", "none") == {}


@pytest.mark.behaviour("uploads.carried")
async def test_an_assigned_thread_takes_its_files_to_the_new_owner(owned: OwnedApp) -> None:
    """They count for the new owner, also beyond the quota; nothing of them is left with the app."""
    uploads = next(each for each in owned.app._served.features if isinstance(each, UploadsFeature)).uploads
    await call_agent(owned.host, "Clerk", "t", "hello")
    for name in ("first", "second"):
        await stored(uploads, ORIGIN, name)
    await owned.ask("ada", "POST", "/api/files", params={"name": "mine"}, content=b"x" * 1990)
    given = await owned.ask("root", "POST", f"{THREADS}/t/assign", json={"issuer": ISSUER, "id": "ada"})
    full = await owned.ask("ada", "POST", "/api/files", params={"name": "more"}, content=b"x" * 10)
    export = (await owned.ask("ada", "GET", "/api/owners/me/export")).json()

    assert given.status_code == 204, given.text
    assert await files_of(owned, "ada", "t") == {name: content_of(name) for name in ("first", "second")}
    assert (full.status_code, full.json()["code"]) == (409, "files_full")
    assert [file["name"] for file in export["uploads"]["clerk"]] == ["first", "second"]
    assert await uploads.of_owner("clerk", "app") == []
    assert (await uploads.ledgers.read(ORIGIN.account)).files == 0
