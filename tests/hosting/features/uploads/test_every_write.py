"""A process dies at each of its writes, and processes meet between each two: no file is half there, nothing is left."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count

import pytest

from hosting.core.cells import Cells
from hosting.core.thread_log import ThreadLog
from hosting.errors import HostingError
from hosting.features.uploads.lives import MOST_SHARING
from hosting.features.uploads.records import CONTENTS, Part, Scope, SharedContent
from hosting.features.uploads.refusals import UploadMismatchError
from hosting.features.uploads.uploads import MOST_PARTS, Uploads
from tests.support.mortal_files import HUB, Disk, Fate, KilledError, stored, stored_in_parts

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
@pytest.mark.parametrize("seed", range(100))
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
@pytest.mark.parametrize("seed", range(20))
async def test_a_file_that_two_processes_delete_is_counted_by_one(seed: int) -> None:
    draw = random.Random(seed)
    disk = await _disk()
    [file] = [file for file in await disk.process().files(MINE) if file.name == "other"]

    erased = await asyncio.gather(*(disk.process(Fate(turns=draw)).delete(MINE, file.id) for _ in range(3)))

    assert sum(each.files for each in erased) == 1
    assert sum(each.bytes for each in erased) == file.bytes
