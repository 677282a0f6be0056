"""What only a file can go wrong with: other processes, other versions, damage, a disk that refuses."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from devhost.durable.engine import reset
from devhost.durable.errors import StoreInUseError, StoreUnreadableError, StoreVersionError
from devhost.durable.records import Entity, EntityId, Step
from devhost.durable.store import schema
from devhost.durable.store.sqlite import SqliteStore
from tests.devhost.durable.clocks import START

_ROOT = Path(__file__).parents[3]
_HOLDER = """
import sys, time
from pathlib import Path
from devhost.durable.store.sqlite import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
store.open()
print("open", flush=True)
time.sleep(60)
"""


@pytest.mark.behaviour("engine.one-process")
async def test_a_folder_in_use_is_refused_until_its_holder_is_killed(tmp_path: Path) -> None:
    """The lock is the operating system's: `kill -9` frees it, and no file has to be removed."""
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path)], cwd=_ROOT, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(StoreInUseError, match=r"Another local host is using .* Stop it first"):
            SqliteStore(tmp_path).open()
        with pytest.raises(StoreInUseError):
            reset(tmp_path)
        holder.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        holder.wait(timeout=5)
    store = SqliteStore(tmp_path)
    store.open()
    await store.close()


@pytest.mark.behaviour("engine.versioned-file")
def test_a_file_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    """An older host must not touch what it does not know."""
    with sqlite3.connect(tmp_path / "durable.db") as connection:
        connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    before = (tmp_path / "durable.db").read_bytes()
    with pytest.raises(StoreVersionError, match=rf"has version {schema.VERSION + 1}, and this local host knows"):
        SqliteStore(tmp_path).open()
    assert (tmp_path / "durable.db").read_bytes() == before


@pytest.mark.behaviour("engine.versioned-file")
def test_a_damaged_file_is_refused_and_says_how_to_go_on(tmp_path: Path) -> None:
    """Also when the file was never one of ours."""
    (tmp_path / "durable.db").write_bytes(b"this is no database, it only is long enough to be read as one" * 40)
    with pytest.raises(StoreUnreadableError, match="Move it away, or run `python -m devhost reset`"):
        SqliteStore(tmp_path).open()


async def test_a_refused_open_lets_the_folder_go(tmp_path: Path) -> None:
    """After the damage is cleared, the same process can open it."""
    (tmp_path / "durable.db").write_bytes(b"no database" * 100)
    with pytest.raises(StoreUnreadableError):
        SqliteStore(tmp_path).open()
    reset(tmp_path)
    store = SqliteStore(tmp_path)
    store.open()
    await store.close()


@pytest.mark.behaviour("engine.stalls-not-loses")
async def test_a_file_that_others_lock_stalls_commits_and_loses_none(tmp_path: Path) -> None:
    """A backup tool holds the write lock: the step waits, and is kept when the lock goes."""
    store = SqliteStore(tmp_path, busy_timeout_ms=10)
    store.open()
    intruder = sqlite3.connect(tmp_path / "durable.db", isolation_level=None)
    intruder.execute("BEGIN IMMEDIATE")
    entity = Entity(EntityId("counter", "k"), True, "1", START)
    kept = store.commit(Step(entity=entity))
    done, _ = await asyncio.wait({kept}, timeout=0.2)
    assert not done
    intruder.execute("COMMIT")
    intruder.close()
    await asyncio.wait_for(kept, 5)
    assert await store.entity(entity.id) == entity
    await store.close()


async def test_reset_removes_everything_and_may_be_repeated(tmp_path: Path) -> None:
    """Nothing of the conversation stays in any of the engine's files."""
    store = SqliteStore(tmp_path)
    store.open()
    await store.commit(Step(entity=Entity(EntityId("counter", "k"), True, '"secret"', START)))
    await store.close()
    reset(tmp_path)
    reset(tmp_path)
    assert not any(b"secret" in path.read_bytes() for path in tmp_path.iterdir())
    assert [path.name for path in tmp_path.iterdir()] == ["durable.lock"]
