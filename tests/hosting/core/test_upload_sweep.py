"""The sweep over uploads: threads with some that became old are asked once, also those that have nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hosting.core.deletion import UNUSED_SECONDS
from hosting.core.stores.memory import MemoryObjects
from hosting.core.sweeps import MOST_SECONDS, PAGE_SIZE, Swept, UploadSweep
from hosting.core.thread_log import epoch_store_key
from hosting.errors import EngineUnavailableError
from hosting.names import Address
from hosting.ports import Clocks, EntityPage

pytestmark = pytest.mark.behaviour("erasure.unused-uploads")

HUB = "hub"
FOREIGN = "a thread of another package"
TWELVE_HOURS = 43_200.0


class Engine:
    """The engine as the sweep knows it: it takes signals, or is away, and lists the threads of one agent."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []
        self.keys: list[str] = []
        self.is_away = False

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        if self.is_away:
            raise EngineUnavailableError("The durable engine cannot be reached.")
        self.asked.append((entity, key, operation))

    async def list(
        self,
        entity: str,
        limit: int,
        cursor: str | None,
        changed_until: float | None = None,
        changed_from: float | None = None,
    ) -> EntityPage:
        at = int(cursor or 0)
        page = tuple((key, "") for key in self.keys[at : at + limit])
        return EntityPage(page, str(at + limit) if at + limit < len(self.keys) else None)

    def names(self) -> list[str]:
        names, self.asked = [key for _, key, _ in self.asked], []
        return names


class World:
    """A store of attachments, an engine, and sweeps of any number of processes, by one clock."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.store = MemoryObjects(lambda: self.now)
        self.engine = Engine()

    async def upload(self, thread_id: str, agent: str = "Joker", epoch: int = 0) -> None:
        key = epoch_store_key(HUB, Address.of(agent, thread_id), epoch)
        await self.store.put(key, {f"{self.now}".ljust(64, "0"): b"body"})

    async def sweep(self, passed_seconds: Callable[[], float] = lambda: 0.0, ahead_seconds: float = 0.0) -> Swept:
        def clock() -> float:
            return self.now + ahead_seconds

        sweep = UploadSweep(self.store, HUB, lambda: ["Joker"], clocks=Clocks(clock, passed_seconds))
        return await sweep.run(self.engine)  # type: ignore[arg-type]  # the part of the engine that it reaches


@pytest.fixture
def world() -> World:
    return World()


async def test_a_thread_with_an_upload_is_asked_once_it_is_old(world: World) -> None:
    """Not before: an append may be about to refer to it. Twice a day is then within a day of each upload."""
    await world.upload("t")
    world.now += UNUSED_SECONDS - 1
    young = await world.sweep()
    world.now += TWELVE_HOURS
    old = await world.sweep()

    assert (young, old) == (Swept(0, is_complete=True), Swept(1, is_complete=True))
    assert world.engine.asked == [("dafx-joker", "t", "trim")]
    assert UNUSED_SECONDS + TWELVE_HOURS < 86_400


async def test_a_clock_that_was_years_ahead_leaves_nothing_unseen(world: World) -> None:
    await world.sweep(ahead_seconds=1e9)
    await world.upload("t")
    world.now += UNUSED_SECONDS + 1
    await world.sweep()

    assert world.engine.names() == ["t"]


async def test_a_sweep_that_is_broken_off_is_gone_on_with(world: World) -> None:
    """By its time, at a page's end; and whole, where the engine was away."""
    for number in range(2 * PAGE_SIZE):
        world.now += 1
        await world.upload(f"t-{number:04}")
    world.now += TWELVE_HOURS
    world.engine.is_away = True
    with pytest.raises(EngineUnavailableError):
        await world.sweep()
    world.engine.is_away = False
    ticks = iter([0.0, MOST_SECONDS])

    first = await world.sweep(passed_seconds=lambda: next(ticks))
    second = await world.sweep()

    assert (first, second) == (Swept(PAGE_SIZE, is_complete=False), Swept(PAGE_SIZE, is_complete=True))
    assert world.engine.names() == [f"t-{number:04}" for number in range(2 * PAGE_SIZE)]


async def test_a_thread_whose_id_no_key_holds_is_found_by_the_engine(world: World) -> None:
    world.engine.keys = [*(f"k-{number}" for number in range(PAGE_SIZE)), FOREIGN]
    await world.upload(FOREIGN)
    world.now += TWELVE_HOURS
    await world.sweep()

    assert world.engine.names() == [FOREIGN]
