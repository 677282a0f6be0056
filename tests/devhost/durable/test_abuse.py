"""What a machine does to a host: full disks, folders that cannot be written, files that others hold."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import sys
from pathlib import Path

import pytest

from devhost.durable.engine import DurableTask
from devhost.durable.errors import StoreUnwritableError
from devhost.durable.records import Entity, EntityId, Step
from devhost.durable.settings import DurableSettings
from devhost.durable.store.sqlite import SqliteStore
from devhost.durable.store.writer import Writer
from tests.devhost.durable.clocks import START
from tests.devhost.durable.observed_store import ObservedStore
from tests.devhost.durable.scripted_functions import Journal, ScriptedEntities

KEY = EntityId("counter", "k")


class SmallDisk:
    """A database whose disk has room for some pages, until `grow`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.connection = self._open()
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("CREATE TABLE notes (text TEXT)")
        self.writer = Writer(self._connect, self._apply)

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)

    def _connect(self) -> sqlite3.Connection:
        self._written = self._open()
        self._written.execute("PRAGMA max_page_count = 3")
        return self._written

    @staticmethod
    def _apply(connection: sqlite3.Connection, step: Step) -> None:
        assert step.entity is not None
        connection.execute("INSERT INTO notes VALUES (?)", (step.entity.state,))

    def grow(self) -> None:
        self._written.execute("PRAGMA max_page_count = 10000")

    def notes(self) -> list[str]:
        return [text for (text,) in self.connection.execute("SELECT text FROM notes ORDER BY rowid")]


def _note(text: str) -> Step:
    return Step(entity=Entity(KEY, True, text, START))


@pytest.mark.behaviour("engine.full-disk")
async def test_a_full_disk_stalls_work_says_so_and_loses_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What was given to the store is written, in its order, once there is room; nothing is reported before."""
    disk = SmallDisk(tmp_path / "small.db")
    disk.writer.start()
    texts = ["small", "x" * 50_000, "after"]
    with caplog.at_level(logging.WARNING, "devhost.durable"):
        kept = [disk.writer.commit(_note(text)) for text in texts]
        await asyncio.wait(kept, timeout=0.3)
        assert not kept[1].done()
        disk.grow()
        await asyncio.wait_for(asyncio.gather(*kept), 5)
    assert disk.notes() == texts
    assert "Durable work is stalled, the file cannot be written: database or disk is full" in caplog.text
    disk.writer.close()


@pytest.mark.behaviour("engine.full-disk")
async def test_a_host_that_stops_on_a_full_disk_gives_the_step_up_whole(tmp_path: Path) -> None:
    """Its future fails, so nobody believes in it; the work is done again by the next host."""
    disk = SmallDisk(tmp_path / "small.db")
    disk.writer.start()
    kept = disk.writer.commit(_note("x" * 50_000))
    await asyncio.wait({kept}, timeout=0.2)
    await asyncio.to_thread(disk.writer.close)
    with pytest.raises(sqlite3.OperationalError, match="full"):
        await asyncio.wait_for(kept, 5)
    assert disk.notes() == []


@pytest.mark.behaviour("engine.unwritable-folder")
@pytest.mark.parametrize("is_made", [True, False])
def test_a_folder_that_cannot_be_made_or_written_is_refused_by_a_sentence(tmp_path: Path, is_made: bool) -> None:
    """A file stands in its place, or the user may not write there."""
    folder = tmp_path / "state"
    if is_made:
        if sys.platform == "win32" or os.geteuid() == 0:
            pytest.skip("this user may write everywhere")
        folder.mkdir(mode=0o555)
    else:
        folder.write_text("in the way")
    with pytest.raises(StoreUnwritableError, match=r"state cannot be written \(.*\)\. The local host keeps"):
        SqliteStore(folder).open()


@pytest.mark.behaviour("engine.unwritable-folder")
def test_a_file_that_another_program_holds_at_the_start_is_refused_by_a_sentence(tmp_path: Path) -> None:
    """And the folder is let go: once the other has left, the host starts."""
    intruder = sqlite3.connect(tmp_path / "durable.db", isolation_level=None)
    intruder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreUnwritableError, match=r"durable.db cannot be written \(database is locked\)"):
        SqliteStore(tmp_path, busy_timeout_ms=10).open()
    intruder.execute("COMMIT")
    intruder.close()
    SqliteStore(tmp_path).open()


@pytest.mark.behaviour("engine.stalls-not-loses")
async def test_an_engine_whose_file_is_busy_goes_on_when_it_is_free(tmp_path: Path) -> None:
    """A backup tool holds the file while a signal is sent: the sender waits, and the operation runs once."""
    journal = Journal()
    store = ObservedStore(SqliteStore(tmp_path, busy_timeout_ms=10))
    engine = DurableTask(ScriptedEntities(journal.answer), None, DurableSettings(), store=store)
    await engine.start()
    intruder = sqlite3.connect(tmp_path / "durable.db", isolation_level=None)
    intruder.execute("BEGIN IMMEDIATE")
    sending = asyncio.ensure_future(engine.hub.signal(KEY, "add", None))
    await asyncio.wait({sending}, timeout=0.2)
    assert not sending.done()
    intruder.execute("COMMIT")
    intruder.close()
    await asyncio.wait_for(sending, 5)

    async def has_run() -> bool:
        return await store.entity(KEY) is not None

    await store.until(has_run)
    await engine.stop(1)
    assert journal.batches == [["add"]]
