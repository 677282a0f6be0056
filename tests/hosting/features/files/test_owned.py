"""The files of an owner over stores: two processes, ones that end between any two calls, limits, other versions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import Any

import pytest

from hosting.core.cells import Cells
from hosting.core.stores.archive import Archive
from hosting.core.stores.contract import Append, StoredHead
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore
from hosting.core.stores.stores import Stores
from hosting.core.thread_log import ThreadLog
from hosting.errors import NewerVersionError
from hosting.features.files.owned import MOST_BYTES, OwnedFiles, Seen, Shelf
from hosting.features.files.store import MOST_FILE_BYTES, MOST_FILES
from hosting.names import Address, StoreKey, new_id
from hosting.ports import Clocks
from tests.support.thread_stores import ArmedStore

SHELF = Shelf("clerk", "a" * 16, "file_access")
ADDRESS = Address("clerk.files", "index", SHELF.owner)
KEY = StoreKey("hub.files", ADDRESS.key)


class KilledError(Exception):
    """The process ended there."""


class Objects(MemoryObjects):
    """The contents, which end the process at a call of this number."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.dies_at = 0
        self.calls = 0

    def _call(self) -> None:
        self.calls += 1
        if self.calls == self.dies_at:
            raise KilledError

    async def put(self, store_key: StoreKey, objects: Mapping[str, bytes]) -> None:
        await super().put(store_key, objects)
        self._call()

    async def erase(self, store_key: StoreKey, names: Collection[str] | None = None, *, before: float = 1e99) -> None:
        self._call()
        await super().erase(store_key, names, before=before)


class Shared:
    """The stores of one app, and its processes."""

    def __init__(self) -> None:
        self.threads = ArmedStore(MemoryThreadStore("hub"))
        self.now = 1_000_000.0
        self.objects = Objects(lambda: self.now)

    def process(self) -> OwnedFiles:
        stores = Stores("hub", self.threads, Archive(MemoryObjects()), self.objects)
        clocks = Clocks(wall=lambda: self.now, awake=lambda: self.now)
        log = ThreadLog(self.threads, self.objects, "hub", clocks=clocks, patience_seconds=0.1)
        return OwnedFiles(Cells(self.threads, log), stores, log.clocks)


async def write(files: OwnedFiles, path: str, text: str, call: str = "", **options: Any) -> None:
    options = {"overwrite": True, "is_deployed": False, "seen": None, **options}
    await files.write(SHELF, path, text.encode(), call or new_id(), **options)


async def texts(files: OwnedFiles) -> dict[str, str]:
    listed = await files.files(SHELF)
    return {path: await files.read(SHELF, path, file) for path, file in listed.items() if not file.deleted}


@pytest.fixture
def shared() -> Shared:
    return Shared()


@pytest.mark.behaviour("files.of-owners")
async def test_two_processes_that_write_at_once_lose_nothing_of_each_other(shared: Shared) -> None:
    """Whoever comes second does it again on what the first one left; of many, each."""
    one, two = shared.process(), shared.process()
    shared.threads.before_append = lambda: write(two, "second.md", "two")
    await write(one, "first.md", "one")
    many = [shared.process() for _ in range(20)]

    await asyncio.gather(*(write(process, f"{number}.md", "x") for number, process in enumerate(many)))

    assert await texts(two) == {
        "first.md": "one",
        "second.md": "two",
        **{f"{number}.md": "x" for number in range(20)},
    }


@pytest.mark.behaviour("files.of-owners")
async def test_an_edit_of_what_another_process_has_changed_meanwhile_is_refused(shared: Shared) -> None:
    one, two = shared.process(), shared.process()
    await write(one, "a.md", "one")
    seen = Seen((await one.files(SHELF))["a.md"])
    shared.threads.before_append = lambda: write(two, "a.md", "two")

    with pytest.raises(BlockingIOError, match=r"changed meanwhile\. Read it again"):
        await write(one, "a.md", "one, edited", seen=seen)

    assert await texts(one) == {"a.md": "two"}


@pytest.mark.behaviour("files.of-owners")
@pytest.mark.parametrize("dies_at", range(1, 4))
async def test_a_call_that_is_made_again_after_a_kill_counts_once(dies_at: int, shared: Shared) -> None:
    """Behind the content and behind the list; also where another run has changed the file since: its text stays."""
    await write(shared.process(), "a.md", "before")
    shared.objects.calls, shared.objects.dies_at = 0, dies_at
    try:
        await write(shared.process(), "a.md", "one", "call-1")
        was_written = True
    except KilledError:
        was_written = (await texts(shared.process()))["a.md"] == "one"
    shared.objects.dies_at = 0
    if was_written:
        await write(shared.process(), "a.md", "of another run")

    await write(shared.process(), "a.md", "one", "call-1", overwrite=not was_written)

    assert await texts(shared.process()) == {"a.md": "of another run" if was_written else "one"}
    shared.now += 86_400.0
    await write(shared.process(), "b.md", "later")
    assert len(await shared.objects.names(KEY)) == 2


@pytest.mark.behaviour("files.bounded")
async def test_an_owner_has_so_many_files_and_no_more(shared: Shared) -> None:
    files, fitting = shared.process(), MOST_BYTES // MOST_FILE_BYTES
    for number in range(fitting):
        await write(files, f"{number}", "x" * MOST_FILE_BYTES)
    with pytest.raises(ValueError, match=f"at most {MOST_BYTES} bytes. Delete some"):
        await write(files, "more", "x")
    await write(files, "0", "small again")
    for number in range(fitting, MOST_FILES):
        await write(files, f"{number}", "x")
    with pytest.raises(ValueError, match=f"there are {MOST_FILES} files, which is the most. Delete some"):
        await write(files, "more", "x")

    assert len(await files.files(SHELF)) == len(await shared.objects.names(KEY)) == MOST_FILES


@pytest.mark.behaviour("files.of-owners")
async def test_what_a_newer_version_wrote_is_refused_and_what_it_added_stays(shared: Shared) -> None:
    added = b'{"v": 1, "more": 1, "shelves": {"file_access": {}}}'
    await shared.threads.append(ADDRESS, None, Append(StoredHead(0, "x", added)))
    await write(shared.process(), "a.md", "one")
    kept = await shared.threads.head(ADDRESS)
    assert kept is not None
    await shared.threads.append(ADDRESS, kept, Append(StoredHead(0, "y", b'{"v": 2}')))

    with pytest.raises(NewerVersionError):
        await shared.process().files(SHELF)
    assert b'"more":1' in kept.payload
