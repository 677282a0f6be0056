"""Several processes of one folder: one works, the others send and read; what has gone is told."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from devhost.durable.engine import DurableTask, Role, reset
from devhost.durable.hub import Purged
from devhost.durable.queue_poll import QueuePoll
from devhost.durable.records import EntityId, Operation, Outgoing, Step, entity_target
from devhost.durable.settings import DurableSettings
from devhost.durable.store.contract import Arrivals
from devhost.durable.store.lock import WORKER_LOCK, FolderLock
from devhost.durable.store.sqlite import SqliteStore
from devhost.errors import StoreInUseError, StoreRemovedError, StoreUnreachableError
from devhost.ports import DurableFunctions
from tests.devhost.durable.scripted_functions import Journal, ScriptedEntities
from tests.support.running_host import GUARD_SECONDS
from tests.support.warm_python import ROOT

KEY = EntityId("counter", "k")
HOLDER = """
import asyncio, sys
from pathlib import Path
from tests.devhost.durable.test_shared_folder import engine_on
async def main():
    await engine_on(Path(sys.argv[1])).start()
    print("open", flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


def engine_on(
    folder: Path,
    role: Role = Role.ALONE,
    functions: DurableFunctions | None = None,
    store: type[SqliteStore] = SqliteStore,
) -> DurableTask:
    """Return an engine on the folder's file, which looks for messages of others all the time."""
    settings = DurableSettings(queue_poll_seconds=0.05)
    return DurableTask(
        functions or ScriptedEntities(Journal().answer), store(folder), settings, folder=folder, role=role
    )


async def until_state(engine: DurableTask, state: str | None) -> None:
    """Return once the entity's state is this, whoever wrote it."""

    async def is_there() -> None:
        while (entity := await engine.hub.store.entity(KEY)) is None or entity.state != state:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    await asyncio.wait_for(is_there(), GUARD_SECONDS)


@asynccontextmanager
async def started(*engines: DurableTask) -> AsyncIterator[tuple[DurableTask, ...]]:
    """Run engines for the length of the block."""
    for engine in engines:
        await engine.start()
    yield engines
    for engine in reversed(engines):
        await engine.stop(5)


@pytest.mark.slow
@pytest.mark.behaviour("engine.one-process")
async def test_a_folder_in_use_is_refused_until_its_holder_is_killed(tmp_path: Path) -> None:
    """The lock is the operating system's: `kill -9` frees it, and no file has to be removed."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(StoreInUseError, match=r"Another local host is using .* Stop it first"):
            await engine_on(tmp_path).start()
        with pytest.raises(StoreInUseError):
            reset(tmp_path)
        holder.kill()
    async with started(engine_on(tmp_path)):
        pass


@pytest.mark.behaviour("engine.groups")
async def test_a_second_worker_waits_for_the_end_of_the_first(tmp_path: Path) -> None:
    """It is there at once, and does what came meanwhile once the first is gone."""
    journal, first = Journal(), FolderLock(tmp_path, WORKER_LOCK)
    first.take()
    async with started(engine_on(tmp_path, Role.WORKER, ScriptedEntities(journal.answer))) as (engine,):
        await engine.hub.signal(KEY, "sent meanwhile", None)
        await asyncio.sleep(0.1)
        assert journal.batches == []
        first.release()
        await asyncio.wait_for(journal.started.wait(), GUARD_SECONDS)
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
    worker = engine_on(tmp_path, Role.WORKER, store=FailsFirst)
    async with started(worker, engine_on(tmp_path, Role.CLIENT)) as (_, client):
        await client.hub.signal(KEY, "from elsewhere", None)
        await until_state(client, '["from elsewhere"]')


@pytest.mark.behaviour("engine.groups")
async def test_two_clients_that_start_one_id_start_it_once(tmp_path: Path) -> None:
    """Whoever is second is told that it is there, also when both looked before either wrote."""
    async with started(*(engine_on(tmp_path, Role.CLIENT) for _ in range(2))) as clients:
        for number in range(20):
            begun = await asyncio.gather(*(client.hub.start("chain", f"one-{number}", None) for client in clients))
            assert sorted(type(outcome).__name__ for outcome in begun) == ["Accepted", "WrongStatus"]


@pytest.mark.behaviour("engine.groups")
async def test_only_what_another_process_sends_is_looked_for(tmp_path: Path) -> None:
    """The first look delivers all that waits; what this process sends it delivers itself."""
    own, other = SqliteStore(tmp_path), SqliteStore(tmp_path)
    own.open()
    other.open()
    sent = Step(produced=(Outgoing(entity_target(KEY), Operation("i", "add", None)),))
    poll = QueuePoll(own, lambda target, due: None, None)

    await own.commit(sent)
    looks = [await poll.look()]
    quiet = 0
    while quiet < 5:  # until the threads of the new stores, which erase what was deleted, have let the file alone
        await asyncio.sleep(0.02)
        quiet = 0 if await poll.look() else quiet + 1
    await own.commit(sent)
    looks.append(await poll.look())
    await other.commit(sent)
    looks += [await poll.look(), await poll.look()]
    await own.close()
    await other.close()

    assert looks == [True, False, True, False]


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


@pytest.mark.behaviour("engine.purge")
@pytest.mark.parametrize("is_another", [False, True], ids=["the worker's process", "another process"])
async def test_an_entity_that_is_purged_beside_its_running_batch_does_not_return(
    tmp_path: Path, is_another: bool
) -> None:
    """The batch's effects are dropped, and what waited behind it; the next operation finds nothing."""
    journal = Journal()
    worker, client = engine_on(tmp_path, functions=ScriptedEntities(journal.answer)), engine_on(tmp_path, Role.CLIENT)
    async with started(worker, client):
        await worker.hub.signal(KEY, "old", None)
        await until_state(worker, '["old"]')
        journal.may_end.clear()
        journal.started.clear()
        await worker.hub.signal(KEY, "running", None)
        await asyncio.wait_for(journal.started.wait(), GUARD_SECONDS)
        await worker.hub.signal(KEY, "waiting", None)
        assert await (client if is_another else worker).hub.purge_entity(KEY) == Purged(1)
        await worker.hub.signal(KEY, "new", None)
        journal.may_end.set()
        await until_state(worker, '["new"]')
    assert journal.batches == [["old"], ["running"], ["new"]]
