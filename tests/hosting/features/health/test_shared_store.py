"""Instances whose stores differ find it by the hub they share, and nobody else is told so."""

from __future__ import annotations

import asyncio
import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from hosting.core.cells import Cells
from hosting.core.stores.contract import ThreadStore
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore
from hosting.core.stores.sqlite import SqliteThreadStore
from hosting.core.thread_log import ThreadLog
from hosting.feature import Entity
from hosting.features.health.shared_store import (
    ENTITY,
    KEY,
    LOOK_SECONDS,
    MARK,
    MARK_SECONDS,
    SharedStore,
    StoresDifferError,
)
from hosting.functions.feature_entities import FeatureEntities
from hosting.ports import Clocks

pytestmark = pytest.mark.behaviour("hosting.one-store")


class Hub:
    """A task hub with the one entity, carried out by the instance that `runs` it; its time is moved by `pass_time`."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.passed = 0.0
        self.clocks = Clocks(wall=lambda: self.now, awake=lambda: self.passed)
        self.state: str | None = None
        self.runs: Instance | None = None
        self.signals = 0

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.passed += seconds

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        """Carry the operation out at once; twice, as a hub may."""
        self.signals += 1
        for _ in range(2):
            batch = {"name": operation, "input": json.dumps(json.dumps(value)), "isSignal": True}
            envelope = {
                "self": {"name": entity, "key": key},
                "exists": self.state is not None,
                "state": self.state,
                "batch": [batch],
            }
            assert (entity, key) == (ENTITY, KEY)
            if self.runs is not None:
                answer = json.loads(await self.runs.handle(json.dumps(envelope)))
                assert [one["isError"] for one in answer["results"]] == [False]
                self.state = answer["entityState"]

    async def read(self, entity: str, key: str) -> str | None:
        return self.state


class Instance:
    """One process of the app, with the store that its settings name."""

    def __init__(self, hub: Hub, store: ThreadStore) -> None:
        self._hub = hub
        self._hub = hub
        log = ThreadLog(store, MemoryObjects(), "hub", clocks=hub.clocks)
        self.store = SharedStore(Cells(store, log), hub.clocks)
        self._entities = FeatureEntities(nullcontext, hub.clocks.wall)
        self._entities.add(Entity(ENTITY, MARK, self.store.record))

    async def handle(self, payload: str) -> str:
        return await self._entities.handle(ENTITY, payload, self._hub)  # type: ignore[arg-type]

    async def is_ready(self) -> bool:
        """Return what `health/ready` says of it, a moment later than it was asked before."""
        self._hub.pass_time(LOOK_SECONDS)
        try:
            await self.store.check(self._hub)  # type: ignore[arg-type]
        except StoresDifferError:
            return False
        return True


@pytest.fixture
def hub() -> Hub:
    return Hub()


async def test_two_stores_of_one_hub_are_found_by_either_instance(hub: Hub) -> None:
    """Also by one whose operations the other carries out, and which is never asked itself."""
    asked, hub.runs = Instance(hub, MemoryThreadStore("hub")), Instance(hub, MemoryThreadStore("hub"))

    assert not await asked.is_ready()
    assert not await hub.runs.is_ready()


async def test_two_processes_with_one_store_are_ready(hub: Hub, tmp_path: Path) -> None:
    """A rolling deployment changes nothing of that: the mark is the store's and not the process'."""
    path = tmp_path / "log.sqlite"
    stores = [SqliteThreadStore(path, "hub") for _ in range(3)]
    older, newer, newest = (Instance(hub, store) for store in stores)

    for hub.runs in (older, newer, newest):
        assert [await one.is_ready() for one in (older, newer, newest)] == [True] * 3
        hub.pass_time(MARK_SECONDS)
    assert len(set(await asyncio.gather(*(one.store.id() for one in (older, newer, newest))))) == 1
    for store in stores:
        await store.close()


@pytest.mark.parametrize("state", ["", "{", "[]", '{"stores": 1}', '{"stores": {"a": {"since": "x"}}}', "5"])
async def test_a_state_that_cannot_be_read_is_replaced(hub: Hub, state: str) -> None:
    """Nothing is lost by that: who uses a store marks it again."""
    hub.state = state
    asked, hub.runs = Instance(hub, MemoryThreadStore("hub")), Instance(hub, MemoryThreadStore("hub"))

    assert not await asked.is_ready()


@pytest.mark.parametrize(
    ("operation", "value"), [("mark", {}), ("mark", "x"), ("mark", {"store": 5}), ("other", {"store": "a"})]
)
async def test_what_nobody_of_us_sends_is_refused_and_changes_nothing(hub: Hub, operation: str, value: object) -> None:
    instance = Instance(hub, MemoryThreadStore("hub"))
    batch = [{"name": operation, "input": json.dumps(json.dumps(value)), "isSignal": True}]
    envelope = {"self": {"name": ENTITY, "key": KEY}, "exists": False, "state": None, "batch": batch}

    answer = json.loads(await instance.handle(json.dumps(envelope)))

    assert [one["isError"] for one in answer["results"]] == [True]
    assert (answer["entityExists"], answer["entityState"]) == (False, "null")
