"""What a machine does to a host: folders that cannot be written, files that others hold or damage, odd texts."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from pathlib import Path

import pytest

from devhost.durable.engine import DurableTask
from devhost.durable.errors import StoreUnwritableError
from devhost.durable.records import EntityId
from devhost.durable.settings import DurableSettings
from devhost.durable.store.sqlite import SqliteStore
from tests.devhost.durable.observed_store import ObservedStore
from tests.devhost.durable.scripted_functions import Journal, ScriptedEntities

KEY = EntityId("counter", "k")


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
