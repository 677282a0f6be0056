"""What is left of a deleted thread goes after its days, and only then."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from hosting.core.retention import DAY_SECONDS
from hosting.core.sweeps import TombstoneSweep
from hosting.core.thread.commands import DeleteThread
from hosting.core.thread.head import NEW
from hosting.errors import AttachmentsUnavailableError
from hosting.names import StoreKey, store_space
from tests.support.bench import ADDRESS, HUB, Bench
from tests.support.thread_stores import ArmedStore

DAYS = 30
MARK = StoreKey(store_space(HUB, "deleted"), ADDRESS.key)


@pytest.fixture
def bench() -> Iterator[Bench]:
    """One thread, whose erasure counts as done longer ago than tombstones are kept."""
    bench = Bench()
    bench.attachments.ago_seconds = (DAYS + 1) * DAY_SECONDS
    yield bench
    bench.loop.close()


async def delete(bench: Bench) -> None:
    """Delete the thread."""
    await bench.services.log.execute(ADDRESS, DeleteThread(time.time()))
    await bench.deliver({"logged": True}, name="delete")


async def sweep(bench: Bench) -> None:
    """Sweep once, in a process of its own."""
    bench.restart()
    await TombstoneSweep(bench.services.log, bench.attachments, HUB, DAYS).run(None)  # type: ignore[arg-type]  # asks nobody


@pytest.mark.behaviour("erasure.forgotten")
async def test_nothing_is_left_of_a_thread_behind_its_days(bench: Bench) -> None:
    """Neither head, events and rows nor the mark; its next life is a first one, and ends like the one before."""
    for message in ("one", "two"):
        run_id = await bench.run(message)
        await delete(bench)

        await sweep(bench)

        assert await bench.services.log.head(ADDRESS) == NEW
        assert await bench.services.log.events(ADDRESS, 0) == []
        assert await bench.store.row(ADDRESS, f"run:{run_id}") is None
        assert await bench.attachments.names(MARK) == {}


@pytest.mark.behaviour("erasure.forgotten")
async def test_an_erasure_whose_commit_was_lost_is_forgotten_like_any(bench: Bench) -> None:
    """The process may die between the tombstone and what is put for the sweep."""
    await bench.run("one")
    bench.attachments.is_down = True
    with pytest.raises(AttachmentsUnavailableError):
        await delete(bench)
    assert (await bench.services.log.head(ADDRESS)).state == "deleted"
    bench.attachments.is_down = False
    assert await bench.attachments.names(MARK) == {}

    await bench.deliver({"logged": True}, name="delete")
    await sweep(bench)

    assert await bench.services.log.head(ADDRESS) == NEW


@pytest.mark.behaviour("erasure.forgotten")
async def test_a_thread_that_lives_again_keeps_its_log_until_it_is_deleted_again(bench: Bench) -> None:
    await bench.run("one")
    await delete(bench)
    kept = await bench.run("two")

    await sweep(bench)

    assert bench.places() == [kept]
    assert (await bench.terminal(kept)).kind == "completed"
    assert await bench.attachments.names(MARK) == {}
    await delete(bench)
    await sweep(bench)
    assert await bench.services.log.head(ADDRESS) == NEW


@pytest.mark.behaviour("erasure.forgotten")
async def test_a_run_that_begins_a_life_beside_the_sweep_is_kept(bench: Bench) -> None:
    """It is accepted when the sweep has read the tombstone."""
    await bench.run("one")
    await delete(bench)
    store, begun = bench.store, list[str]()

    class Meanwhile(ArmedStore):
        async def erase(self, address, through):  # type: ignore[no-untyped-def]
            begun.append(await bench.open("two"))
            await super().erase(address, through)

    bench.store = Meanwhile(store)
    bench.restart()
    swept = bench.services.log
    bench.store = store
    bench.restart()

    await TombstoneSweep(swept, bench.attachments, HUB, DAYS).run(None)  # type: ignore[arg-type]  # asks nobody
    await bench.signal(begun[0])

    assert bench.places() == begun
