"""What the SQLite run log promises beyond the contract: its file, several processes, and a store that is away."""

import asyncio
import contextlib
import sqlite3
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hosting.errors import ConfigurationError, LogUnavailableError
from hosting.ports import Deletion, Found
from hosting.requests import RunRequest
from hosting.runlog.sqlite import SqliteStore
from hosting.runlog.sqlite_schema import RUN_LOG
from tests.support.sample_events import accepted, completed, started

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
async def store(run_log_path: Path) -> AsyncIterator[SqliteStore]:
    """A store whose patience with a busy file is short."""
    store = SqliteStore(run_log_path, busy_seconds=0.05)
    yield store
    await store.close()


async def test_nothing_is_made_before_the_first_use(store: SqliteStore, run_log_path: Path) -> None:
    """An app that is only listed leaves no file behind."""
    assert not run_log_path.parent.exists()

    await store.read("run")

    assert run_log_path.exists()


@pytest.mark.parametrize(("synchronous", "level"), [("NORMAL", 1), ("FULL", 2)])
def test_the_connection_is_as_durable_as_it_was_asked_to_be(run_log_path: Path, synchronous: str, level: int) -> None:
    """WAL always; synchronous by the setting; what is deleted is overwritten."""
    connection = RUN_LOG.connect(run_log_path, synchronous)

    assert pragma(connection, "journal_mode") == "wal"
    assert pragma(connection, "synchronous") == level
    assert pragma(connection, "secure_delete") == 1
    connection.close()


async def test_a_file_of_a_newer_version_is_refused_and_left_as_it_is(run_log_path: Path) -> None:
    """The sentence names the file, both versions and what to do."""
    RUN_LOG.connect(run_log_path, "NORMAL").close()
    newer = sqlite3.connect(run_log_path)
    newer.execute(f"PRAGMA user_version={RUN_LOG.version + 1}")
    newer.close()

    with pytest.raises(ConfigurationError) as refused:
        RUN_LOG.connect(run_log_path, "NORMAL")

    assert refused.value.detail == (
        f"The run log {run_log_path} has version {RUN_LOG.version + 1}; this app reads up to {RUN_LOG.version}. "
        "Run the version that wrote it, or set AGENT_RUN_LOG to another file."
    )


@pytest.mark.behaviour("turn.log-unavailable")
async def test_a_file_that_another_holds_is_reported_as_unavailable(store: SqliteStore, run_log_path: Path) -> None:
    """The wait for a lock ends, and once the lock is gone the same store goes on."""
    await store.open(accepted("run"))
    holder = RUN_LOG.connect(run_log_path, "NORMAL")
    holder.execute("BEGIN IMMEDIATE")

    with pytest.raises(LogUnavailableError):
        await store.append("run", started(), after=1)

    holder.execute("ROLLBACK")
    holder.close()
    assert await store.append("run", started(), after=1)


@pytest.mark.behaviour("turn.log-unavailable")
@pytest.mark.parametrize("obstacle", ["a folder in the file's place", "a file in the folder's place", "not a database"])
async def test_a_file_that_cannot_be_opened_is_reported_as_unavailable(tmp_path: Path, obstacle: str) -> None:
    """Whatever stands in the way, the caller hears the same."""
    path = tmp_path / "logs" / "runs.sqlite"
    if obstacle == "a folder in the file's place":
        path.mkdir(parents=True)
    elif obstacle == "a file in the folder's place":
        path.parent.write_text("not a folder")
    else:
        path.parent.mkdir()
        path.write_bytes(b"not a database" * 100)
    store = SqliteStore(path)

    with pytest.raises(LogUnavailableError):
        await store.open(accepted("run"))

    await store.close()


async def test_an_outage_while_opening_is_over_with_the_next_call(tmp_path: Path) -> None:
    """The connection is tried again by the next step, not given up."""
    path = tmp_path / "logs" / "runs.sqlite"
    path.parent.write_text("not a folder")
    store = SqliteStore(path)
    with pytest.raises(LogUnavailableError):
        await store.read("run")

    path.parent.unlink()

    assert await store.read("run") is None
    await store.close()


async def test_one_run_that_cannot_be_read_does_not_fail_the_others_of_its_commit(
    store: SqliteStore, run_log_path: Path
) -> None:
    """A step that raises fails alone, although the steps queued beside it share its transaction."""
    await store.open(accepted("spoilt"))
    await store.open(accepted("sound"))
    spoiler = RUN_LOG.connect(run_log_path, "NORMAL")
    spoiler.execute("UPDATE event SET body = 'no event' WHERE run_id = 'spoilt'")
    spoiler.close()

    spoilt, appended = await asyncio.gather(
        store.read("spoilt"), store.append("sound", completed(), after=1), return_exceptions=True
    )

    assert isinstance(spoilt, Exception)
    assert appended is True


async def test_a_burst_is_fewer_commits_than_steps(store: SqliteStore, run_log_path: Path) -> None:
    """What is queued together is committed together; each of the callers still has its own outcome."""
    await asyncio.gather(*(store.open(accepted(f"run-{n}")) for n in range(200)))

    records = await asyncio.gather(*(store.read(f"run-{n}") for n in range(200)))

    assert [record.run_id for record in records if record] == [f"run-{n}" for n in range(200)]


@pytest.mark.behaviour("turn.delete")
async def test_what_was_erased_is_in_no_file_of_the_store(store: SqliteStore, run_log_path: Path) -> None:
    """Neither in freed pages nor in the write-ahead log, also where the run's request filled many pages."""
    canary = "canary-9f27"
    request = RunRequest(message=canary * 5000)
    await store.open(accepted("one").model_copy(update={"request": request}), receipt="key")
    await store.append("one", completed().model_copy(update={"entry": {"text": canary}}), after=1)
    assert b"canary" in whole_store(run_log_path)
    place = accepted("one").place
    await store.mark_deleting(place, "d")

    await store.erase(place, Deletion("d", "digest"))

    assert b"canary" not in whole_store(run_log_path)


def whole_store(run_log_path: Path) -> bytes:
    """Return the bytes of the store's every file."""
    return b"".join(path.read_bytes() for path in sorted(run_log_path.parent.iterdir()))


@pytest.mark.behaviour("erasure.nothing-is-left")
async def test_an_idempotency_key_is_in_no_file_of_the_store(store: SqliteStore, run_log_path: Path) -> None:
    """It is its caller's word, and its receipt outlives the thread."""
    await store.open(accepted("one"), receipt="canary-key")

    assert b"canary-key" not in whole_store(run_log_path)


async def test_a_file_of_the_first_version_is_upgraded_where_it_stands(store: SqliteStore, run_log_path: Path) -> None:
    """What was deleted before deletions had receipts is so still; a key that was stored as it came is found."""
    place = accepted("one").place
    await store.erase(place, Deletion("early", "digest"))
    await store.open(accepted("one"), receipt="key")
    await store.close()
    with contextlib.closing(sqlite3.connect(run_log_path)) as connection:
        for column in ("runs", "receipt"):
            connection.execute(f"ALTER TABLE deletion DROP COLUMN {column}")
        connection.execute("UPDATE receipt SET receipt = 'key'")
        connection.execute("PRAGMA user_version=1")
        connection.commit()

    found = await store.open(accepted("two"), receipt="key")

    assert isinstance(found, Found)
    assert found.record.run_id == "one"
    assert await store.deletion(place) == Deletion("early", "digest")


async def test_two_processes_share_one_file_from_its_first_moment(run_log_path: Path) -> None:
    """Both make the file, open the same run and append to it: every position once, none lost."""
    processes = [await appending_process(run_log_path, wins=25, mark=1000.0 * n) for n in range(2)]

    codes = await asyncio.wait_for(asyncio.gather(*(process.wait() for process in processes)), timeout=30)

    assert codes == [0, 0]
    assert events_of(run_log_path) == [(position,) for position in range(1, 52)]


async def appending_process(path: Path, wins: int, mark: float) -> asyncio.subprocess.Process:
    """Start a process that wins so many appends on the run `shared`."""
    command = [sys.executable, "-m", "tests.contracts.appending_process", str(path), "shared", str(wins), str(mark)]
    return await asyncio.create_subprocess_exec(*command, cwd=ROOT)


def events_of(path: Path) -> list[tuple[int]]:
    """Return the positions of the run `shared`, as the file has them."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT position FROM event WHERE run_id = 'shared' ORDER BY position").fetchall()
    connection.close()
    return rows


def pragma(connection: sqlite3.Connection, name: str) -> object:
    """Return the value of one of the connection's settings."""
    return connection.execute(f"PRAGMA {name}").fetchone()[0]
