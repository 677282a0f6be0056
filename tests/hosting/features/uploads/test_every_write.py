"""A process dies at each of its writes of files: none is half there, none is lost, and nothing is left."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from itertools import count

import pytest

from hosting.core.cells import Cells
from hosting.core.thread.commands import DeleteThread, ForkThread
from hosting.core.thread.sources import ForkSource
from hosting.core.thread_log import ThreadLog
from hosting.errors import HostingError
from hosting.features.uploads.feature import UploadsFeature
from hosting.features.uploads.lives import MOST_SHARING
from hosting.features.uploads.records import CONTENTS, Part, Scope, SharedContent
from hosting.features.uploads.refusals import UploadMismatchError
from hosting.features.uploads.uploads import MOST_PARTS, Uploads
from tests.support.entity_calls import call_agent
from tests.support.mortal_files import HUB, NO_CLIENT, Disk, Fate, KilledError, content_of, stored, stored_in_parts
from tests.support.owned_app import ISSUER, THREADS, OwnedApp, with_roles

MINE, THREAD = Scope(owner="app"), Scope("clerk", "app", "t")


async def _delete(uploads: Uploads, name: str, scope: Scope = MINE) -> None:
    for file in await uploads.files(scope):
        if file.name == name:
            await uploads.delete(scope, file.id)


async def _erase(uploads: Uploads) -> None:
    await uploads.erase(THREAD)
    await uploads.erase_owner("", "app")


WORK: dict[str, Callable[[Uploads], Awaitable[object]]] = {
    "a new content": lambda uploads: stored(uploads, MINE, "new"),
    "a content that is there": lambda uploads: stored(uploads, MINE, "a3"),
    "a file of a thread": lambda uploads: stored(uploads, THREAD, "of a thread"),
    "in parts": lambda uploads: stored_in_parts(uploads, MINE, "new"),
    "in parts, of a thread, there before": lambda uploads: stored_in_parts(uploads, THREAD, "a3"),
    "given up": lambda uploads: stored_in_parts(uploads, MINE, "new", gives_up=True),
    "a deletion of a content's first file": lambda uploads: _delete(uploads, "a1"),
    "a deletion of a content": lambda uploads: _delete(uploads, "other"),
    "a deletion in a thread": lambda uploads: _delete(uploads, "a2", THREAD),
    "an erasure": _erase,
}


async def _disk() -> Disk:
    disk = Disk()
    uploads = disk.process()
    for scope, name in ((MINE, "a1"), (THREAD, "a2"), (MINE, "other")):
        await stored(uploads, scope, name)
    assert await disk.faults(MINE, THREAD) == []
    return disk


@pytest.mark.behaviour("uploads.through-a-kill")
@pytest.mark.parametrize("behind", [False, True], ids=["before a write", "behind a write"])
@pytest.mark.parametrize("work", WORK.values(), ids=list(WORK))
async def test_a_process_that_dies_at_any_write_leaves_whole_files_and_nothing_else(
    work: Callable[[Uploads], Awaitable[object]], behind: bool
) -> None:
    for dies_at in count(1):
        disk, fate = await _disk(), Fate(dies_at, behind=behind)
        with suppress(KilledError):
            await work(disk.process(fate))
        at_once = await disk.broken(MINE, THREAD)
        await disk.kept_up()
        assert (dies_at, at_once, await disk.faults(MINE, THREAD)) == (dies_at, [], [])
        if fate.writes < dies_at:
            break

    assert dies_at > 5


@pytest.mark.behaviour("uploads.two-processes")
@pytest.mark.parametrize("seed", range(8))
async def test_processes_that_meet_lose_no_content_and_leave_none(seed: int) -> None:
    draw = random.Random(seed)
    disk = await _disk()

    async def process() -> None:
        fate = Fate(draw.choice([None, None, draw.randrange(1, 25)]), behind=draw.random() < 0.5, turns=draw)
        with suppress(KilledError, HostingError):
            for _ in range(2):
                await draw.choice(list(WORK.values()))(disk.process(fate))

    await asyncio.gather(*(process() for _ in range(4)))
    at_once = await disk.broken(MINE, THREAD)
    await disk.kept_up()

    assert (at_once, await disk.faults(MINE, THREAD)) == ([], [])


@pytest.mark.behaviour("uploads.once")
async def test_a_content_has_no_more_files_than_its_record_has_room_for() -> None:
    """Of a content in a thousand parts fewer than of another one: the next file is refused with their number."""
    disk = Disk()
    uploads = disk.process()
    first = await stored(uploads, MINE, "a0")
    parts = tuple(Part(id=f"{number:012x}", bytes=4_194_304) for number in range(MOST_PARTS))
    others = tuple(f"{number:032x}" for number in range(480))
    content = SharedContent(id=first.id, parts=parts, files=(first.id, *others))
    cells = Cells(disk.threads, ThreadLog(disk.threads, disk.objects, HUB))
    await cells.change(MINE.account.cell(CONTENTS, first.sha256), lambda _: content)

    with pytest.raises(UploadMismatchError, match="files of this owner have the very same content") as refused:
        await _stored_many(uploads)

    assert 481 < int(refused.value.detail.partition(" ")[0]) == 480 + len(await uploads.files(MINE)) < MOST_SHARING


async def _stored_many(uploads: Uploads) -> None:
    for number in range(1, 99):
        await stored(uploads, MINE, f"a{number}")


@pytest.mark.behaviour("uploads.two-processes")
@pytest.mark.parametrize("seed", range(2))
async def test_a_file_that_two_processes_delete_is_counted_by_one(seed: int) -> None:
    draw = random.Random(seed)
    disk = await _disk()
    [file] = [file for file in await disk.process().files(MINE) if file.name == "other"]

    erased = await asyncio.gather(*(disk.process(Fate(turns=draw)).delete(MINE, file.id) for _ in range(3)))

    assert sum(each.files for each in erased) == 1
    assert sum(each.bytes for each in erased) == file.bytes


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
@pytest.mark.parametrize(("target", "behind"), [(FORK, False), (GIVEN, True)], ids=["a fork", "another owner"])
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


@pytest.mark.behaviour("uploads.carried")
async def test_a_fork_whose_thread_is_deleted_meanwhile_gets_no_file() -> None:
    """What was on its way goes too."""
    disk = await disk_of_origin()
    uploads = disk.process()
    await uploads.carrying.begin(ORIGIN, FORK, SOURCE.text, None)
    await uploads._log.execute(FORK.address, ForkThread(0.0, "{}", SOURCE, "", 0))
    await uploads._log.execute(FORK.address, DeleteThread(0.0, "asked"))
    await uploads.carrying.finish(FORK, SOURCE.text, NO_CLIENT)
    await uploads.erase(FORK)
    await disk.kept_up()

    assert await disk.faults(ORIGIN, FORK) == []
