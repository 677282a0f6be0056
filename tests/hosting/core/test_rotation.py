"""Sweeps over several agents that are cut off: by their time, by a list that fails, by the death of their process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from hosting.core.rotation import Rotation
from hosting.core.stores.memory import MemoryObjects
from hosting.core.sweeps import Sweep
from hosting.errors import AttachmentsUnavailableError, EngineUnavailableError
from hosting.names import entity_name
from hosting.ports import Clocks, EntityPage
from tests.support.process import Engine, Process

AGENTS = ("ann", "bob", "cid")

pytestmark = pytest.mark.behaviour("erasure.sweep-turns")


class Lists(Engine):
    """An engine with one idle thread on each of an agent's many pages; `asked` has whose list was begun."""

    def __init__(self, page_seconds: float = 0.0) -> None:
        super().__init__()
        self.page_seconds = page_seconds
        self.passed_seconds = 0.0
        self.asked: list[str] = []
        self.swept: list[str] = []
        self.broken: set[str] = set()
        self.endless: set[str] = set()

    async def list(
        self,
        entity: str,
        limit: int,
        cursor: str | None,
        changed_until: float | None = None,
        changed_from: float | None = None,
    ) -> EntityPage:
        agent = entity.removeprefix(entity_name(""))
        self.asked += [agent] if cursor is None else []
        self.passed_seconds += self.page_seconds
        if agent in self.broken:
            raise EngineUnavailableError("The durable engine cannot be reached.")
        page = int(cursor or 0)
        is_last = page == 2 and agent not in self.endless
        return EntityPage(((f"t{page}", ""),), None if is_last else str(page + 1))

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        self.swept.append(f"{entity.removeprefix(entity_name(''))}/{key}")

    def sweep(self, process: Process, store: MemoryObjects, agents: Sequence[str] = AGENTS) -> Sweep:
        clocks = Clocks(lambda: 1_000_000.0, lambda: self.passed_seconds)
        rotation = Rotation(store, "hub", "trim")
        return Sweep("trim", lambda: dict.fromkeys(agents, 1.0), process.threads, rotation, clocks=clocks)


async def test_one_whose_process_dies_goes_on_with_the_next_agent(process: Process) -> None:
    engine, store = Lists(), MemoryObjects()
    hanging = asyncio.Event()

    class Dying(Lists):
        """An engine whose answer the process does not live to see."""

        async def list(self, *_: object, **__: object) -> EntityPage:
            hanging.set()
            await asyncio.Event().wait()
            raise AssertionError

    dying = asyncio.ensure_future(engine.sweep(process, store).run(Dying()))
    await hanging.wait()
    dying.cancel()
    await asyncio.gather(dying, return_exceptions=True)

    await engine.sweep(process, store).run(engine)

    assert engine.asked == ["bob", "cid", "ann"]


@pytest.mark.parametrize("fault", ["broken", "endless"])
async def test_an_agent_whose_list_fails_keeps_no_other_from_its_turn(process: Process, fault: str) -> None:
    class Circular(Lists):
        """An engine whose endless lists lead to their first page again."""

        async def list(
            self,
            entity: str,
            limit: int,
            cursor: str | None,
            changed_until: float | None = None,
            changed_from: float | None = None,
        ) -> EntityPage:
            page = await super().list(entity, limit, cursor, changed_until, changed_from)
            return EntityPage(page.keys, "1") if page.cursor == "3" else page

    engine = Circular()
    setattr(engine, fault, {"ann"})

    with pytest.raises(EngineUnavailableError):
        await engine.sweep(process, MemoryObjects()).run(engine)

    assert [key for key in engine.swept if not key.startswith("ann")] == [
        f"{agent}/t{page}" for agent in ("bob", "cid") for page in range(3)
    ]


async def test_a_store_that_is_away_costs_no_agent_its_sweep(process: Process) -> None:
    class Away(MemoryObjects):
        """A store that cannot be reached."""

        async def read(self, *_: object) -> dict[str, bytes]:
            raise AttachmentsUnavailableError

        async def put(self, *_: object) -> None:
            raise AttachmentsUnavailableError

    engine = Lists()

    swept = await engine.sweep(process, Away()).run(engine)

    assert (swept.is_complete, engine.asked) == (True, list(AGENTS))
