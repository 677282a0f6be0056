"""What only a file can go wrong with: other versions, damage, others that hold it, deleted texts that stay."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from devhost.durable.engine import reset
from devhost.durable.records import Entity, EntityId, Operation, Outgoing, Read, Step, entity_target
from devhost.durable.store import tables
from devhost.durable.store.erasing import OWE, Eraser
from devhost.durable.store.sqlite import SqliteStore
from devhost.errors import StoreUnreadableError, StoreUnwritableError
from tests.support.canary import gone, holds
from tests.support.engine_clocks import START
from tests.support.seeds import repeated

KEY = EntityId("counter", "k")


@contextlib.asynccontextmanager
async def opened(folder: Path, busy_timeout_ms: int = 5000) -> AsyncIterator[SqliteStore]:
    """Yield an open store of the folder."""
    store = SqliteStore(folder, busy_timeout_ms=busy_timeout_ms)
    store.open()
    yield store
    await store.close()


def kept(state: str, key: str = "k") -> Step:
    return Step(entity=Entity(EntityId("counter", key), True, state, START))


@contextlib.contextmanager
def held_by_another(folder: Path, how: str) -> Iterator[None]:
    """Have another program hold the file, as a backup does."""
    with contextlib.closing(sqlite3.connect(folder / "durable.db", isolation_level=None)) as intruder:
        intruder.execute(f"BEGIN {how}")
        yield
        intruder.execute("ROLLBACK")


@pytest.mark.behaviour("engine.unwritable-folder")
def test_a_folder_or_file_that_cannot_be_written_is_refused_by_a_sentence(tmp_path: Path) -> None:
    """A file stands in the folder's place; or another program holds the file, and once it has left, the host starts."""
    (tmp_path / "state").write_text("in the way")
    with pytest.raises(StoreUnwritableError, match=r"state cannot be written \(.*\)\. The local host keeps"):
        SqliteStore(tmp_path / "state").open()
    with held_by_another(tmp_path, "EXCLUSIVE"), pytest.raises(StoreUnwritableError, match="database is locked"):
        SqliteStore(tmp_path, busy_timeout_ms=10).open()
    SqliteStore(tmp_path).open()


@pytest.mark.behaviour("engine.one-write-fails-alone")
async def test_a_text_that_the_file_cannot_take_fails_its_own_step(tmp_path: Path) -> None:
    """Half a surrogate pair is no UTF-8. The steps beside it, and those after it, are kept, over a restart too."""
    async with opened(tmp_path) as store:
        steps = [kept(text, str(number)) for number, text in enumerate(["1", '"\ud800"', "2"])]
        outcomes = await asyncio.gather(*map(store.commit, steps), return_exceptions=True)
        await store.commit(kept("3"))
    async with opened(tmp_path) as store:
        found = [entity.state for entity in await store.list_entities("@", "", None)]

    assert [type(outcome) for outcome in outcomes] == [type(None), UnicodeEncodeError, type(None)]
    assert found == ["1", "2", "3"]


@pytest.mark.behaviour("engine.deleted-texts")
async def test_a_reader_neither_stalls_a_deletion_nor_keeps_its_text_for_ever(tmp_path: Path) -> None:
    """While it reads an old moment the text is in the write-ahead log; it is gone without another commit."""
    async with opened(tmp_path) as store:
        await store.commit(kept('"a secret"'))
        with contextlib.closing(sqlite3.connect(tmp_path / "durable.db", isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM entities").fetchall()
            await asyncio.wait_for(store.commit(Step(forgotten=(entity_target(KEY),))), 5)
            await asyncio.wait_for(store.commit(kept("1", "next")), 5)
            assert holds(tmp_path, b"a secret")
        await asyncio.wait_for(gone(tmp_path, b"a secret"), 5)


@pytest.mark.behaviour("engine.deleted-texts")
async def test_a_deletion_that_cannot_be_done_yet_is_tried_again_and_told_unless_it_only_waits(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever holds the file lets go of it sooner or later; a file that takes no writes, for one, may stay so."""
    async with opened(tmp_path) as store:
        await store.commit(kept("1"))
    eraser, tries = Eraser(tmp_path / "durable.db"), list[tuple[bool, bool]]()

    def erase() -> None:
        eraser.erase(connection, is_last=True)
        tries.append((eraser.is_due, "Deleted texts are still in" in caplog.text))

    with contextlib.closing(sqlite3.connect(tmp_path / "durable.db", isolation_level=None)) as connection:
        connection.execute(OWE)
        with held_by_another(tmp_path, "IMMEDIATE"):
            erase()
        connection.execute("PRAGMA query_only = ON")
        erase()
        connection.execute("PRAGMA query_only = OFF")
        erase()

    assert tries == [(True, False), (True, True), (False, True)]


def moving_steps(chosen: random.Random) -> tuple[list[Step], set[bytes]]:
    """Return steps by which SQLite splits and joins pages, and the words that are deleted after them.

    Each step writes an entity and signals it, or deletes one.
    """
    steps: list[Step] = []
    there: dict[EntityId, list[bytes]] = {}
    deleted: set[bytes] = set()
    for number in range(400):
        entity_id, word = EntityId("counter", str(chosen.randrange(40))), f"word {number:04}"
        text = f"{word} {'y' * chosen.randrange(300)}"
        signal = Outgoing(entity_target(entity_id), Operation("id", "add", text))
        steps.append(Step(entity=Entity(entity_id, True, text, START), produced=(signal,)))
        there.setdefault(entity_id, []).append(word.encode())
        if chosen.random() < 0.1:
            gone_id = chosen.choice(list(there))
            steps.append(Step(forgotten=(entity_target(gone_id),)))
            deleted.update(there.pop(gone_id))
    return steps, deleted


@pytest.mark.behaviour("engine.deleted-texts")
@pytest.mark.parametrize("number", range(repeated(1, exploring=50)))
async def test_no_copy_stays_of_a_text_that_was_deleted_whatever_sqlite_moved_before(
    tmp_path: Path, number: int, seed: int
) -> None:
    """A row leaves copies of itself on pages that are split or joined, which `secure_delete` does not overwrite."""
    steps, deleted = moving_steps(random.Random(f"{seed} {number}"))

    def left() -> set[bytes]:
        texts = (path.read_bytes() for path in tmp_path.glob("durable.db*"))
        return deleted.intersection(word for text in texts for word in re.findall(rb"word \d{4}", text))

    async with opened(tmp_path) as store:
        await asyncio.gather(*(store.commit(step) for step in steps))
        async with asyncio.timeout(10):
            while left():  # noqa: ASYNC110
                await asyncio.sleep(0.02)
    assert left() == set()


@pytest.mark.behaviour("engine.deleted-texts")
async def test_what_a_killed_process_left_unerased_is_erased_by_the_next_that_opens_the_file(tmp_path: Path) -> None:
    """The file counts what is owed, so that it does not matter whether the log was emptied meanwhile."""
    async with opened(tmp_path) as store:
        await asyncio.gather(*(store.commit(step) for step in moving_steps(random.Random(0))[0]))
    with contextlib.closing(sqlite3.connect(tmp_path / "durable.db")) as killed:
        killed.executescript(f"PRAGMA secure_delete=OFF; DELETE FROM entities; DELETE FROM messages; {OWE}")
    assert holds(tmp_path, b"word ")
    async with opened(tmp_path):
        await asyncio.wait_for(gone(tmp_path, b"word "), 10)


@pytest.mark.behaviour("engine.versioned-file")
async def test_a_file_of_version_1_is_upgraded_with_all_that_it_holds(tmp_path: Path) -> None:
    """Its messages go on where they were, and its records can be changed."""
    operation = '{"id": "i", "name": "add", "input": null, "caller_id": null, "caller_execution_id": null}'
    with contextlib.closing(sqlite3.connect(tmp_path / "durable.db")) as connection:
        connection.executescript(f"{tables._UPGRADES[0]}; PRAGMA user_version = 1")
        connection.execute("INSERT INTO entities VALUES ('@counter@k', 1, '[\"old\"]', '2026-01-01T00:00:00.000000')")
        connection.execute("INSERT INTO messages VALUES (7, 'entity', '@counter@k', NULL, ?)", (operation,))
        connection.commit()
    async with opened(tmp_path) as store:
        (waiting,) = await store.messages(None, 9)
        entity = await store.entity(KEY)
        await store.commit(Step(entity=Entity(KEY, True, "1", START), read=Read.of(entity_target(KEY), entity)))

    assert (waiting.seq, waiting.body) == (7, Operation("i", "add", None))
    assert entity == Entity(KEY, True, '["old"]', START)


@pytest.mark.behaviour("engine.damaged-file")
async def test_a_damaged_file_is_told_by_its_path(tmp_path: Path) -> None:
    """What can still be read is: a row, a page; what cannot is a sentence that names the file, not a traceback."""
    good, bad = (Outgoing(entity_target(EntityId("counter", key)), Operation("i", "add", None)) for key in "gb")
    async with opened(tmp_path) as store:
        await asyncio.gather(*(store.commit(kept("x" * 3000, f"{number:04}")) for number in range(300)))
        await store.commit(Step(produced=(good, bad)))
        with contextlib.closing(sqlite3.connect(tmp_path / "durable.db")) as connection:
            connection.execute("UPDATE messages SET body = 'no json' WHERE seq = 2")
            connection.commit()
        assert len((await store.arrivals(0)).of) == 2
        assert len((await store.inbox(good.target, START, 9)).messages) == 1
        with pytest.raises(StoreUnreadableError, match="is damaged"):
            await store.inbox(bad.target, START, 9)
    with (tmp_path / "durable.db").open("r+b") as file:
        file.seek(20 * 4096)
        file.write(b"\xff" * (100 * 4096))
    async with opened(tmp_path) as store:
        with pytest.raises(StoreUnreadableError, match=r"durable.db is not the local host's file or is damaged \("):
            await store.list_entities("@", "", None)


@pytest.mark.behaviour("engine.versioned-file")
async def test_a_file_that_was_never_ours_is_refused_and_goes_with_a_reset_as_all_else_does(tmp_path: Path) -> None:
    """Nothing stays but the lock, and the same process can open the folder again."""
    (tmp_path / "durable.db").write_bytes(b"this is no database, it only is long enough to be read as one" * 40)
    with pytest.raises(StoreUnreadableError, match="Move it away, or run `python -m devhost reset`"):
        SqliteStore(tmp_path).open()
    reset(tmp_path)
    async with opened(tmp_path) as store:
        await store.commit(kept('"secret"'))
    reset(tmp_path)
    reset(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["hosts.lock"]


@pytest.mark.behaviour("engine.stalls-not-loses")
async def test_a_file_that_others_lock_stalls_commits_and_loses_none(tmp_path: Path) -> None:
    """What comes behind a stalled commit is kept behind it: nothing is committed while the thread still tries."""
    early, late = (Outgoing(entity_target(KEY), Operation(name, "add", None)) for name in ("sent early", "sent late"))
    async with opened(tmp_path, busy_timeout_ms=1) as store:
        with held_by_another(tmp_path, "IMMEDIATE"):
            stalled = store.commit(Step(produced=(early,)))
            done, _ = await asyncio.wait({stalled}, timeout=0.2)  # the thread waits longer and longer between its tries
            assert not done
        await asyncio.gather(stalled, store.commit(Step(produced=(late,))))
        assert [message.body for message in await store.messages(None, 9)] == [early.body, late.body]
