"""The files of an owner and of a session over stores: two processes, kills, limits, other versions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import Any

import pytest
from agent_framework import AgentFileStore, AgentSession, FileMemoryProvider, InMemoryAgentFileStore, SessionContext

from hosting.core.cells import Cells
from hosting.core.stores.archive import Archive
from hosting.core.stores.contract import Append, StoredHead
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore
from hosting.core.stores.stores import Stores
from hosting.core.thread_log import ThreadLog
from hosting.errors import AttachmentsUnavailableError, LogUnavailableError, NewerVersionError
from hosting.features.files.owned import OwnedFiles, Seen, Shelf
from hosting.features.files.provider import HostedFiles
from hosting.features.files.store import MOST_BYTES as MOST_SESSION_BYTES
from hosting.features.files.store import MOST_FILE_BYTES, MOST_FILES, SessionFiles
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


LONG = "Kilometre by kilometre. " * 40


class Contents:
    """The attachments of a thread, which may be away, and take their time."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.is_away = False

    async def put(self, name: str, content: bytes) -> None:
        await self._reach()
        self.kept[name] = content

    async def read(self, name: str) -> bytes | None:
        await self._reach()
        return self.kept.get(name)

    async def _reach(self) -> None:
        await asyncio.sleep(0)  # another call comes between
        if self.is_away:
            raise AttachmentsUnavailableError("the store is away")


class OfRun:
    """A run whose session has its files."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents

    def files(self, shelf: str | None, state: dict[str, Any], own: AgentFileStore) -> SessionFiles:
        """Return those of the session, as before the run has begun."""
        return SessionFiles(state, self._contents)  # type: ignore[arg-type]  # the part that it reaches


def files_in(state: dict[str, Any], contents: Contents) -> SessionFiles:
    files = SessionFiles(state, contents)  # type: ignore[arg-type]  # the part that it reaches
    files.has_begun = True
    return files


@pytest.mark.behaviour("files.bounded")
async def test_a_file_too_many_or_too_large_is_refused_with_what_to_do() -> None:
    files, fitting = files_in({}, Contents()), MOST_SESSION_BYTES // MOST_FILE_BYTES
    with pytest.raises(ValueError, match=f"a file has at most {MOST_FILE_BYTES}. Write a part of it."):
        await files.write("a", "x" * (MOST_FILE_BYTES + 1))
    with pytest.raises(ValueError, match="at most 255 are allowed"):
        await files.write("a" * 256, "x")
    for number in range(fitting):
        await files.write(f"{number}", "x" * MOST_FILE_BYTES)
    with pytest.raises(ValueError, match="Delete some"):
        await files.write("more", "x")
    await files.write("0", "small again")
    for number in range(fitting, MOST_FILES):
        await files.write(f"{number}", "x")
    with pytest.raises(ValueError, match=f"there are {MOST_FILES} files, which is the most. Delete some"):
        await files.write("more", "x")
    await files.write("0", "another text")

    assert [len(await files.list_children()), await files.read("0"), await files.read("more")] == [
        MOST_FILES,
        "another text",
        None,
    ]


@pytest.mark.behaviour("files.with-the-thread")
async def test_a_store_that_is_away_is_a_sentence_for_the_model_and_changes_no_file() -> None:
    contents, state = Contents(), dict[str, Any]()
    await files_in(state, contents).write("long.md", LONG)
    contents.is_away = True
    files = files_in(state, contents)

    with pytest.raises(OSError, match="cannot be reached now"):
        await files.write("long.md", f"other {LONG}")
    with pytest.raises(OSError, match="cannot be reached now"):
        await files.read("long.md")
    await files.write("short.md", "short")
    contents.is_away = False

    assert [await files.read("long.md"), await files.read("short.md")] == [LONG, "short"]


@pytest.mark.behaviour("files.through-a-kill")
async def test_an_attempt_does_not_begin_without_the_list_of_files_that_every_other_has() -> None:
    """It ends, and the run goes on in a later attempt: its model is to be given the same messages."""
    contents, session, state = Contents(), AgentSession(), dict[str, Any]()
    files = files_in(state, contents)
    await files.write("session/memories.md", LONG)
    contents.is_away = True
    provider = HostedFiles(FileMemoryProvider(InMemoryAgentFileStore()), lambda: OfRun(contents))  # type: ignore[arg-type, return-value]

    with pytest.raises(LogUnavailableError):
        await provider.before_run(agent=None, session=session, context=SessionContext(input_messages=[]), state=state)
    contents.is_away = False
    context = SessionContext(input_messages=[])
    await provider.before_run(agent=None, session=session, context=context, state=state)

    assert LONG in context.context_messages["file_memory"][0].text


@pytest.mark.behaviour("files.with-the-thread")
@pytest.mark.parametrize("path", ["", "/", "/etc/passwd", "a/../b", "..", "\\a"])
async def test_a_path_that_leaves_the_files_is_none(path: str) -> None:
    with pytest.raises(ValueError, match="is no path of a file"):
        await files_in({}, Contents()).write(path, "x")
