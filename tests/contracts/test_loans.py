"""What forks have without copies, over the stores that an app has. Each death is tried in memory."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator

import pytest

from hosting.core.stores.contract import ThreadStore
from hosting.names import Address
from hosting.ports import ObjectStore
from state.attachments import Exchange, references
from state.codec import read
from state.extension import host_of
from tests.contracts.objects import FACTORIES
from tests.contracts.thread_stores import Threads
from tests.support.mortal import AGENT, HUB, ORIGIN, DiedError, Life, MortalProcess, World

FORK, AGAIN = Address.of(AGENT, "fork"), Address.of(AGENT, "again")
SLOW = pytest.mark.slow
PICTURE = "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 100).decode()
OBJECTS = {"sqlite": "sqlite", "tables": "blob", "redis": "cosmos"}
"""Where archives and attachments are, for each log."""
LOGS = ["sqlite", pytest.param("tables", marks=SLOW), pytest.param("redis", marks=[SLOW, pytest.mark.explore])]


class StoredWorld(World):
    """A world whose log, archives and attachments are in the stores of one kind."""

    def __init__(self, threads: Threads, archive: ObjectStore, attachments: ObjectStore) -> None:
        super().__init__()
        self._threads = threads.open(HUB)
        self.archive, self.attachments = archive, attachments

    def log(self) -> ThreadStore:
        """Return the log that outlives processes."""
        return self._threads


@pytest.fixture
async def world(threads: Threads, request: pytest.FixtureRequest) -> AsyncIterator[StoredWorld]:
    """Nothing is there yet."""
    stores = [(await FACTORIES[OBJECTS[threads.name]](request))() for _ in range(2)]
    world = StoredWorld(threads, *stores)
    yield world
    world.loop.close()
    for store in stores:
        await store.close()


@pytest.mark.behaviour("fork.alone")
@pytest.mark.parametrize("threads", LOGS, indirect=True)
async def test_forks_keep_all_when_what_they_were_lent_goes_and_who_erases_it_dies(world: StoredWorld) -> None:
    """A fork and its fork: the middle one goes last, and nothing of what has gone is left in a store."""
    process = world.process()
    await speak(process, ORIGIN)
    await process.fork("fork")
    await process.deliver_all()
    await speak(process, FORK)
    await process.fork("again", FORK)
    await process.deliver_all()
    lent = await world.loans(ORIGIN), await world.loans(FORK)
    has = {address: await process.entries(address) for address in (FORK, AGAIN)}
    assert [lent, len(host_of(read(world.engine.documents["again"])).lenders)] == [(2, 1), 2]

    with pytest.raises(DiedError):
        await world.process(Life(14, is_done=True)).delete(ORIGIN)  # it has read of the loans, and has copied nothing
    for address, before in has.items():
        assert await process.entries(address) == before
    await process.delete(ORIGIN)
    for address, before in has.items():
        await assert_whole(process, address, before)
    await process.delete(FORK)

    await assert_whole(process, AGAIN, has[AGAIN])
    assert [(await world.kept(address))[:2] for address in (ORIGIN, FORK)] == [(0, 0)] * 2
    await process.delete(AGAIN)
    assert (await world.kept(AGAIN))[:2] == (0, 0)


async def speak(process: MortalProcess, address: Address) -> None:
    """Take turns on a thread, with a picture in the first; most are archived."""
    await process.say("see", address, ({"$type": "data", "uri": PICTURE, "mediaType": "image/png"},))
    for number in range(7):
        await process.say(f"{number} ".ljust(300, "x"), address)


async def assert_whole(process: MortalProcess, address: Address, before: list[tuple[int, Exchange]]) -> None:
    """The thread has all entries, and their pictures."""
    assert await process.entries(address) == before
    export = await process.services.threads.export(address, process.engine)
    kept = {name for name in export.attachments.names if await export.attachments.read(name)}
    assert kept == frozenset().union(*(references(entry) for _, entry in before))
