"""What the SQLite store of threads' logs promises beyond the contract: its file, its bytes, and what is in its way."""

import contextlib
import logging
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hosting.core.stores.contract import Appended, Row, StoredHead, Unknown
from hosting.core.stores.sqlite import THREADS, SqliteThreadStore
from hosting.errors import LogUnavailableError
from hosting.names import Address
from tests.contracts.thread_appends import ADDRESS, ELSEWHERE, behind, texts, write

ROOT = Path(__file__).resolve().parents[2]
CANARY = b"canary-9f27 "


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file in a folder that does not exist yet."""
    return tmp_path / "logs" / "threads.sqlite"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteThreadStore]:
    """A store whose patience with a busy file is short."""
    store = SqliteThreadStore(path, "hub", busy_seconds=0.05)
    yield store
    await store.close()


@pytest.mark.behaviour("log.away")
async def test_a_file_that_another_holds_leaves_an_append_unknown(store: SqliteThreadStore, path: Path) -> None:
    """The wait for a lock ends, and once the lock is gone the same append counts."""
    head = await write(store, None, b"one")
    append = behind(head, b"two")
    holder = THREADS.connect(path, "NORMAL")
    holder.execute("BEGIN IMMEDIATE")

    assert await store.append(ADDRESS, head, append) == Unknown()
    with pytest.raises(LogUnavailableError):
        await store.trim(ADDRESS, 1, 1)

    holder.execute("ROLLBACK")
    holder.close()
    assert isinstance(await store.append(ADDRESS, head, append), Appended)
    assert await texts(store) == [(1, b"one"), (2, b"two")]


@pytest.mark.behaviour("log.away")
@pytest.mark.parametrize("obstacle", ["a file in the folder's place", "not a database", "a newer version"])
async def test_a_file_that_cannot_be_opened_is_left_as_it_is(
    store: SqliteThreadStore, path: Path, obstacle: str
) -> None:
    """Whatever stands in the way, an append is unknown, and the outage is over with the next call."""
    if obstacle == "a file in the folder's place":
        path.parent.write_text("not a folder")
    else:
        path.parent.mkdir()
        path.write_bytes(b"not a database" * 100)
    if obstacle == "a newer version":
        path.unlink()
        with contextlib.closing(THREADS.connect(path, "NORMAL")) as newer:
            newer.execute(f"PRAGMA user_version={THREADS.version + 1}")
    append = behind(None, b"one")

    assert await store.append(ADDRESS, None, append) == Unknown()
    with pytest.raises(LogUnavailableError):
        await store.head(ADDRESS)

    (path.parent if path.parent.is_file() else path).unlink()
    assert isinstance(await store.append(ADDRESS, None, append), Appended)


@pytest.mark.behaviour("log.away")
@pytest.mark.parametrize("is_replaced", [False, True])
@pytest.mark.skipif(sys.platform == "win32", reason="a file that is open cannot be removed there")
async def test_a_file_that_was_removed_while_it_was_open_takes_nothing_more(
    store: SqliteThreadStore, path: Path, caplog: pytest.LogCaptureFixture, is_replaced: bool
) -> None:
    """An append is unknown and a read is refused until the file is back; the log says so once."""
    head = await write(store, None, b"one")
    append, aside = behind(head, b"two"), path.parent.with_name("aside")
    path.parent.rename(aside)
    if is_replaced:
        THREADS.connect(path, "NORMAL").close()

    assert await store.append(ADDRESS, head, append) == Unknown()
    with pytest.raises(LogUnavailableError):
        await store.events(ADDRESS, 0)
    with pytest.raises(LogUnavailableError):
        await store.erase(ADDRESS, 1)
    assert caplog.messages == [
        f"The threads' log {path} cannot be used: it was removed or replaced while it was in use. Put it back, or "
        "start the app again."
    ]

    assert path.exists() == is_replaced
    shutil.rmtree(path.parent, ignore_errors=True)
    aside.rename(path.parent)
    assert isinstance(await store.append(ADDRESS, head, append), Appended)


@pytest.mark.behaviour("log.erase")
async def test_what_was_erased_is_in_no_file_of_the_store(store: SqliteThreadStore, path: Path, seed: int) -> None:
    """One thread after another, among others with payloads of any size, which SQLite moves from page to page."""
    seeded = random.Random(seed)
    heads: dict[Address, StoredHead | None] = {Address("joker", f"thread-{n}"): None for n in range(8)}
    for number in range(400):
        address = seeded.choice(list(heads))
        words = canary(address) * seeded.choice([1, 4, 20, 40, 60, 700])
        row = Row(f"run-{number}", 1, words[:900])
        heads[address] = await write(store, heads[address], words, rows=(row,), payload=words[:4000], address=address)

    for address in seeded.sample(list(heads), k=7):
        assert canary(address) in bytes_of(path)
        tombstone = await write(store, heads[address], b"deleted", payload=b"tombstone", address=address)
        await store.erase(address, tombstone.position)
        assert canary(address) not in bytes_of(path)


@pytest.mark.behaviour("log.erase")
async def test_what_was_forgotten_trimmed_or_replaced_is_in_no_file_of_the_store(
    store: SqliteThreadStore, path: Path
) -> None:
    """A head that was replaced once the store is scrubbed, which may be when nothing is left of it."""
    forgotten, trimmed, replaced = (Address("joker", name) for name in ("forgotten", "trimmed", "replaced"))
    row = Row("run-1", 1, canary(forgotten))
    head = await write(store, None, canary(forgotten), rows=(row,), payload=canary(forgotten), address=forgotten)
    await write(store, None, canary(trimmed), address=trimmed)
    known = await write(store, None, b"text", payload=canary(replaced), address=replaced)

    assert await store.forget(forgotten, head)
    await store.trim(trimmed, 1, 1)
    await write(store, known, b"more", payload=b"less", address=replaced)
    await store.scrub()

    assert [canary(address) in bytes_of(path) for address in (forgotten, trimmed, replaced)] == [False] * 3


@pytest.mark.behaviour("log.erase")
async def test_an_erased_row_shows_nothing_of_what_others_write_later(path: Path) -> None:
    """Not even once the file was written anew: what is kept then takes the places of what was erased."""
    store = SqliteThreadStore(path, "hub", reclaimed_bytes=0)
    head = await write(store, None, b"one", rows=(Row("run-1", 1, b"first"),))
    await store.erase(ADDRESS, head.position)
    await write(store, None, b"two", b"three", b"four", address=ELSEWHERE)

    row = await store.row(ADDRESS, "run-1")
    await store.close()
    assert row == Row("run-1", 1, b"")


@pytest.mark.behaviour("log.erase")
@pytest.mark.parametrize("act", ["forget", "trim"])
async def test_each_way_to_remove_empties_the_write_ahead_log(store: SqliteThreadStore, path: Path, act: str) -> None:
    head = await write(store, None, CANARY, payload=CANARY if act == "forget" else b"head")

    await (store.forget(ADDRESS, head) if act == "forget" else store.trim(ADDRESS, 1, 1))

    assert CANARY not in bytes_of(path)


@pytest.mark.behaviour("log.erase")
async def test_an_erasure_that_a_reader_is_in_the_way_of_is_finished_by_the_next_call(
    store: SqliteThreadStore, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is not told as done while the write-ahead log holds what was erased."""
    head = await write(store, None, CANARY * 5000)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM event").fetchone()
        with caplog.at_level(logging.WARNING), pytest.raises(LogUnavailableError):
            await store.erase(ADDRESS, head.position)
        assert await texts(store) == []
        assert CANARY in bytes_of(path)
        assert caplog.messages == ["The threads' log is in use. The next commits overwrite deleted data."]

    await store.erase(ADDRESS, head.position)

    assert CANARY not in bytes_of(path)


@pytest.mark.slow
@pytest.mark.behaviour("log.away")
@pytest.mark.skipif(sys.platform == "win32", reason="a process's files cannot be limited there")
async def test_a_disk_that_is_full_leaves_an_append_unknown_until_there_is_room(path: Path) -> None:
    """At whatever page: nothing of it is there, and the same append counts as soon as it fits."""
    program = [sys.executable, "-m", "tests.contracts.sqlite_full_disk_process", str(path), "20"]

    ended = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    assert ended.stdout.splitlines() == ["Unknown True Appended"] * 20, ended.stderr
    told = {line.partition(" cannot be used: ")[2] for line in ended.stderr.splitlines()} - {""}
    assert told == {"disk I/O error."}
    store = SqliteThreadStore(path, "hub")
    assert [position for position, _ in await texts(store)] == list(range(1, 42))
    await store.close()


def canary(address: Address) -> bytes:
    """Return words that are in this thread alone."""
    return f"canary of {address.thread_id} ".encode()


def bytes_of(path: Path) -> bytes:
    """Return the bytes of the store's every file."""
    return b"".join(file.read_bytes() for file in sorted(path.parent.iterdir()))
