"""Who commits to a file: the loop where it need not wait, a thread where it would; nothing is lost, nothing twice."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import stat
import sys
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from hosting.core.stores.contract import Watchers
from hosting.core.stores.sqlite import ChangePoller
from hosting.core.stores.sqlite_file import FileKind
from hosting.core.stores.sqlite_writer import StoreFile
from hosting.errors import LogUnavailableError

GUARD_SECONDS = 5.0
WORDS = FileKind("file of words", "WORDS", "CREATE TABLE noted (word TEXT)")


def connect(path: Path) -> sqlite3.Connection:
    return WORDS.connect(path, "NORMAL", GUARD_SECONDS)


def note(word: str) -> Callable[[sqlite3.Connection], str]:
    """Return a step that writes the word and tells the name of the thread that it is taken on."""

    def step(connection: sqlite3.Connection) -> str:
        connection.execute("INSERT INTO noted VALUES (?)", (word,))
        return threading.current_thread().name

    return step


def noted(path: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return [word for (word,) in connection.execute("SELECT word FROM noted ORDER BY rowid")]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The path of a file that the first step makes."""
    return tmp_path / "file"


@pytest.fixture
async def writer(file: Path) -> AsyncIterator[StoreFile]:
    """A writer that commits on the loop, behind its first step, which the thread takes."""
    opened = StoreFile(WORDS, file, LogUnavailableError)
    await opened.do(note("first"))
    yield opened
    await opened.close()


async def test_small_steps_are_committed_on_the_loop_and_others_by_the_thread(file: Path, writer: StoreFile) -> None:
    """Both into one file, each in an order that its caller sees."""
    here = threading.current_thread().name
    names = [await writer.do(note("second"), is_small=True), await writer.do(note("third"))]

    assert names == [here, WORDS.name]
    assert noted(file) == ["first", "second", "third"]


async def test_a_small_step_waits_on_the_thread_while_another_process_holds_the_file(
    file: Path, writer: StoreFile
) -> None:
    """The loop goes on meanwhile: it is the loop that lets go of the file."""
    with contextlib.closing(connect(file)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.create_task(writer.do(note("second"), is_small=True))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        other.execute("ROLLBACK")

    assert await asyncio.wait_for(waiting, GUARD_SECONDS) == WORDS.name
    assert noted(file) == ["first", "second"]


async def test_a_small_step_that_raises_fails_alone(file: Path, writer: StoreFile) -> None:
    """Those that were given beside it are kept, once each."""

    def fail(connection: sqlite3.Connection) -> str:
        raise LookupError("not kept")

    steps = [note("second"), fail, note("third")]
    outcomes = await asyncio.gather(*(writer.do(step, is_small=True) for step in steps), return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [str, LookupError, str]
    assert noted(file) == ["first", "second", "third"]


async def test_a_writer_closes_behind_the_steps_that_wait(file: Path, writer: StoreFile) -> None:
    """All are committed, and its thread ends, also where its end waits behind the last step."""
    is_free, at_work = threading.Event(), threading.Event()

    def slow(connection: sqlite3.Connection) -> str:
        at_work.set()
        assert is_free.wait(GUARD_SECONDS)
        return note("second")(connection)

    steps = [asyncio.create_task(writer.do(slow))]
    await asyncio.to_thread(at_work.wait, GUARD_SECONDS)
    steps.append(asyncio.create_task(writer.do(note("third"))))
    await asyncio.sleep(0)
    jobs, closing = writer._jobs, asyncio.create_task(writer.close())
    await asyncio.sleep(0)
    is_free.set()

    closed, _ = await asyncio.wait([closing], timeout=GUARD_SECONDS)
    if not closed and jobs is not None:
        jobs.put(None)  # else this process would never end
    assert closed
    assert await asyncio.gather(*steps) == [WORDS.name] * 2
    assert noted(file) == ["first", "second", "third"]


@pytest.mark.skipif(sys.platform == "win32", reason="a file system without POSIX modes")
def test_the_folder_that_is_made_for_a_file_is_closed_to_other_users(tmp_path: Path) -> None:
    """Conversations are in it; one that was there keeps its mode, which somebody chose."""
    chosen = tmp_path / "chosen"
    chosen.mkdir(mode=0o755)
    for folder in (tmp_path / "made", chosen):
        WORDS.connect(folder / "words.sqlite", "NORMAL").close()

    modes = [stat.S_IMODE(folder.stat().st_mode) for folder in (tmp_path / "made", chosen)]
    assert modes == [0o700, 0o755]


@pytest.mark.behaviour("log.watch")
async def test_a_watch_of_a_file_that_cannot_be_looked_at_ends(tmp_path: Path) -> None:
    """Its caller looks itself, and is told what is wrong."""
    watchers = Watchers()
    looker = ChangePoller(tmp_path, watchers)

    with watchers.watching(("hub", "joker.app~t1"), 0) as watcher:
        looker.start()
        assert not await asyncio.wait_for(watcher.woken_within(30), GUARD_SECONDS)
