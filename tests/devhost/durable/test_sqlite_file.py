"""What only a file can go wrong with: other processes, other versions, damage, a disk that refuses."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from devhost.durable.engine import DurableTask, Role, reset
from devhost.durable.hub import Purged
from devhost.durable.queue_poll import QueuePoll
from devhost.durable.records import Entity, EntityId, Operation, Outgoing, Read, Step, entity_target
from devhost.durable.settings import DurableSettings
from devhost.durable.store import tables
from devhost.durable.store.contract import Arrivals
from devhost.durable.store.erasing import OWE
from devhost.durable.store.sqlite import SqliteStore
from devhost.errors import StoreInUseError, StoreRemovedError, StoreUnreachableError, StoreUnreadableError
from devhost.ports import DurableFunctions
from tests.devhost.durable.scripted_functions import Journal, ScriptedEntities
from tests.support.canary import gone, holds
from tests.support.engine_clocks import START
from tests.support.running_host import GUARD_SECONDS
from tests.support.seeds import repeated

_ROOT = Path(__file__).parents[3]
_HOLDER = """
import asyncio, sys
from pathlib import Path
from tests.devhost.durable.test_sqlite_file import engine_on
from devhost.durable.engine import Role
from devhost.durable.store.lock import WORKER_LOCK, FolderLock
lock = None
async def main():
    if sys.argv[2] == "LOCK":
        global lock
        lock = FolderLock(Path(sys.argv[1]), WORKER_LOCK)
        lock.take()
    else:
        await engine_on(Path(sys.argv[1]), Role[sys.argv[2]]).start()
    print("open", flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""
KEY = EntityId("counter", "k")


def engine_on(folder: Path, role: Role = Role.ALONE, functions: DurableFunctions | None = None) -> DurableTask:
    """Return an engine on the folder's file, which looks for messages of others all the time."""
    settings = DurableSettings(queue_poll_seconds=0.05)
    return DurableTask(
        functions or ScriptedEntities(Journal().answer), SqliteStore(folder), settings, folder=folder, role=role
    )


@contextmanager
def holding(folder: Path, role: str) -> Iterator[subprocess.Popen[str]]:
    """Have another process hold the folder, until the end of the block or until it is killed.

    `role` is its engine's; LOCK has the worker's lock alone, and does no work.
    """
    command = [sys.executable, "-c", _HOLDER, str(folder), role]
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        yield holder
        holder.kill()


@pytest.mark.slow
@pytest.mark.behaviour("engine.one-process")
async def test_a_folder_in_use_is_refused_until_its_holder_is_killed(tmp_path: Path) -> None:
    """The lock is the operating system's: `kill -9` frees it, and no file has to be removed."""
    with holding(tmp_path, "ALONE") as holder:
        with pytest.raises(StoreInUseError, match=r"Another local host is using .* Stop it first"):
            await engine_on(tmp_path).start()
        with pytest.raises(StoreInUseError):
            reset(tmp_path)
        holder.kill()
        holder.wait(timeout=5)
    engine = engine_on(tmp_path)
    await engine.start()
    await engine.stop(0)


@pytest.mark.slow
@pytest.mark.behaviour("engine.groups")
async def test_a_second_worker_waits_for_the_end_of_the_first(tmp_path: Path) -> None:
    """It is there at once, and does what came meanwhile once the first is killed."""
    journal = Journal()
    engine = engine_on(tmp_path, Role.WORKER, ScriptedEntities(journal.answer))
    with holding(tmp_path, "LOCK") as holder:
        await engine.start()
        await engine.hub.signal(KEY, "sent meanwhile", None)
        assert engine._beginning is not None
        assert not engine._beginning.done()
        holder.kill()
        await asyncio.wait_for(engine._beginning, 5)
    await asyncio.wait_for(journal.started.wait(), 5)
    await engine.stop(5)
    assert journal.batches == [["sent meanwhile"]]


class FailsFirst(SqliteStore):
    """Its first look for messages fails, as on a disk that does not answer for a moment."""

    has_failed = False

    async def arrivals(self, after_seq: int) -> Arrivals:
        if not self.has_failed:
            self.has_failed = True
            raise StoreUnreachableError("disk I/O error")
        return await super().arrivals(after_seq)


@pytest.mark.behaviour("engine.groups")
async def test_a_worker_whose_beginning_fails_begins_again(tmp_path: Path) -> None:
    """It has the lock, so nobody else would do the work."""
    functions, settings = ScriptedEntities(Journal().answer), DurableSettings(queue_poll_seconds=0.05)
    engine = DurableTask(functions, FailsFirst(tmp_path), settings, folder=tmp_path, role=Role.WORKER)
    client = engine_on(tmp_path, Role.CLIENT)
    await client.start()
    await engine.start()
    assert engine._beginning is not None
    await asyncio.wait((engine._beginning,), timeout=5)
    await client.hub.signal(KEY, "from elsewhere", None)
    await until_state(client, '["from elsewhere"]')
    await client.stop(0)
    await engine.stop(5)


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be removed there")
@pytest.mark.behaviour("devhost.removed-folder")
@pytest.mark.parametrize("is_replaced", [False, True], ids=["removed", "replaced"])
async def test_nothing_is_taken_or_read_once_the_file_is_another(tmp_path: Path, is_replaced: bool) -> None:
    """It would be written where nobody finds it: whoever sends or asks hears so at once."""
    engine, later = engine_on(tmp_path / "used", Role.CLIENT), engine_on(tmp_path / "used", Role.CLIENT)
    await engine.start()
    await engine.hub.signal(KEY, "add", "1")
    (tmp_path / "used").rename(tmp_path / "moved")
    if is_replaced:
        await later.start()

    with pytest.raises(StoreRemovedError, match=r"durable\.db was removed or replaced while this host used it"):
        await engine.hub.signal(KEY, "add", "1")
    with pytest.raises(StoreRemovedError):
        await engine.describe()
    assert isinstance(await asyncio.wait_for(engine.until_removed(), GUARD_SECONDS), StoreRemovedError)
    if is_replaced:
        await later.hub.signal(KEY, "add", "1")
        await later.stop(0)
    await engine.stop(0)


@pytest.mark.slow
@pytest.mark.behaviour("engine.groups")
async def test_a_client_sends_and_another_process_works(tmp_path: Path) -> None:
    """Sent while no worker was there; what comes later is found by looking. The client reads what was done."""
    client = engine_on(tmp_path, Role.CLIENT)
    await client.start()
    await client.hub.signal(KEY, "before", None)
    with holding(tmp_path, "WORKER"):
        await until_state(client, '["before"]')
        await client.hub.signal(KEY, "after", None)
        await until_state(client, '["before", "after"]')
    await client.stop(0)


async def until_state(engine: DurableTask, state: str | None) -> None:
    """Return once the entity's state is this, whoever wrote it."""

    async def is_there() -> None:
        while (entity := await engine.hub.store.entity(KEY)) is None or entity.state != state:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    await asyncio.wait_for(is_there(), 5)


@pytest.mark.behaviour("engine.groups")
async def test_two_clients_that_start_one_id_start_it_once(tmp_path: Path) -> None:
    """Whoever is second is told that it is there, also when both looked before either wrote."""
    clients = [engine_on(tmp_path, Role.CLIENT) for _ in range(2)]
    for client in clients:
        await client.start()
    outcomes = []
    for number in range(20):
        started = (client.hub.start("chain", f"one-{number}", None) for client in clients)
        outcomes += [sorted(type(outcome).__name__ for outcome in await asyncio.gather(*started))]
    for client in clients:
        await client.stop(0)
    assert outcomes == [["Accepted", "WrongStatus"]] * 20


@pytest.mark.behaviour("engine.purge")
@pytest.mark.parametrize("is_another", [False, True], ids=["the worker's process", "another process"])
async def test_an_entity_that_is_purged_beside_its_running_batch_does_not_return(
    tmp_path: Path, is_another: bool
) -> None:
    """The batch's effects are dropped, and what waited behind it; the next operation finds nothing."""
    journal = Journal()
    journal.may_end.clear()
    worker, client = engine_on(tmp_path, functions=ScriptedEntities(journal.answer)), engine_on(tmp_path, Role.CLIENT)
    await worker.start()
    await client.start()
    purger = client if is_another else worker
    journal.may_end.set()
    await worker.hub.signal(KEY, "old", None)
    await until_state(worker, '["old"]')
    journal.may_end.clear()
    journal.started.clear()
    await worker.hub.signal(KEY, "running", None)
    await asyncio.wait_for(journal.started.wait(), 5)
    await worker.hub.signal(KEY, "waiting", None)
    assert await purger.hub.purge_entity(KEY) == Purged(1)
    await worker.hub.signal(KEY, "new", None)
    journal.may_end.set()
    await until_state(worker, '["new"]')
    await client.stop(0)
    await worker.stop(5)
    assert journal.batches == [["old"], ["running"], ["new"]]


@pytest.mark.behaviour("engine.one-write-fails-alone")
async def test_a_text_that_the_file_cannot_take_fails_its_own_step(tmp_path: Path) -> None:
    """Half a surrogate pair is no UTF-8. The steps beside it, and those after it, are kept, over a restart too."""
    store = SqliteStore(tmp_path)
    store.open()
    texts = ["1", '"\ud800"', "2"]
    steps = [Step(entity=Entity(EntityId("counter", str(n)), True, text, START)) for n, text in enumerate(texts)]
    kept = await asyncio.gather(*(store.commit(step) for step in steps), return_exceptions=True)
    await store.commit(Step(entity=Entity(KEY, True, "3", START)))
    await store.close()
    store = SqliteStore(tmp_path)
    store.open()
    found = [entity.state for entity in await store.list_entities("@", "", None)]
    await store.close()
    assert ([type(outcome) for outcome in kept], found) == (
        [type(None), UnicodeEncodeError, type(None)],
        ["1", "2", "3"],
    )


@pytest.mark.behaviour("engine.deleted-texts")
async def test_a_reader_neither_stalls_a_deletion_nor_keeps_its_text_for_ever(tmp_path: Path) -> None:
    """While it reads an old moment the text is in the write-ahead log; it is gone without another commit."""
    store = SqliteStore(tmp_path)
    store.open()
    await store.commit(Step(entity=Entity(KEY, True, '"a secret"', START)))
    reader = sqlite3.connect(tmp_path / "durable.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM entities").fetchall()
    await asyncio.wait_for(store.commit(Step(forgotten=(entity_target(KEY),))), 5)
    await asyncio.wait_for(store.commit(Step(entity=Entity(EntityId("counter", "next"), True, "1", START))), 5)
    assert holds_secret(tmp_path)
    reader.execute("COMMIT")
    reader.close()

    async def is_gone() -> None:
        while holds_secret(tmp_path):  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    await asyncio.wait_for(is_gone(), 5)
    await store.close()


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
@pytest.mark.parametrize("number", range(repeated(2, exploring=50)))
async def test_no_copy_stays_of_a_text_that_was_deleted_whatever_sqlite_moved_before(
    tmp_path: Path, number: int, seed: int
) -> None:
    """A row leaves copies of itself on pages that are split or joined, which `secure_delete` does not overwrite."""
    steps, deleted = moving_steps(random.Random(f"{seed} {number}"))
    store = SqliteStore(tmp_path)
    store.open()
    await asyncio.gather(*(store.commit(step) for step in steps))

    def left() -> set[bytes]:
        return deleted.intersection(
            word for path in tmp_path.glob("durable.db*") for word in re.findall(rb"word \d{4}", path.read_bytes())
        )

    async def is_gone() -> None:
        while left():  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(is_gone(), 10)
    await store.close()
    assert left() == set()


@pytest.mark.behaviour("engine.deleted-texts")
async def test_what_a_killed_process_left_unerased_is_erased_by_the_next_that_opens_the_file(tmp_path: Path) -> None:
    """The file counts what is owed, so that it does not matter whether the log was emptied meanwhile."""
    store = SqliteStore(tmp_path)
    store.open()
    await asyncio.gather(*(store.commit(step) for step in moving_steps(random.Random(0))[0]))
    await store.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "durable.db")) as killed:
        killed.executescript(f"PRAGMA secure_delete=OFF; DELETE FROM entities; DELETE FROM messages; {OWE}")
    assert holds(tmp_path, b"word ")
    store = SqliteStore(tmp_path)
    store.open()
    await asyncio.wait_for(gone(tmp_path, b"word "), 10)
    await store.close()


_KILLED_PURGER = """
import asyncio, sys
from pathlib import Path
from devhost.durable.crash import kill_this_process
from devhost.durable.engine import Role
from devhost.durable.store.erasing import Eraser
from tests.devhost.durable.test_sqlite_file import KEY, engine_on
async def main():
    engine = engine_on(Path(sys.argv[1]), Role.CLIENT)
    await engine.start()
    def die_when_purged(self, connection, is_last=False):
        if connection.execute("SELECT count(*) FROM entities").fetchone() == (0,):
            kill_this_process()
    Eraser.erase = die_when_purged
    await engine.hub.purge_entity(KEY)
asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.behaviour("engine.groups")
async def test_what_a_killed_process_deleted_leaves_the_files_of_those_that_live(tmp_path: Path) -> None:
    """It was killed before it emptied the log; a worker that has nothing to write does that."""
    worker = engine_on(tmp_path, Role.WORKER)
    await worker.start()
    await worker.hub.signal(KEY, "a secret", None)
    await until_state(worker, '["a secret"]')
    command = [sys.executable, "-c", _KILLED_PURGER, str(tmp_path)]
    await asyncio.to_thread(subprocess.run, command, cwd=_ROOT, timeout=20)

    async def is_gone() -> None:
        while holds_secret(tmp_path):  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    await asyncio.wait_for(is_gone(), 10)
    await worker.stop(5)


def holds_secret(folder: Path) -> bool:
    return any(b"a secret" in path.read_bytes() for path in folder.glob("durable.db*"))


def file_of_version_1(folder: Path) -> Path:
    """Make the file of an older host, with an entity and a message for it."""
    connection = sqlite3.connect(folder / "durable.db")
    connection.executescript(f"{tables._UPGRADES[0]}; PRAGMA user_version = 1")
    operation = '{"id": "i", "name": "add", "input": null, "caller_id": null, "caller_execution_id": null}'
    connection.execute("INSERT INTO entities VALUES ('@counter@k', 1, '[\"old\"]', '2026-01-01T00:00:00.000000')")
    connection.execute("INSERT INTO messages VALUES (7, 'entity', '@counter@k', NULL, ?)", (operation,))
    connection.commit()
    connection.close()
    return folder / "durable.db"


@pytest.mark.behaviour("engine.versioned-file")
async def test_a_file_of_version_1_is_upgraded_with_all_that_it_holds(tmp_path: Path) -> None:
    """Its messages go on where they were, and its records can be changed."""
    file_of_version_1(tmp_path)
    store = SqliteStore(tmp_path)
    store.open()
    (waiting,) = await store.messages(None, 9)
    entity = await store.entity(KEY)
    await store.commit(Step(entity=Entity(KEY, True, "1", START), read=Read.of(entity_target(KEY), entity)))
    await store.close()
    assert (waiting.seq, waiting.body) == (7, Operation("i", "add", None))
    assert entity == Entity(KEY, True, '["old"]', START)


@pytest.mark.behaviour("engine.versioned-file")
def test_two_processes_that_upgrade_a_file_at_once_upgrade_it_once(tmp_path: Path) -> None:
    """Both have seen the old version when one of them gets to write."""
    path = file_of_version_1(tmp_path)
    first = sqlite3.connect(path, isolation_level=None)
    first.execute("BEGIN IMMEDIATE")
    upgraders = [Upgrader(path) for _ in range(2)]
    for upgrader in upgraders:
        assert upgrader.is_about_to_write.wait(5)
    first.execute("COMMIT")
    first.close()
    assert [upgrader.outcome.result(5) for upgrader in upgraders] == [tables.VERSION] * 2


class Upgrader:
    """Upgrades the file on a thread; `outcome` is the version that it leaves."""

    def __init__(self, path: Path) -> None:
        self.is_about_to_write = threading.Event()
        self.outcome: Future[int] = ThreadPoolExecutor(1).submit(self._upgrade, path)

    def _upgrade(self, path: Path) -> int:
        connection = sqlite3.connect(path, isolation_level=None, timeout=5)
        connection.set_trace_callback(lambda statement: statement.startswith("BEGIN") and self.is_about_to_write.set())
        tables.upgrade(connection, path)
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


@pytest.mark.behaviour("engine.damaged-file")
async def test_a_file_that_is_damaged_inside_is_told_by_its_path(tmp_path: Path) -> None:
    """What can still be read is; what cannot is a sentence that names the file, not a traceback."""
    store = SqliteStore(tmp_path)
    store.open()
    for number in range(300):
        await store.commit(Step(entity=Entity(EntityId("counter", f"{number:04}"), True, "x" * 3000, START)))
    await store.close()
    with (tmp_path / "durable.db").open("r+b") as file:
        file.seek(20 * 4096)
        file.write(b"\xff" * (100 * 4096))
    store = SqliteStore(tmp_path)
    store.open()
    with pytest.raises(StoreUnreadableError, match=r"durable.db is not the local host's file or is damaged \("):
        await store.list_entities("@", "", None)
    await store.close()


@pytest.mark.behaviour("engine.damaged-file")
async def test_a_row_that_is_damaged_is_told_by_its_path(tmp_path: Path) -> None:
    """Its target fails by that sentence; others go on."""
    store = SqliteStore(tmp_path)
    store.open()
    good, bad = (Outgoing(entity_target(EntityId("counter", key)), Operation("i", "add", None)) for key in "gb")
    await store.commit(Step(produced=(good, bad)))
    with sqlite3.connect(tmp_path / "durable.db") as connection:
        connection.execute("UPDATE messages SET body = 'no json' WHERE seq = 2")
    connection.close()
    assert len((await store.arrivals(0)).of) == 2
    assert len((await store.inbox(good.target, START, 9)).messages) == 1
    with pytest.raises(StoreUnreadableError, match="is damaged"):
        await store.inbox(bad.target, START, 9)
    await store.close()


@pytest.mark.behaviour("engine.versioned-file")
def test_a_damaged_file_is_refused_and_says_how_to_go_on(tmp_path: Path) -> None:
    """Also when the file was never one of ours."""
    (tmp_path / "durable.db").write_bytes(b"this is no database, it only is long enough to be read as one" * 40)
    with pytest.raises(StoreUnreadableError, match="Move it away, or run `python -m devhost reset`"):
        SqliteStore(tmp_path).open()


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


@pytest.mark.behaviour("engine.stalls-not-loses")
async def test_what_comes_behind_a_stalled_commit_is_kept_behind_it(tmp_path: Path) -> None:
    """The loop commits nothing while the thread still tries, though the file is free again."""
    store = SqliteStore(tmp_path, busy_timeout_ms=1)
    store.open()
    early, late = (Outgoing(entity_target(KEY), Operation(name, "add", None)) for name in ("sent early", "sent late"))
    with sqlite3.connect(tmp_path / "durable.db", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        stalled = store.commit(Step(produced=(early,)))
        await asyncio.sleep(0.2)  # the thread waits longer and longer between its tries
        other.execute("ROLLBACK")
    other.close()
    await asyncio.gather(stalled, store.commit(Step(produced=(late,))))

    assert [message.body for message in await store.messages(None, 9)] == [early.body, late.body]
    await store.close()


@pytest.mark.behaviour("engine.groups")
async def test_only_what_another_process_sends_is_looked_for(tmp_path: Path) -> None:
    """The first look delivers all that waits; what this process sends it delivers itself."""
    stores = [SqliteStore(tmp_path), SqliteStore(tmp_path)]
    for store in stores:
        store.open()
    own, other = stores
    sent = Step(produced=(Outgoing(entity_target(KEY), Operation("i", "add", None)),))
    poll = QueuePoll(own, lambda target, due: None, None)

    await own.commit(sent)
    looks = [await poll.look()]
    while (tmp_path / "durable.db-wal").stat().st_size:  # noqa: ASYNC110 - the thread of a new store locks the file
        await asyncio.sleep(0.01)
    await poll.look()
    await own.commit(sent)
    looks.append(await poll.look())
    await other.commit(sent)
    looks += [await poll.look(), await poll.look()]

    assert looks == [True, False, True, False]
    for store in stores:
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
    assert [path.name for path in tmp_path.iterdir()] == ["hosts.lock"]
