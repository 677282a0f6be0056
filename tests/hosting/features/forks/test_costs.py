"""What a fork costs of the stores: the same calls however long its origin is, and wherever in it the fork ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.long_thread import made_thread
from hosting.core.stores.archive import Archive
from hosting.core.thread_log import epoch_store_key
from tests.support.mortal import HUB, ORIGIN, Life, World

LENGTHS = (8_000, 24_000)
POINTS: dict[str, Any] = {"at the end": lambda _: {}} | {
    name: lambda length, share=share: {"at": length // share} for name, share in (("at a half", 2), ("at a quarter", 4))
}


@pytest.fixture(scope="module")
def worlds() -> Iterator[dict[int, World]]:
    worlds = {length: World() for length in LENGTHS}
    yield worlds
    for world in worlds.values():
        world.loop.close()


async def spoken(world: World, length: int) -> None:
    if not world.engine.documents:
        place = epoch_store_key(HUB, ORIGIN, 0)
        made = await made_thread(Archive(world.archive), place, world.settings, length)
        world.engine.documents["origin"] = made


@pytest.mark.behaviour("fork.cost")
@pytest.mark.parametrize("point", POINTS)
async def test_a_fork_makes_the_same_calls_whatever_is_before_and_behind_its_end(
    worlds: dict[int, World], point: str
) -> None:
    calls = []
    for length, world in worlds.items():
        await spoken(world, length)
        life = Life()
        forked = await world.process(life).fork(point.replace(" ", "-"), **POINTS[point](length))
        assert forked.entries == POINTS[point](length).get("at", length)
        calls.append(life.calls)

    assert calls[0] == calls[1] < 32


@pytest.mark.behaviour("archive.counts-all")
@pytest.mark.parametrize("at", [48, 50, 96, 1000, 6000, 7950])
async def test_a_fork_that_ends_long_before_the_end_counts_what_it_has(worlds: dict[int, World], at: int) -> None:
    """Messages and tokens; its document is the one that reading all behind its end makes."""
    world = worlds[LENGTHS[0]]
    await spoken(world, LENGTHS[0])
    for thread_id, archive in ((f"quick-{at}", world.archive), (f"slow-{at}", WithoutSums(world.archive))):
        process = world.process()
        process.services.stores.archive._objects = archive
        await process.fork(thread_id, at=at)
        await process.deliver_all()

    quick, slow = (stored(world, f"{kind}-{at}") for kind in ("quick", "slow"))
    assert quick == slow


class WithoutSums:
    """The objects of an archive whose segments say nothing of those before them."""

    def __init__(self, objects: Any) -> None:
        self._objects = objects

    def __getattr__(self, name: str) -> Any:
        return getattr(self._objects, name)

    async def read(self, thread: Any, names: Any) -> dict[str, bytes]:
        """Return the objects, each without its last line if that is none of its entries."""
        found = await self._objects.read(thread, names)
        return {name: cut(name, body) for name, body in found.items()}


def cut(name: str, body: bytes) -> bytes:
    _, _, first, last = (int(part) for part in name.split("-"))
    return b"\n".join(body.split(b"\n")[: last - first + 1])


def archived(world: World, thread_id: str) -> Any:
    """Return what a document says of the entries that are archived of its thread."""
    return json.loads(world.engine.documents[thread_id])["data"]["extensionData"]["durableAgentHost"]["archived"]


def stored(world: World, thread_id: str) -> Any:
    """Return a fork's document without what two forks never have in common."""
    data = json.loads(world.engine.documents[thread_id])["data"]
    host = data["extensionData"]["durableAgentHost"]
    del host["generation"], host["lenders"]["generation"]
    return data
